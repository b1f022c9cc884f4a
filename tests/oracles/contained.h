// Models for targets that cannot load code: a library of `--emit static` and a program that
// contains it.
#pragma once
#include "tests/oracles/trial.h"

namespace longwave::oracles {

// Writes the library of the model, starts `command` with its path behind it, and opens the model
// there. The program speaks as longwave-runner does (tools/runner/wire.h) and reads the library
// before it answers. `options`: of the compilation, for any target.
Expected<cli::Model> open_contained(const package::Package &package, compiler::Options options,
                                    const std::string &target, const std::string &command);

} // namespace longwave::oracles
