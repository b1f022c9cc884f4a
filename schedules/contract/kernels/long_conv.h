// Long convolutions: by their definition, of an offline run by one transform or block by block, and by
// scales. Spectra have 1/length folded in. The order of a spectrum depends on the length only, never on the
// target.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Taps of an SGConv kernel from its scales. Each scale is a short kernel stretched by a power of two, and
// they are laid end to end.
struct ExpandScales {
    static constexpr const char *name = "expand_scales";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 20> copies; // C, or 2*C: forward then backward
    Required<1, 1 << 24> kernel_dim;
    Required<1, 24> scales;
    Default<0, 0, 16> init_scale;
    Required<1, 1 << 24> taps;
    Default<1, 1, 1 << 24> direct; // at most taps
    Flag nearest;
    ChoiceOr<"float32", "int8"> weights;
    LW_PARAMS(channels, copies, kernel_dim, scales, init_scale, taps, direct, nearest, weights)

    template <class Of> struct Arguments {
        typename Of::Weight w; // [P(channels), kernel_dim, copies, scales], growth and norm folded in;
                               // int8: i32 [P(channels)/4, kernel_dim, copies, scales], four lanes a word
        typename Of::Weight
            scale;             // [P(channels), kernel_dim/int8_taps, copies, scales], with int8: of a step
        typename Of::Weight d; // [P(channels), copies, direct], added to the first taps
        typename Of::Output k; // [P(channels), copies, taps]
        LW_ARGUMENTS(w, scale, d, k)
    };
};

// Sum over taps, causal.
struct LongConvDirect {
    static constexpr const char *name = "long_conv_direct";
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> taps, rows;
    Required<1, 1 << 24> ring; // at least rows + taps - 1
    LW_PARAMS(channels, copies, taps, rows, ring)

    template <class Of> struct Arguments {
        typename Of::Input u;         // ring [P(channels), ring]
        typename Of::Weight k;        // [P(channels), copies, taps], D folded into tap 0
        typename Of::Scalar position; // of the newest rows in the ring
        typename Of::Output y;        // [P(channels), copies, rows]
        LW_ARGUMENTS(u, k, position, y)
    };
};

// One complex transform of the sequence length, causal or two-sided: the spectrum decides. One channel tile
// per call.
struct LongConvRightAngle {
    static constexpr const char *name = "long_conv_right_angle";
    Required<4, 1 << 22> length; // of the transform: a product of 2, 3 and 5
    Required<1, 1 << 22> rows;   // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [T, rows:P(channels)]
        typename Of::Weight spectrum; // [T, 2, length, copies]
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]
        typename Of::Output y;        // [T, copies:P(channels), rows:copies*P(channels)]
        LW_ARGUMENTS(u, spectrum, twiddles, y)
    };
};

// A causal convolution of a whole sequence. Blocks are at least as long as the taps. The kernel also writes
// the rows of y from `rows` to the end of the last block.
struct LongConvOverlapAdd {
    static constexpr const char *name = "long_conv_overlap_add";
    Required<16, 1 << 20> length; // of block and transform: a product of 2, 3 and 5, two levels at least
    Required<1, 1 << 24> rows;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [T, rows:P(channels)]
        typename Of::Weight spectrum; // [T, 2, length, copies]
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]
        typename Of::Output y;        // [T, copies:P(channels), blocks*length:copies*P(channels)]
        LW_ARGUMENTS(u, spectrum, twiddles, y)
    };
};

// The right-angle transform with vector lanes over the sixteen phases u_v[p] = u[16 p + v].
struct LongConvPolyphase {
    static constexpr const char *name = "long_conv_polyphase";
    Required<256, 1 << 22> length; // a multiple of 256, and a product of 2, 3 and 5
    Required<1, 1 << 22> rows;     // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [T, rows:P(channels)]
        typename Of::Weight spectrum; // [64, 2, length/64, copies, min(channels, 16)] (spectrum_of_phases)
        typename Of::Weight twiddles; // [polyphase_twiddles(length)]
        typename Of::Output y;        // [T, copies:P(channels), rows:copies*P(channels)]; of one channel
                                      // [P(copies), rows]
        LW_ARGUMENTS(u, spectrum, twiddles, y)
    };
};

// long_conv_overlap_add of few channels, with vector lanes over the sixteen phases of a block.
struct LongConvOverlapAddPhases {
    static constexpr const char *name = "long_conv_overlap_add_phases";
    Required<256, 1 << 20> length; // of block and transform: a multiple of 256, a product of 2, 3 and 5
    Required<16, 1 << 24> rows;
    Default<1, 1, 64> copies;
    Required<1, 16> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [P(channels), rows]
        typename Of::Weight spectrum; // [64, 2, length/64, copies, channels] (spectrum_of_phases)
        typename Of::Weight twiddles; // [polyphase_twiddles(length)]
        typename Of::Output y;        // [P(channels), copies, blocks*length]; of one channel
                                      // [P(copies), blocks*length]
        LW_ARGUMENTS(u, spectrum, twiddles, y)
    };
};

// A kernel kept as its scales: running sums over 2, 4, 8 ... rows. L and planes are `dyadic_lanes` and
// `dyadic_planes` of the channels. Up to 4 channels have a plane each, more channels are in tiles of 16
// lanes.
struct LongConvDyadic {
    static constexpr const char *name = "long_conv_dyadic";
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<1, 64> rows;
    Required<1, 1 << 16> kernel_dim; // this and the next ones as expand_scales
    Required<1, 24> scales;
    Default<0, 0, 16> init_scale;
    Flag nearest;
    Required<1, 1 << 22> taps;
    Default<1, 1, 1 << 22> direct;
    Required<1, 1 << 30> period; // a multiple of rows and of the period of the plan
    LW_PARAMS(channels, copies, rows, kernel_dim, scales, init_scale, nearest, taps, direct, period)

    template <class Of> struct Arguments {
        typename Of::Input u;  // [L, rows:P(channels), planes:L]
        typename Of::Weight w; // [L, products, copies, planes]: a weight times the factor of its term, for
                               // each product, in the order of the terms of the plan (dyadic_plan.h)
        typename Of::Scalar position; // rows so far mod period
        typename Of::Output y;        // [P(channels), copies, rows]
        typename Of::State rings;     // [L, slots, planes], for calls of one rows value
        LW_ARGUMENTS(u, w, position, y, rings)
    };
};

} // namespace longwave::schedules::contract
