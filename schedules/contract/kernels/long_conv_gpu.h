// Long convolutions of an offline run on a GPU, all channels per call, causal or two-sided: the spectrum
// decides. In one dispatch, or as a matrix in three. Columns of the matrix come first, then its rows with
// the product, then the columns back.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// GPU only: transform, multiplication and inverse in one dispatch. Rows may lie channel by channel.
struct LongConvFused {
    static constexpr const char *name = "long_conv_fused";
    Required<4, 1 << 22> length; // 8*length bytes fit the shared memory: up to 2,048 or 4,096
    Required<1, 1 << 22> rows;   // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [P(channels), rows]
        typename Of::Weight spectrum; // [T, 2, length, copies, tiles] (of long_conv_right_angle); rows
                                      // channel by channel: of spectrum_by_channel
        typename Of::Weight twiddles; // [right_angle_twiddles(length)], rows channel by channel: by factor
        typename Of::Output y;        // [P(channels), copies, rows]
        LW_ARGUMENTS(u, spectrum, twiddles, y)
    };
};

// GPU only: the same as long_conv_fused, with the points in the registers of the threads. Shared memory only
// carries points from one pass to the next. With one channel the copies are the lanes.
struct LongConvRegisters {
    static constexpr const char *name = "long_conv_registers";
    Required<4, 1 << 22> length; // 1, 3, 5 or 15 times a power of two, 256 to 8192
    Required<1, 1 << 22> rows;   // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [P(channels), rows]
        typename Of::Weight spectrum; // [4, threads, slots/2, copies, tiles] (of spectrum_by_threads)
        typename Of::Weight roots;    // [4, fours] (register_roots)
        typename Of::Output y;        // [P(channels), copies, rows]
        LW_ARGUMENTS(u, spectrum, roots, y)
    };
};

// GPU only: the columns of the matrix, the first of three dispatches. Its columns and its rows both fit the
// shared memory.
struct LongConvColumns {
    static constexpr const char *name = "long_conv_columns";
    Required<4, 1 << 22> length;
    Required<2, 1 << 22> points; // of a column: a product of the first radices of length, not of all
    Required<1, 1 << 22> rows;   // at most length
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, points, rows, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;           // [P(channels), rows]
        typename Of::Weight twiddles;   // [right_angle_twiddles(length)]
        typename Of::Output points_out; // [T, 2, length, 1, tiles]
        LW_ARGUMENTS(u, twiddles, points_out)
    };
};

// GPU only: the rows of the matrix, the product with the spectrum, and the rows back.
struct LongConvRows {
    static constexpr const char *name = "long_conv_rows";
    Required<4, 1 << 22> length;
    Required<2, 1 << 22> points; // as long_conv_columns
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Flag adaptive;                   // adds a kernel made in the run
    Real<Range::not_negative> scale; // of made; 0 without adaptive
    LW_PARAMS(length, points, copies, channels, adaptive, scale)

    template <class Of> struct Arguments {
        typename Of::Input points;      // [T, 2, length, 1, tiles]
        typename Of::Input made;        // [T, 2, length, 1, tiles], with adaptive
        typename Of::Weight spectrum;   // [T, 2, length, copies, tiles]
        typename Of::Weight twiddles;   // [right_angle_twiddles(length)]
        typename Of::Output points_out; // [T, 2, length, copies, tiles]
        LW_ARGUMENTS(points, made, spectrum, twiddles, points_out)
    };
};

// GPU only: the columns of the matrix back.
struct LongConvColumnsBack {
    static constexpr const char *name = "long_conv_columns_back";
    Required<4, 1 << 22> length;
    Required<2, 1 << 22> points; // as long_conv_columns
    Required<1, 1 << 22> rows;   // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Flag circular; // adds the rows that wrap around: as many rows as points
    LW_PARAMS(length, points, rows, copies, channels, circular)

    template <class Of> struct Arguments {
        typename Of::Input points;    // [T, 2, length, copies, tiles]
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]
        typename Of::Output y;        // [P(channels), copies, rows]
        LW_ARGUMENTS(points, twiddles, y)
    };
};

// GPU only: long_conv_columns with the points in the registers of the threads. Columns of the matrix lie side
// by side in memory, so every request takes whole sectors. `schedules/contract/four_step.h` has the form of
// the matrix. All three kernels share the roots: row b of the matrix is block b of the whole transform.
struct FourStepColumns {
    static constexpr const char *name = "four_step_columns";
    Required<4, 1 << 22> length; // 1, 3, 5 or 15 times a power of two, from 4096 on
    Required<1, 1 << 22> rows;   // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, rows, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input u;       // [P(channels), rows]
        typename Of::Weight roots;  // [4, fours] (register_roots)
        typename Of::Output points; // [P(channels), 1, length, 2]
        LW_ARGUMENTS(u, roots, points)
    };
};

// GPU only: long_conv_rows with the points in the registers of the threads.
struct FourStepRows {
    static constexpr const char *name = "four_step_rows";
    Required<4, 1 << 22> length; // as four_step_columns
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Flag adaptive;                   // adds a kernel made in the run
    Real<Range::not_negative> scale; // of made; 0 without adaptive
    LW_PARAMS(length, copies, channels, adaptive, scale)

    template <class Of> struct Arguments {
        typename Of::Input points;    // [P(channels), 1, length, 2]
        typename Of::Input made;      // [P(channels), 1, length, 2], with adaptive
        typename Of::Weight spectrum; // [4, threads, slots/2 * matrix rows, copies, tiles]
                                      // (of spectrum_by_threads)
        typename Of::Weight roots;    // [4, fours] (register_roots)
        typename Of::Output products; // [P(channels), copies, length, 2]
        LW_ARGUMENTS(points, made, spectrum, roots, products)
    };
};

// GPU only: long_conv_columns_back with the points in the registers of the threads.
struct FourStepColumnsBack {
    static constexpr const char *name = "four_step_columns_back";
    Required<4, 1 << 22> length; // as four_step_columns
    Required<1, 1 << 22> rows;   // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Flag circular; // as long_conv_columns_back
    LW_PARAMS(length, rows, copies, channels, circular)

    template <class Of> struct Arguments {
        typename Of::Input products; // [P(channels), copies, length, 2]
        typename Of::Weight roots;   // [4, fours] (register_roots)
        typename Of::Output y;       // [P(channels), copies, rows]
        LW_ARGUMENTS(products, roots, y)
    };
};

} // namespace longwave::schedules::contract
