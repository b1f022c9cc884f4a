// Benchmarks that are programs of their own, because they link the libraries that they compare with.
// FFTW and zita-convolver are GPL.
#pragma once
#include "formats/base/status.h"
#include <string>

namespace longwave::cli {

// `longwave bench all ...`, `conv`, `stream`, `linear`, `model`, `block` or `text`.
bool is_bench_program(const std::string &name);
std::string similar_bench_program(const std::string &name); // empty: none is close

// Replaces this process by that program. Returns only if the program cannot be started, and says how
// to get it.
Status bench_program(const std::string &name, char **arguments);

} // namespace longwave::cli
