// Names of kernels in a compiled model, for people.
#pragma once
#include "formats/artifact/schema.h"
#include <string>

namespace longwave::cli {

struct KernelText {
    std::string name;       // "linear"
    std::string parameters; // "in 96, out 192, rows 1, then relu": the rest of the specification
};

// From the specification of the kernel, which is untrusted text. A specification that is not JSON
// is its own name.
KernelText kernel_text(const fb::Plan &plan, uint32_t kernel);

} // namespace longwave::cli
