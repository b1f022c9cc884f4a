// Which kernels a device has: the answers of the kernel compiler, by specification.
#pragma once
#include "schedules/contract/kernel.h"
#include <map>
#include <string>

namespace longwave::compiler {

// By specification: the arguments of each kernel.
using KernelSignatures = std::map<std::string, schedules::Signature>;

struct Capabilities {
    KernelSignatures signatures;                // kernels that the device has
    std::map<std::string, std::string> refused; // kernels that it does not have, with the reason

    bool knows(const std::string &spec) const { return signatures.contains(spec) || refused.contains(spec); }
};

} // namespace longwave::compiler
