// Long causal convolutions of streams of few channels, block by block, with vector lanes over positions.
// Their spectra lie in groups of 16 bins, a cache line. The partitions of a group lie in a row: a sum over
// partitions reads memory as a stream.
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
        typename Of::Input u;      // [channels, block:P(channels)]
        typename Of::Input past;   // [16, 2, partitions, length/16, channels]
        typename Of::Input tail;   // [block, copies, channels]
        typename Of::Inputs added; // [1, block, copies:added[n], channels:copies*added[n]], added to the
                                   // result
        // [16, 2, partitions, length/16, copies, channels] (spectrum with lanes)
        typename Of::Weight spectrum;
        typename Of::Weight twiddles; // [lane_twiddles(length)]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output y;        // [copies*P(channels), block]; of one channel [P(copies), block]
        typename Of::Output newest;   // [16, 2, length/16:32*partitions, channels:2*length*partitions], that
                                      // slot of past
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
    Optional<1, 1 << 20> rows;       // with first = 0: of the large block, at most length; absent: length
    Default<1, 1, 1 << 20> stride;   // of the samples
    Optional<1, 1 << 16> partitions; // with the last level: of the ring it writes
    // So many butterflies of the one level last - 1, where all memory begins with the first of them
    // (is_lane_slice); absent: all. R is the radix of the level.
    Optional<16, 1 << 20> slice;
    LW_PARAMS(length, first, last, rows, stride, partitions, slice)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [1, rows:stride], with first = 0; slice: [1, slice:stride,
                                      // R:stride*length/R]
        typename Of::Input re;        // [length], with first > 0; slice: [slice, R:length/R]
        typename Of::Input im;        // as re
        typename Of::Weight twiddles; // [lane_twiddles(length)]; slice: [twiddles_of_slice]
        typename Of::Output re_out;   // [length], but for the last level; slice: [R*slice]
        typename Of::Output im_out;   // as re_out
        typename Of::Output newest;   // [16, 2, length/16:32*partitions], of the last level; slice: [16, 2,
                                      // R*slice/16:32*partitions]
        LW_ARGUMENTS(u, re, im, twiddles, re_out, im_out, newest)
    };
};

// long_conv_inverse with vector lanes over positions, one channel per call.
struct LongConvLanesInverse {
    static constexpr const char *name = "long_conv_lanes_inverse";
    Required<16, 1 << 20> length; // a multiple of 16, and a product of 2, 3 and 5
    Required<0, 32> first;
    Required<1, 32> last;
    Optional<1, 1 << 20> rows;   // with first = 0: of the large block, at most length; absent: length
    Optional<16, 1 << 20> slice; // as of long_conv_lanes_forward, of level first
    LW_PARAMS(length, first, last, rows, slice)

    template <class Of> struct Arguments {
        typename Of::Input re;        // [length]; slice: [R*slice]
        typename Of::Input im;        // as re
        typename Of::Input tail;      // [1, rows], with first = 0; slice: [1, slice, R:length/R]
        typename Of::Weight twiddles; // [lane_twiddles(length)]; slice: [twiddles_of_slice]
        typename Of::Output re_out;   // [length], with first > 0; slice: [slice, R:length/R]
        typename Of::Output im_out;   // as re_out
        typename Of::Output y;        // as tail
        typename Of::Output tail_out; // as tail
        LW_ARGUMENTS(re, im, tail, twiddles, re_out, im_out, y, tail_out)
    };
};

// long_conv_product with vector lanes over positions, one channel per call.
struct LongConvLanesProduct {
    static constexpr const char *name = "long_conv_lanes_product";
    Required<16, 1 << 20> bins; // a slice of the spectrum, a multiple of 16
    Required<1, 1 << 16> partitions;
    LW_PARAMS(bins, partitions)

    template <class Of> struct Arguments {
        typename Of::Input past;      // [16, 2, partitions, bins/16]
        typename Of::Weight spectrum; // [16, 2, partitions, bins/16]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output re_out;   // [bins]
        typename Of::Output im_out;   // [bins]
        LW_ARGUMENTS(past, spectrum, slot, re_out, im_out)
    };
};

// long_conv_product_ahead with vector lanes over positions, one channel per call.
struct LongConvLanesProductAhead {
    static constexpr const char *name = "long_conv_lanes_product_ahead";
    Required<16, 1 << 20> bins;      // a slice of the spectrum, a multiple of 16
    Required<1, 1 << 16> partitions; // more than blocks
    Required<2, 8> blocks;
    LW_PARAMS(bins, partitions, blocks)

    template <class Of> struct Arguments {
        typename Of::Input past;      // [16, 2, partitions, bins/16]
        typename Of::Weight spectrum; // [16, 2, partitions, bins/16]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output re_out;   // [bins]
        typename Of::Output im_out;   // [bins]
        // re_out and im_out of each of the blocks - 1 later blocks, without spectra to come
        typename Of::Outputs next;
        LW_ARGUMENTS(past, spectrum, slot, re_out, im_out, next)
    };
};

// long_conv_product_rest with vector lanes over positions, one channel per call.
struct LongConvLanesProductRest {
    static constexpr const char *name = "long_conv_lanes_product_rest";
    Required<16, 1 << 20> bins;      // a slice of the spectrum, a multiple of 16
    Required<1, 1 << 16> partitions; // at least terms
    Required<1, 7> terms;            // how many are missing
    LW_PARAMS(bins, partitions, terms)

    template <class Of> struct Arguments {
        typename Of::Input past;      // [16, 2, partitions, bins/16]
        typename Of::Input re;        // [bins], before
        typename Of::Input im;        // [bins], before
        typename Of::Weight spectrum; // [16, 2, partitions, bins/16]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output re_out;   // [bins]: before + the products with the newest terms spectra
        typename Of::Output im_out;   // [bins]
        LW_ARGUMENTS(past, re, im, spectrum, slot, re_out, im_out)
    };
};

} // namespace longwave::schedules::contract
