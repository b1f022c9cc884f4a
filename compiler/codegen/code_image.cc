#include "compiler/codegen/code_image.h"
#include "compiler/codegen/process.h"
#include "compiler/codegen/temporary_folder.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <map>

extern "C" {
extern const uint8_t longwave_scratch_shim[], longwave_scratch_shim_end[];
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

// The linker's output, read with our own eyes: what it promises is checked, not believed.
class LinkedFile {
public:
    explicit LinkedFile(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

    Expected<CodeImage> image(const std::vector<LinkedKernel> &kernels) {
        if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0)
            return Status::internal("the linker's output is not an ELF file");
        header_ = read<Elf64_Ehdr>(0);
        LW_TRY(check_sections());
        CodeImage image;
        for (size_t i = 0; i < header_.e_phnum; i++) {
            auto segment = read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
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
        auto section = [&](size_t i) { return read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)); };
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

    void read_symbols(const Elf64_Shdr &table, const Elf64_Shdr &strings) {
        for (size_t i = 1; i < table.sh_size / sizeof(Elf64_Sym); i++) {
            auto symbol = read<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
            std::string name = text(strings.sh_offset + symbol.st_name);
            if (name.empty()) continue;
            if (symbol.st_shndx == SHN_UNDEF) undefined_ += (undefined_.empty() ? "" : ", ") + name;
            else symbols_[name] = symbol.st_value;
        }
    }

    std::vector<uint8_t> bytes_;
    Elf64_Ehdr header_{};
    uint64_t end_of_constants_ = 0;
    std::map<std::string, uint64_t> symbols_;
    std::string undefined_;
};

// The linker script: every kernel right behind the 8 bytes that say what it needs. Entries are aligned to 16
// bytes, as compilers align functions.
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

} // namespace

Expected<CodeImage> link_image(const std::vector<LinkedKernel> &kernels, const targets::Target &target) {
    LW_ASSIGN(auto folder, TemporaryFolder::create());
    auto file = [&](const std::string &name) { return (folder.path() / name).string(); };
    const auto put = [&](const std::string &name, const uint8_t *bytes, size_t size) {
        const Status written = write(file(name), bytes, size);
        return written ? written : folder.explained(written);
    };
    const std::string script = image_script(kernels);
    LW_TRY(put("image.ld", reinterpret_cast<const uint8_t *>(script.data()), script.size()));
    LW_TRY(put("shim.o", longwave_scratch_shim,
               static_cast<size_t>(longwave_scratch_shim_end - longwave_scratch_shim)));
    std::vector<std::string> command = {"ld.lld",
                                        "-m",
                                        target.emulation,
                                        "-pie",
                                        "--no-dynamic-linker",
                                        "--gc-sections",
                                        "--hash-style=sysv",
                                        "--no-undefined",
                                        "--build-id=none",
                                        "-T",
                                        file("image.ld"),
                                        "--entry",
                                        "0"};
    for (size_t i = 0; i < kernels.size(); i++) {
        const std::string object = fmt::format("{}.o", i);
        LW_TRY(put(object, kernels[i].object->data(), kernels[i].object->size()));
        command.insert(command.end(), {"-u", kernels[i].symbol, file(object)});
    }
    command.insert(command.end(), {file("shim.o"), "-o", file("image.elf")});
    LW_ASSIGN(auto run, run_process(command));
    if (run.exit_code != 0)
        return folder.explained(
            Status::device(fmt::format("ld.lld ended with {}: {}", run.exit_code, run.output)));
    LW_ASSIGN(auto bytes, read_bytes(file("image.elf")));
    return LinkedFile(std::move(bytes)).image(kernels);
}

} // namespace longwave::compiler
