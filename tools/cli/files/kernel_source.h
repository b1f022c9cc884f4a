// The code of a model as C source, for programs that contain their kernels
// (lw_open_options.kernels).
#pragma once
#include "formats/artifact/detach.h"
#include <string>

namespace longwave::cli {

// Where it lies beside the compiled model: kws.lw and kws.kernels.c.
std::string kernel_source_path(const std::string &model_path);

// C for GCC and Clang that defines one symbol, `const lw_model_kernels longwave_kernels_NAME`. In NAME,
// what C does not allow is '_'. The machine code is the linked image as it is: so the program
// computes the same bits as the checked file.
std::string kernel_source(const std::string &name, const artifact::DetachedCode &code);

} // namespace longwave::cli
