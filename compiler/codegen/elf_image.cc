#include "compiler/codegen/elf_object.h"
#include "compiler/codegen/object_format.h"
#include "compiler/codegen/process.h"
#include "compiler/codegen/temporary_folder.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <span>

extern "C" {
extern const uint8_t longwave_image_script[], longwave_image_script_end[];
}

namespace longwave::compiler {

namespace fs = std::filesystem;

namespace {

Status write(const fs::path &path, const uint8_t *bytes, size_t size) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes), static_cast<std::streamsize>(size));
    if (!file.flush()) return Status::device(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    return Status::ok();
}

struct Elf64 {
    using Header = Elf64_Ehdr;
    using Segment = Elf64_Phdr;
    using Section = Elf64_Shdr;
    using Symbol = Elf64_Sym;
};
struct Elf32 {
    using Header = Elf32_Ehdr;
    using Segment = Elf32_Phdr;
    using Section = Elf32_Shdr;
    using Symbol = Elf32_Sym;
};

// The linker's output, read with our own eyes: what it promises is checked, not believed.
template <class Elf> class LinkedFile {
public:
    LinkedFile(std::vector<uint8_t> bytes, bool thumb) : bytes_(std::move(bytes)), thumb_(thumb) {}

    Expected<CodeImage> image(const std::vector<LinkedKernel> &kernels) {
        header_ = read<typename Elf::Header>(0);
        LW_TRY(check_sections());
        CodeImage image;
        for (size_t i = 0; i < header_.e_phnum; i++) {
            auto segment = read<Segment>(header_.e_phoff + i * sizeof(Segment));
            if (segment.p_type != PT_LOAD || segment.p_filesz == 0) continue;
            if (segment.p_offset + segment.p_filesz > bytes_.size() || segment.p_vaddr > (1u << 30))
                return Status::internal("a segment of the linked image lies outside the file");
            image.bytes.resize(std::max<size_t>(image.bytes.size(), segment.p_vaddr + segment.p_filesz));
            std::memcpy(image.bytes.data() + segment.p_vaddr, bytes_.data() + segment.p_offset,
                        segment.p_filesz);
        }
        // Constants end here; the tables behind them serve dynamic loaders only.
        image.bytes.resize((end_of_constants_ + 63) / 64 * 64);
        for (const LinkedKernel &kernel : kernels) {
            auto found = symbols_.find(kernel.symbol);
            if (found == symbols_.end() || found->second >= end_of_constants_)
                return Status::internal(fmt::format("the linked image lacks {}", kernel.symbol));
            uint64_t need = 0;
            if (found->second >= sizeof need)
                std::memcpy(&need, image.bytes.data() + found->second - sizeof need, sizeof need);
            if (found->second < sizeof need || need != kernel.scratch_bytes)
                return Status::internal(
                    fmt::format("the linked image lacks what {} needs before it", kernel.symbol));
            image.entries.push_back(static_cast<uint32_t>(found->second));
        }
        return image;
    }

private:
    using Segment = typename Elf::Segment;
    using Section = typename Elf::Section;
    using Symbol = typename Elf::Symbol;

    template <class T> T read(size_t offset) const {
        T value{};
        if (offset + sizeof(T) <= bytes_.size()) std::memcpy(&value, bytes_.data() + offset, sizeof(T));
        return value;
    }
    std::string text(size_t offset) const {
        std::string s;
        while (offset < bytes_.size() && bytes_[offset]) s += static_cast<char>(bytes_[offset++]);
        return s;
    }

    Status check_sections() {
        auto section = [&](size_t i) { return read<Section>(header_.e_shoff + i * sizeof(Section)); };
        auto names = section(header_.e_shstrndx);
        for (size_t i = 0; i < header_.e_shnum; i++) {
            auto s = section(i);
            std::string name = text(names.sh_offset + s.sh_name);
            if ((s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && s.sh_size > 0)
                return Status::internal(fmt::format("the linked image has relocations in {}", name));
            if ((s.sh_flags & SHF_WRITE) && s.sh_size > 0 && s.sh_type != SHT_DYNAMIC)
                return Status::internal(fmt::format("the linked image has writable data in {}", name));
            if (name == ".text" || name == ".rodata")
                end_of_constants_ = std::max<uint64_t>(end_of_constants_, s.sh_addr + s.sh_size);
            if (s.sh_type == SHT_SYMTAB) read_symbols(s, section(s.sh_link));
        }
        if (end_of_constants_ == 0) return Status::internal("the linked image has no code");
        return undefined_.empty()
                   ? Status::ok()
                   : Status::internal(fmt::format("the linked image leaves {} undefined", undefined_));
    }

    void read_symbols(const Section &table, const Section &strings) {
        for (size_t i = 1; i < table.sh_size / sizeof(Symbol); i++) {
            auto symbol = read<Symbol>(table.sh_offset + i * sizeof(Symbol));
            std::string name = text(strings.sh_offset + symbol.st_name);
            if (name.empty()) continue;
            if (symbol.st_shndx == SHN_UNDEF) undefined_ += (undefined_.empty() ? "" : ", ") + name;
            else symbols_[name] = thumb_ ? symbol.st_value & ~uint64_t{1} : symbol.st_value;
        }
    }

    std::vector<uint8_t> bytes_;
    bool thumb_; // addresses of functions are odd
    typename Elf::Header header_{};
    uint64_t end_of_constants_ = 0;
    std::map<std::string, uint64_t> symbols_;
    std::string undefined_;
};

Expected<CodeImage> image_of(std::vector<uint8_t> bytes, const std::vector<LinkedKernel> &kernels, bool thumb) {
    if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
        return Status::internal("the linker's output is not an ELF file");
    if (bytes[EI_CLASS] == ELFCLASS32) return LinkedFile<Elf32>(std::move(bytes), thumb).image(kernels);
    return LinkedFile<Elf64>(std::move(bytes), thumb).image(kernels);
}

// The linker script: every kernel right behind the 8 bytes that say what it needs. Entries are
// aligned to 16 bytes, as compilers align functions.
std::string image_script(const std::vector<LinkedKernel> &kernels) {
    std::string script(reinterpret_cast<const char *>(longwave_image_script),
                       reinterpret_cast<const char *>(longwave_image_script_end)),
        entries;
    for (const LinkedKernel &kernel : kernels)
        entries +=
            fmt::format("\n    . = ALIGN(16) + 8; QUAD({}) *(.text.{})", kernel.scratch_bytes, kernel.symbol);
    const std::string mark = "@kernels@ *(.text";
    script.replace(script.find(mark), mark.find(' '), entries);
    return script;
}

// The bytes of the sections that reach the image.
template <class Elf> uint64_t loaded_bytes(const std::vector<uint8_t> &object) {
    const auto read = [&](size_t offset, auto &value) {
        if (offset > object.size() || object.size() - offset < sizeof value) return false;
        std::memcpy(&value, object.data() + offset, sizeof value);
        return true;
    };
    typename Elf::Header header{};
    if (!read(0, header)) return 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < header.e_shnum; i++) {
        typename Elf::Section section{};
        if (!read(header.e_shoff + i * sizeof section, section)) return 0;
        // Unwinding tables are of another type, or the linker script leaves them out.
        const bool wanted = section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_ALLOC);
        if (wanted && section.sh_flags != (SHF_ALLOC | SHF_WRITE)) bytes += section.sh_size;
    }
    return bytes;
}

uint64_t code_bytes_of(const std::vector<uint8_t> &object) {
    if (object.size() <= EI_CLASS || std::memcmp(object.data(), ELFMAG, SELFMAG) != 0) return 0;
    return object[EI_CLASS] == ELFCLASS32 ? loaded_bytes<Elf32>(object) : loaded_bytes<Elf64>(object);
}

// LONGWAVE_LINKER names an ld.lld, or a zig, which contains one. Without it ld.lld is looked up in
// PATH.
std::vector<std::string> linker() {
    const char *named = std::getenv("LONGWAVE_LINKER");
    if (!named || !*named) return {"ld.lld"};
    if (std::filesystem::path(named).filename() == "zig") return {named, "ld.lld"};
    return {named};
}

Expected<ProcessResult> run_linker(const std::vector<std::string> &command) {
    auto run = run_process(command);
    if (run) return run;
    return Status::device(fmt::format(
        "{}. Install the Debian package lld, or pip install ziglang for the Python package. "
        "Or set LONGWAVE_LINKER to the path of an ld.lld",
        run.status().message()));
}

Expected<CodeImage> link(const std::vector<LinkedKernel> &kernels, const targets::Target &target) {
    LW_ASSIGN(auto folder, TemporaryFolder::create());
    auto file = [&](const std::string &name) { return (folder.path() / name).string(); };
    const auto put = [&](const std::string &name, const uint8_t *bytes, size_t size) {
        const Status written = write(file(name), bytes, size);
        return written ? written : folder.explained(written);
    };
    const std::string script = image_script(kernels);
    LW_TRY(put("image.ld", reinterpret_cast<const uint8_t *>(script.data()), script.size()));
    const std::span<const uint8_t> shim = shim_of(target);
    LW_TRY(put("shim.o", shim.data(), shim.size()));
    std::vector<std::string> command = linker();
    command.insert(command.end(), {"-m", target.emulation, "-pie", "--no-dynamic-linker", "--gc-sections",
                                   "--hash-style=sysv", "--no-undefined", "--build-id=none", "-T",
                                   file("image.ld"), "--entry", "0"});
    for (size_t i = 0; i < kernels.size(); i++) {
        const std::string object = fmt::format("{}.o", i);
        LW_TRY(put(object, kernels[i].object->data(), kernels[i].object->size()));
        command.insert(command.end(), {"-u", kernels[i].symbol, file(object)});
    }
    command.insert(command.end(), {file("shim.o"), "-o", file("image.elf")});
    LW_ASSIGN(auto run, run_linker(command));
    if (run.exit_code != 0)
        return folder.explained(
            Status::device(fmt::format("ld.lld ended with {}: {}", run.exit_code, run.output)));
    LW_ASSIGN(auto bytes, read_bytes(file("image.elf")));
    return image_of(std::move(bytes), kernels, target.thumb);
}

} // namespace

const ObjectFormat &elf_objects() {
    static constexpr ObjectFormat format = {code_bytes_of, link, elf_static_object};
    return format;
}

} // namespace longwave::compiler
