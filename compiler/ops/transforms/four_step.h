// The right-angle transform of a sequence as a matrix, in three dispatches of a GPU or four: what is longer than its shared
// memory (schedules/long_conv/gpu_fused.cc).
#pragma once
#include "compiler/ir/kernel_call.h"
#include <optional>

namespace longwave::ir {

struct FourStep {
    uint32_t channels, tile, tiles; // of rows: tiles of `tile` lanes
    uint32_t copies, rows, length;
    uint32_t points = 0; // of a column: the longer of columns and rows is as short as can be

    FourStep(uint32_t channels, uint32_t padded, uint32_t copies, uint32_t rows, uint32_t length);
    // Why it is not possible, for so many bytes of a point in shared memory; empty when it is.
    std::string refused(const PlanContext &context, uint32_t bytes_of_a_point) const;

    // A kernel made in the run, an input with rows, times `scale`, is added to the one whose spectrum it is; what lies behind
    // the rows comes round.
    struct Circular {
        std::optional<size_t> made;
        double scale = 0;
    };
    // The whole call. `spectrum`, [tiles, copies, length, 2, tile]: of the kernel, in the order of the transform.
    void plan(KernelCall &call, Place spectrum, const Place &twiddles,
              const std::optional<Circular> &circular = {}) const;
};

} // namespace longwave::ir
