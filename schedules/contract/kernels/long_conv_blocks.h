// Long causal convolutions of streams, block by block, with vector lanes over channels: one block by
// partitions, and the parts of a large block's work.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Uniform partitions over a ring of past spectra. The kernel writes the newest spectrum, and takes it from
// registers for the sum.
struct LongConvPartitioned {
    static constexpr const char *name = "long_conv_partitioned";
    Required<1, 1 << 20> block;  // rows per call
    Optional<4, 1 << 20> length; // of the transform: a product of 2, 3 and 5, at least block, on a GPU block;
                                 // absent: block
    Required<1, 1 << 16> partitions;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Default<1, 1, 1 << 16> tiles; // GPU: all tiles in one call, with one more dimension
    LW_PARAMS(block, length, partitions, copies, channels, tiles)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [T, block:P(channels)]
        typename Of::Input past;      // [T, 2, partitions, length], ring of spectra
        typename Of::Input tail;      // [T, copies, block]
        typename Of::Weight spectrum; // [T, 2, partitions, length, copies]
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output newest;   // [T, 2, length:2*T*partitions], that slot of past
        typename Of::Output y;        // [T, copies:P(channels), block:copies*P(channels)]
        typename Of::Output tail_out; // [T, copies, block]: tail of the next call, in other memory
        LW_ARGUMENTS(u, past, tail, spectrum, twiddles, slot, newest, y, tail_out)
    };
};

// Some levels of a transform of large blocks (`nonuniform`): levels from `first` to below `last`.
struct LongConvForward {
    static constexpr const char *name = "long_conv_forward";
    Required<4, 1 << 20> length; // a product of 2, 3 and 5
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<0, 32> first;
    Required<1, 32> last;
    Optional<1, 1 << 20> rows;         // with first = 0: of the large block, at most length; absent: length
    Default<1, 1, 1 << 16> partitions; // of the ring it writes
    LW_PARAMS(length, channels, copies, first, last, rows, partitions)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [T, rows:P(channels)], with first = 0
        typename Of::Input x;         // [T, 2, length], with first > 0
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]
        typename Of::Output out;      // [T, 2, length:2*T*partitions]
        LW_ARGUMENTS(u, x, twiddles, out)
    };
};

// The same back: levels from below `last` to `first`.
struct LongConvInverse {
    static constexpr const char *name = "long_conv_inverse";
    Required<4, 1 << 20> length; // a product of 2, 3 and 5
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<0, 32> first;
    Required<1, 32> last;
    Optional<1, 1 << 20> rows; // with first = 0: of the large block, at most length; absent: length
    LW_PARAMS(length, channels, copies, first, last, rows)

    template <class Of> struct Arguments {
        typename Of::Input z;         // [T, 2, length, copies]
        typename Of::Input tail;      // [T, copies, rows], with first = 0
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]
        typename Of::Output out;      // [T, 2, length, copies], with first > 0
        typename Of::Output y;        // [T, copies:P(channels), rows:copies*P(channels)], with first = 0
        typename Of::Output tail_out; // [T, copies, rows], with first = 0
        LW_ARGUMENTS(z, tail, twiddles, out, y, tail_out)
    };
};

// Sum over partitions for a slice of positions.
struct LongConvProduct {
    static constexpr const char *name = "long_conv_product";
    Required<4, 1 << 20> length; // a product of 2, 3 and 5
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> positions; // a slice of length
    Required<1, 1 << 16> partitions;
    LW_PARAMS(length, channels, copies, positions, partitions)

    template <class Of> struct Arguments {
        typename Of::Input past;      // [T, 2, partitions, positions]
        typename Of::Weight spectrum; // [T, 2, partitions, positions, copies:2*T*partitions*length]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output z;        // [T, 2, positions, copies:2*T*length]
        LW_ARGUMENTS(past, spectrum, slot, z)
    };
};

// The same for several blocks at once, so that the spectra are read less often.
struct LongConvProductAhead {
    static constexpr const char *name = "long_conv_product_ahead";
    Required<4, 1 << 20> length; // a product of 2, 3 and 5
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> positions;  // a slice of length
    Required<1, 1 << 16> partitions; // more than blocks
    Required<2, 8> blocks;
    LW_PARAMS(length, channels, copies, positions, partitions, blocks)

    template <class Of> struct Arguments {
        typename Of::Input past;      // [T, 2, partitions, positions]
        typename Of::Weight spectrum; // [T, 2, partitions, positions, copies:2*T*partitions*length]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output z;        // [T, 2, positions, copies:2*T*length]
        typename Of::Outputs next;    // blocks - 1 as z: the sums of later blocks, without spectra to come
        LW_ARGUMENTS(past, spectrum, slot, z, next)
    };
};

// Adds the missing newest spectra to a sum of long_conv_product_ahead.
struct LongConvProductRest {
    static constexpr const char *name = "long_conv_product_rest";
    Required<4, 1 << 20> length; // a product of 2, 3 and 5
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> positions;  // a slice of length
    Required<1, 1 << 16> partitions; // at least terms
    Required<1, 7> terms;            // how many are missing
    LW_PARAMS(length, channels, copies, positions, partitions, terms)

    template <class Of> struct Arguments {
        typename Of::Input before;    // [T, 2, positions, copies:2*T*length]
        typename Of::Input past;      // [T, 2, partitions, positions]
        typename Of::Weight spectrum; // [T, 2, partitions, positions, copies:2*T*partitions*length]
        typename Of::Scalar slot;     // partition slot of the newest spectrum
        typename Of::Output z;        // as before: before + the products with the newest terms spectra
        LW_ARGUMENTS(before, past, spectrum, slot, z)
    };
};

} // namespace longwave::schedules::contract
