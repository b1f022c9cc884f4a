// The back end of targets that Halide has none for: clang makes objects of the LLVM assembly that
// longwave-kgen writes.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <string>

namespace longwave::compiler {

class Clang {
public:
    // The program that $LONGWAVE_CLANG names. Without it: the first of clang-19 to clang-22 and
    // clang in PATH that is version 19 or later. Fault::device: there is none, with what to do.
    static Expected<Clang> find();

    std::string version() const; // what the program says, and the flags: objects of others differ

    // Errors: Fault::internal, with the words of clang.
    Status compile(const targets::Target &target, const std::string &assembly,
                   const std::string &object) const;

private:
    Clang(std::string program, std::string version)
        : program_(std::move(program)), version_(std::move(version)) {}
    std::string program_, version_;
};

} // namespace longwave::compiler
