// The contract between the compiler, which asks for kernels, the schedules, which write them, and
// the runtime, which calls them.
//
// A kernel is one Halide pipeline with static shapes for one target. It is named by its
// *specification*: canonical JSON text,
//     {"kernel":"linear","params":{"in":96,"out":192,"rows":1},"epilogue":[{"op":"gelu"}]}
// Equal specifications are equal kernels: that is how identical layers share code and how the cache
// finds it.
//
// Conventions every kernel keeps:
// - Activations are float32 rows: [row = time][channel], channels innermost. A row of C channels has stride
// pad(C) elements: C rounded up to 16, except that
//   C == 1 stays 1. A (frequency F, channel C) value has rows of F·pad(C). Lanes beyond C are written as zero
//   and may be read. The padding is the same on every target, so state and weights have one layout.
// - A specification may name arguments whose rows lie [channel][row] instead: `"channel_major":[0,3]`,
// numbers in call order. Only arguments with a layout group may be named, and of a group all or none.
// - A kernel of a GPU may have variants: other code for the same arguments and, up to rounding, the same
// results. `"variant":n` names one. 0, the default, is the best guess, and a device may prefer another.
// - Halide dimension 0 is the innermost. All mins are 0, all extents and strides static.
// - The function is `int f(void **args)` (Halide's argv form, symbol `<symbol>_argv`); args[i] is a
// halide_buffer_t* or int32_t*, args[0] is void** user context ->
//   Scratch* = struct { char *base; uint64_t size, used; }: base 64-byte aligned, size at least the kernel's
//   scratch_bytes, used 0 between calls.
// - Argument order (after the context): inputs, weights, operands of the epilogue in order, scalars, then
// outputs and in-outs as declared.
// - An in-out argument is state that the kernel updates where it lies. It may have a dimension of stride 0
// (another element of the same pass goes along it);
//   no two arguments of a kernel share memory.
// - A scalar is an int32 whose whole range the signature states: 0 … high, multiples of `multiple`. The
// schedule derives it from its own indices, so a plan
//   can be held against it without knowing the kernel. Kernels clamp a scalar before they address with it.
// - A *ring* is a buffer of `ring` rows in which the reader finds its newest row at `position + rows − 1` and
// older ones before it, modulo `ring`. Every firing
//   writes `rows` rows in one piece (position + rows ≤ ring), so only the history wraps. A whole sequence is
//   a ring that is written once: its history rows are zero. `ring` ≥ rows + history.
// - No undefined symbols but halide_malloc, halide_free, memset and memcpy (compiler/codegen/scratch_shim.c
// supplies them in the image), no libm, no parallel loops, no float division by a possible zero.
#pragma once
#include "formats/base/elem.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::schedules {

using longwave::Elem;
enum class ArgKind : uint8_t { input = 0, output = 1, inout = 2, scalar = 3 };

// A request of 4 bytes for each of 32 lanes takes so many sectors of 32 bytes, if these lie side by
// side.
inline constexpr uint32_t ideal_sectors = 4;

struct Dim {
    uint32_t extent = 0;
    int32_t stride = 0; // in elements
};

struct KernelArg {
    std::string name;
    ArgKind kind = ArgKind::input;
    Elem elem = Elem::f32;
    std::vector<Dim> dims;  // empty for scalars
    uint16_t alignment = 0; // bytes the code assumes of the first element's address; 0: that of the element
    // Scalars: the kernel accepts multiples of `multiple` from 0 to `high`, and nothing else.
    // Stated by the schedule, from what its indices allow.
    int32_t high = 0;
    int32_t multiple = 1;
    // Memory may hold the elements as float16. The schedule of a GPU kernel declares it
    // (schedules/halide/registry.h); false for CPUs.
    bool fp16 = false;
    // Memory may hold the rows channel by channel, [channel][row], if it does so for all arguments
    // of the same group. 0: row by row only. The schedule declares it (schedules/halide/builder.h).
    uint8_t layout_group = 0;
};

// What a compiled kernel looks like from outside; read back from the pipeline's own constraints, so
// it cannot disagree with the code.
struct Signature {
    std::vector<KernelArg> args; // without the user context
    // Sectors that a request of the kernel takes where the arguments of its layout groups lie row by
    // row. Channel by channel it takes the ideal.
    uint32_t sectors_by_row = ideal_sectors;
    // The kernel does less if all of its arguments with rows lie in one order.
    bool prefers_one_order = false;
    uint64_t scratch_bytes = 0; // upper bound of what halide_malloc hands out at once
};

inline constexpr const char *epilogue_sum = "add"; // the epilogue that adds an operand of the result's shape
inline constexpr uint32_t lanes = 16;
inline constexpr uint32_t pad(uint32_t channels) {
    return channels == 1 ? 1 : (channels + lanes - 1) / lanes * lanes;
}

// Whether lanes of softmax_attention are queries, in tiles of 8 and more, rather than the features
// of one; then its table of lags has so many zeros before and behind them, at least a tile of
// queries.
inline constexpr bool attention_over_queries(uint32_t rows) { return rows >= 8; }
inline constexpr int attention_margin = 32;

} // namespace longwave::schedules
