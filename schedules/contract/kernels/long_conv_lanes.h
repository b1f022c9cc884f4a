// Long causal convolutions of streams of few channels, block by block, with vector lanes over positions.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Uniform partitions with vector lanes over positions, for fewer than 16 channels.
struct LongConvLanes {
    static constexpr const char *name = "long_conv_lanes";
    Required<1, 1 << 20> block;   // rows per call
    Optional<16, 1 << 20> length; // of the transform: a multiple of 16, a product of 2, 3 and 5, at least
                                  // block; absent: block
    Required<1, 1 << 16> partitions;
    Default<1, 1, 64> copies;
    Required<1, 15> channels;
    Several<2, 1, 1 << 24> added; // the strides of the copies of a channel in the inputs that are added
    LW_PARAMS(block, length, partitions, copies, channels, added)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [channels, block:P(channels)]
        typename Of::Input past;      // [length, 2, partitions, channels]
        typename Of::Input tail;      // [block, copies, channels]
        typename Of::Inputs added;    // [1, block, copies:added[n], channels:copies*added[n]], added to the
                                      // result
        typename Of::Weight spectrum; // [length, 2, partitions, copies, channels] (spectrum with lanes)
        typename Of::Weight twiddles; // [lane_twiddles(length)]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output y;        // [copies*P(channels), block]; of one channel [P(copies), block]
        typename Of::Output newest;   // [length, 2, channels:2*length*partitions], that slot of past
        typename Of::Output tail_out; // [block, copies, channels]: tail of the next call, in other memory
        LW_ARGUMENTS(u, past, tail, added, spectrum, twiddles, slot, y, newest, tail_out)
    };
};

// long_conv_forward with vector lanes over positions, one channel per call.
struct LongConvLanesForward {
    static constexpr const char *name = "long_conv_lanes_forward";
    Required<16, 1 << 20> length; // a multiple of 16, and a product of 2, 3 and 5
    Required<0, 32> first;
    Required<1, 32> last;
    Optional<1, 1 << 20> rows;     // with first = 0: of the large block, at most length; absent: length
    Default<1, 1, 1 << 20> stride; // of the samples
    LW_PARAMS(length, first, last, rows, stride)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [1, rows:stride], with first = 0
        typename Of::Input re;        // [length], with first > 0
        typename Of::Input im;        // [length], with first > 0
        typename Of::Weight twiddles; // [lane_twiddles(length)]
        typename Of::Output re_out;   // [length]
        typename Of::Output im_out;   // [length]
        LW_ARGUMENTS(u, re, im, twiddles, re_out, im_out)
    };
};

// long_conv_inverse with vector lanes over positions, one channel per call.
struct LongConvLanesInverse {
    static constexpr const char *name = "long_conv_lanes_inverse";
    Required<16, 1 << 20> length; // a multiple of 16, and a product of 2, 3 and 5
    Required<0, 32> first;
    Required<1, 32> last;
    Optional<1, 1 << 20> rows; // with first = 0: of the large block, at most length; absent: length
    LW_PARAMS(length, first, last, rows)

    template <class Of> struct Arguments {
        typename Of::Input re;        // [length]
        typename Of::Input im;        // [length]
        typename Of::Input tail;      // [1, rows], with first = 0
        typename Of::Weight twiddles; // [lane_twiddles(length)]
        typename Of::Output re_out;   // [length], with first > 0
        typename Of::Output im_out;   // [length], with first > 0
        typename Of::Output y;        // [1, rows], with first = 0
        typename Of::Output tail_out; // [1, rows], with first = 0
        LW_ARGUMENTS(re, im, tail, twiddles, re_out, im_out, y, tail_out)
    };
};

// long_conv_product with vector lanes over positions, one channel per call.
struct LongConvLanesProduct {
    static constexpr const char *name = "long_conv_lanes_product";
    Required<16, 1 << 20> length;
    Required<16, 1 << 20> bins; // a slice of length, a multiple of 16
    Required<1, 1 << 16> partitions;
    LW_PARAMS(length, bins, partitions)

    template <class Of> struct Arguments {
        typename Of::Input past;      // [bins, 2:length, partitions:2*length]
        typename Of::Weight spectrum; // [bins, 2:length, partitions:2*length]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output re_out;   // [bins]
        typename Of::Output im_out;   // [bins]
        LW_ARGUMENTS(past, spectrum, slot, re_out, im_out)
    };
};

} // namespace longwave::schedules::contract
