// What a compile and the check behind it will take at once, from the plans alone: so a compile that
// memory cannot hold ends before it begins.
#pragma once
#include "compiler/artifact/golden.h"
#include "compiler/driver/entries.h"

namespace longwave::compiler {

struct PeakMemory {
    struct Part {
        uint64_t bytes = 0;
        std::string what, remedy; // in words
    };
    uint64_t always = 0;             // the program, and weights until the end
    Part kernels, references, check; // one after the other
    const Part &largest() const;
    uint64_t bytes() const { return always + largest().bytes; }
};

// `variants`: CPU targets of the artifact.
PeakMemory peak_memory(const Plans &plans, const GoldenVectors &golden, const Options &options,
                       size_t variants);

// Fault::input when this is more than `options.memory`.
Status check_memory(const PeakMemory &peak, const Options &options);

} // namespace longwave::compiler
