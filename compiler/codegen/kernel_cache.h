// Kernel objects by specification and target: from the user's cache, or compiled by longwave-kgen,
// one process a kernel. For some targets longwave-kgen writes assembly, and clang compiles it.
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace longwave::compiler {

struct KernelRequest {
    std::string spec;   // canonical JSON (schedules/contract/kernel.h)
    std::string target; // "x86-64-v3"
};

struct CompiledKernel {
    // ELF relocatable, whose one entry has the symbol kernel_symbol(spec); of a GPU: a SPIR-V
    // module
    std::vector<uint8_t> object;
    schedules::Signature signature;
    bool cached = false;
    std::string text{}; // the signature as longwave-kgen wrote it
};

struct KernelCacheOptions {
    std::string kgen;   // path of the longwave-kgen program
    std::string folder; // empty: $XDG_CACHE_HOME/longwave/kernels, else ~/.cache/longwave/kernels
    unsigned jobs = 0;  // parallel processes; 0: number of CPUs
    // Structures of transforms instead of the shipped ones, {"x86-64-v4": contents of
    // schedules/long_conv/tables/x86-64-v4.json, …}; empty: the shipped ones
    std::string structures;
    // Both may be empty, and are called from this thread. no_cache: once, when no folder can be
    // trusted. Every kernel is then compiled.
    std::function<void(size_t done, size_t total, const std::string &what)> progress;
    std::function<void(const std::string &why)> no_cache;
};

// C identifier, equal for equal specifications.
std::string kernel_symbol(const std::string &spec);

// In the order of the requests. Errors: Fault::device when the program is missing or cannot run, or
// the temporary folder is full; Fault::internal with its message when it refuses a kernel. The
// cache never fails a compile: entries that are missing, damaged or not to be believed are made
// again.
Expected<std::vector<CompiledKernel>> compile_kernels(const std::vector<KernelRequest> &requests,
                                                      const KernelCacheOptions &options);

} // namespace longwave::compiler
