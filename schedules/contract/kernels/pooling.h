// Means, sums and maxima over rows.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Offline mean, sum, maximum, last or first of `length` rows. Length 0 gives zeros.
struct MeanRun {
    static constexpr const char *name = "mean_run";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 24> rows;
    Choice<"mean", "sum", "max", "last", "first"> mode;
    LW_PARAMS(channels, rows, mode)

    template <class Of> struct Arguments {
        typename Of::Input x;       // [P(channels), rows]
        typename Of::Scalar length; // 0 .. rows
        typename Of::Output y;      // [P(channels), 1]
        LW_ARGUMENTS(x, length, y)
    };
};

// Mean, sum or maximum so far, at each row.
struct MeanStream {
    static constexpr const char *name = "mean_stream";
    Required<1, 1 << 20> channels, rows;
    Choice<"mean", "sum", "max"> mode;
    FlagOr<true> counts;
    LW_PARAMS(channels, rows, mode, counts)

    template <class Of> struct Arguments {
        typename Of::Input x;            // [P(channels), rows]
        typename Of::Input count_so_far; // f64 [1], with counts = 0
        typename Of::Output y;           // [P(channels), rows]
        typename Of::State sums;         // f64 [P(channels), rows:0]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1
        LW_ARGUMENTS(x, count_so_far, y, sums, count)
    };
};

// Mean of the last min(frames, rows so far) rows.
struct MeanWindow {
    static constexpr const char *name = "mean_window";
    Required<1, 1 << 20> channels, rows;
    Required<1, 1 << 24> ring; // at least rows + frames - 1
    Required<1, 1 << 20> frames;
    FlagOr<true> counts;
    LW_PARAMS(channels, rows, ring, frames, counts)

    template <class Of> struct Arguments {
        typename Of::Input x;            // [P(channels), ring]
        typename Of::Input count_so_far; // f64 [1], with counts = 0
        typename Of::Scalar position;    // 0 .. ring - rows
        typename Of::Output y;           // [P(channels), rows]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1
        LW_ARGUMENTS(x, count_so_far, position, y, count)
    };
};

// The largest or the mean of each window of rows and frequencies.
struct Pool {
    static constexpr const char *name = "pool";
    Choice<"max", "mean"> mode;
    Required<1, 1 << 20> channels;
    Required<1, 1 << 16> in_f, out_f;
    Required<1, 1 << 24> rows;
    Required<1, 1 << 16> time;
    Required<1, 4096> frequency;
    Required<1, 1 << 16> stride_t;
    Required<1, 4096> stride_f;
    Required<0, 4096> pad_f;
    Required<0, 1 << 16> lag; // rows between the newest of a window and that of its output
    Flag count_outside;       // a mean counts what lies outside
    Required<1, 1 << 25> ring;
    FlagOr<true> counts;
    LW_PARAMS(mode, channels, in_f, out_f, rows, time, frequency, stride_t, stride_f, pad_f, lag,
              count_outside, ring, counts)

    template <class Of> struct Arguments {
        typename Of::Input x;            // [P(channels), in_f, ring]
        typename Of::Input count_so_far; // f64 [1], with counts = 0, where windows look back
        typename Of::Scalar position;    // 0 .. ring - rows*stride_t
        typename Of::Output y;           // [P(channels), out_f, rows]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1, where windows look back
        LW_ARGUMENTS(x, count_so_far, position, y, count)
    };
};

// Two values, their difference and their product.
struct PairFeatures {
    static constexpr const char *name = "pair_features";
    Required<1, 1 << 20> channels;
    LW_PARAMS(channels)

    template <class Of> struct Arguments {
        typename Of::Input u;  // [P(channels)]
        typename Of::Input v;  // [P(channels)]
        typename Of::Output y; // [P(channels), 4]: u, v, u - v, u v
        LW_ARGUMENTS(u, v, y)
    };
};

} // namespace longwave::schedules::contract
