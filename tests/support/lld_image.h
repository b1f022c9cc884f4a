// Images of the linker of LLVM, which the compiler's own are compared with
// (compiler/codegen/elf_image.cc).
#pragma once
#include "compiler/codegen/code_image.h"

namespace longwave::test {

// The image that ld.lld makes of the same kernels. Objects must not have constants to merge:
// the order of merged ones is the linker's own.
Expected<compiler::CodeImage> lld_image(const std::vector<compiler::LinkedKernel> &kernels,
                                        const targets::Target &target);

// Takes the mark from the sections whose equal constants a linker may merge.
void do_not_merge(std::vector<uint8_t> &object);

// Empty: there is none.
std::string first_difference(const compiler::CodeImage &ours, const compiler::CodeImage &theirs);

} // namespace longwave::test
