#include "tests/support/lld_image.h"
#include "compiler/base/process.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/codegen/object_format.h"
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>

namespace longwave::test {

using namespace compiler;

namespace {

// One block from 0: kernels behind what they need, other functions, constants. What follows them
// serves loaders.
std::string script_of(const std::vector<LinkedKernel> &kernels) {
    std::string text = "SECTIONS {\n  . = 0;\n  .text : ALIGN(64) {";
    for (const LinkedKernel &kernel : kernels)
        text +=
            fmt::format("\n    . = ALIGN(16) + 8; QUAD({}) *(.text.{})", kernel.scratch_bytes, kernel.symbol);
    return text + R"(
    *(.text .text.*) }
  .rodata : ALIGN(64) { *(.rodata .rodata.*) }
  .dynamic : ALIGN(64) { *(.dynamic) }
  .dynsym : { *(.dynsym) } .dynstr : { *(.dynstr) } .hash : { *(.hash) }
  /DISCARD/ : { *(.eh_frame) *(.ARM.exidx*) *(.ARM.extab*) *(.ARM.attributes) *(.comment) *(.note*) *(.llvm*) }
})";
}

template <class Header, class Section> void take_marks(std::vector<uint8_t> &object) {
    Header header;
    std::memcpy(&header, object.data(), sizeof header);
    for (size_t i = 0; i < header.e_shnum; i++) {
        Section section;
        uint8_t *const at = object.data() + header.e_shoff + i * sizeof section;
        std::memcpy(&section, at, sizeof section);
        section.sh_flags &= ~static_cast<decltype(section.sh_flags)>(SHF_MERGE);
        std::memcpy(at, &section, sizeof section);
    }
}

} // namespace

void do_not_merge(std::vector<uint8_t> &object) {
    if (object[EI_CLASS] == ELFCLASS32) take_marks<Elf32_Ehdr, Elf32_Shdr>(object);
    else take_marks<Elf64_Ehdr, Elf64_Shdr>(object);
}

Expected<CodeImage> lld_image(const std::vector<LinkedKernel> &kernels, const targets::Target &target) {
    LW_ASSIGN(auto folder, TemporaryFolder::create());
    const auto file = [&](const std::string &name) { return (folder.path() / name).string(); };
    const auto put = [&](const std::string &name, std::span<const uint8_t> bytes) {
        std::ofstream(file(name), std::ios::binary)
            .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return file(name);
    };
    const std::string script = script_of(kernels);
    std::vector<std::string> command = {
        "ld.lld",
        "-m",
        target.emulation,
        "-pie",
        "--no-dynamic-linker",
        "--gc-sections",
        "--hash-style=sysv",
        "--no-undefined",
        "--no-relax",
        "--build-id=none",
        "--oformat",
        "binary",
        "--entry",
        "0",
        "-o",
        file("image"),
        "-T",
        put("image.ld", {reinterpret_cast<const uint8_t *>(script.data()), script.size()})};
    for (size_t i = 0; i < kernels.size(); i++)
        command.insert(command.end(),
                       {"-u", kernels[i].symbol, put(fmt::format("{}.o", i), *kernels[i].object)});
    command.push_back(put("shim.o", shim_of(target)));
    LW_ASSIGN(const auto run, run_process(command));
    if (run.exit_code != 0)
        return Status::device(fmt::format("ld.lld ended with {}: {}", run.exit_code, run.output));
    LW_ASSIGN(auto bytes, read_bytes(file("image")));
    return CodeImage{std::move(bytes), {}};
}

std::string first_difference(const CodeImage &ours, const CodeImage &theirs) {
    if (theirs.bytes.size() < ours.bytes.size())
        return fmt::format("{} bytes, ld.lld has {}", ours.bytes.size(), theirs.bytes.size());
    for (size_t i = 0; i < ours.bytes.size(); i++)
        if (ours.bytes[i] != theirs.bytes[i])
            return fmt::format("byte {}: {:#x}, ld.lld has {:#x}", i, ours.bytes[i], theirs.bytes[i]);
    return "";
}

} // namespace longwave::test
