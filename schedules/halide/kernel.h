// From a specification to a pipeline, and from that to an object file or a SPIR-V module.
#pragma once
#include "schedules/halide/registry.h"
#include <memory>

namespace longwave::schedules {

// A kernel whose pipeline is built and not lowered yet.
struct BuiltKernel {
    std::string name;
    std::unique_ptr<nlohmann::json> spec; // `builder` refers to this
    const targets::Target *target = nullptr;
    const Schedule *schedule = nullptr;
    std::unique_ptr<KernelBuilder> builder;

    // {"args": …, "scratch_bytes": n} (lowered.h). For a GPU also, with the numbers of arguments in
    // call order: "fp16", those that memory may hold as float16; "layout_groups", lists of those
    // that may be channel-major together; "sectors_by_row" and "prefers_one_order" (contract/kernel.h).
    std::string signature(uint64_t scratch) const;
};

// Checks the whole specification. `structures`: transform structures that replace the built-in ones
// (long_conv/transform.h), null: the built-in ones.
// Throws SpecError with the reason why no kernel can be made; nlohmann::json::exception and
// Halide::Error for specifications that no schedule checks for.
BuiltKernel build_kernel(const nlohmann::json &spec, const std::string &target,
                         const nlohmann::json &structures);

struct CompileOutput {
    std::string symbol;    // of the function; a GPU kernel takes it into its entry point's name
    std::string file;      // the object file or LLVM assembly (CPU) or SPIR-V module (GPU) to write
    std::string statement; // a file for Halide's lowered statement; empty: none
};

// Lowers, compiles and writes the file. Returns the signature, for a GPU with "gpu" (dispatch.h).
// Throws SpecError when the lowered code breaks a limit of the target, or a file cannot be written.
std::string compile_kernel(const BuiltKernel &kernel, const CompileOutput &output);

} // namespace longwave::schedules
