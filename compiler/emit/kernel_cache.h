// Kernel objects by specification and target: from the user's cache, or compiled by longwave-kgen, one process a kernel.
#pragma once
#include "formats/base/expected.h"
#include "schedules/kernel.h"
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace longwave::compiler {

struct KernelRequest {
    std::string spec;   // canonical JSON (schedules/kernel.h)
    std::string target; // "x86-64-v3"
};

struct CompiledKernel {
    std::vector<uint8_t> object; // ELF relocatable; its one entry has the symbol kernel_symbol(spec)
    schedules::Signature signature;
    bool cached = false;
};

struct KernelCacheOptions {
    std::string kgen;   // path of the longwave-kgen program
    std::string folder; // empty: $XDG_CACHE_HOME/longwave/kernels, else ~/.cache/longwave/kernels
    unsigned jobs = 0;  // parallel processes; 0: number of processors
    std::function<void(size_t done, size_t total, const std::string &what)> progress; // may be empty; called from this thread
};

// C identifier, equal for equal specifications.
std::string kernel_symbol(const std::string &spec);

// In the order of the requests. Errors: Fault::device when the program is missing or cannot run, Fault::internal with its message when it refuses a kernel.
// A cache folder that cannot be written costs time, not correctness: entries that are missing or damaged are made again.
Expected<std::vector<CompiledKernel>> compile_kernels(const std::vector<KernelRequest> &requests, const KernelCacheOptions &options);

} // namespace longwave::compiler
