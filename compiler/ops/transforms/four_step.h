// The right-angle transform of a sequence as a matrix, in three or four dispatches of a GPU (Bailey
// 1990). For sequences that are longer than the shared memory of a workgroup.
#pragma once
#include "compiler/ir/kernel_call.h"
#include <optional>

namespace longwave::ir {

// A dispatch before the one that writes the result of the call.
template <class K> Step dispatch_step(const KernelCall &call, const K &params,
                                      const typename K::template Arguments<Given> &arguments) {
    Step step{.name = call.node.layer + " " + K::name, .layer = call.node.layer, .writes = 1};
    set_kernel(step, params, arguments);
    return step;
}

struct FourStep {
    uint32_t channels, tile, tiles; // of rows: tiles of `tile` lanes
    uint32_t copies, rows, length;
    uint32_t points = 0; // per column, chosen so that the longer of column and row is as short as possible

    FourStep(uint32_t channels, uint32_t padded, uint32_t copies, uint32_t rows, uint32_t length);
    // Why it is not possible with that many bytes per point in shared memory; empty: it is
    // possible.
    std::string refused(const PlanContext &context, uint32_t bytes_of_a_point) const;
    // Why a buffer cannot hold that many points of `lanes` channels; empty: it can.
    static std::string refused_points(uint32_t length, uint32_t lanes, uint32_t copies);

    // A circular convolution. `made`: an input with a kernel that the run computes; `scale` times
    // this kernel is added to the kernel of `spectrum`.
    struct Circular {
        std::optional<size_t> made;
        double scale = 0;
    };
    // Plans the call. `spectrum` [tiles, copies, length, 2, tile]: the spectrum of the kernel, in
    // the order of the transform.
    void plan(KernelCall &call, Place spectrum, const Place &twiddles,
              const std::optional<Circular> &circular = {}) const;
};

} // namespace longwave::ir
