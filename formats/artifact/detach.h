// Takes the machine code out of an artifact, for programs that contain their kernels, or the golden
// vectors, for small files.
#pragma once
#include "formats/base/expected.h"
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longwave::artifact {

using Digest = std::array<uint8_t, 32>; // BLAKE2b-256

// The code of one target, and what a program must know to hand it to the runtime (lw_model_kernels).
struct DetachedCode {
    struct Function {
        std::string spec;
        Digest hash;      // of specification and arguments (kernel_hash)
        uint32_t offset;  // of `int f(void **args)` in the image
        uint64_t scratch; // bytes that it needs
    };
    std::string target;
    Digest hash;                     // of the image; the artifact names it
    std::vector<uint8_t> image;      // free of relocations; some targets need it at a multiple of 4096
    std::vector<Function> functions; // in the order of the plan's kernels
};

struct Detached {
    std::vector<uint8_t> artifact; // unsigned
    DetachedCode code;
};

// `artifact`: as the compiler writes it. Fault::usage when it has not exactly one code variant, or
// code for a GPU.
Expected<Detached> detach_code(std::span<const uint8_t> artifact);

// The same artifact without golden vectors, unsigned. Their largest error limit stays in the plan.
Expected<std::vector<uint8_t>> without_golden(std::span<const uint8_t> artifact);

} // namespace longwave::artifact
