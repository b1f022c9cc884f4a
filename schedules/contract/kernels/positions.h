// Kernels that know where a row stands. They count rows in float64, exact up to 2^53. A phase is that count
// times an integer of 2^-64 turns, so it wraps where turns wrap. Its error is at most 2^-65 turns per row:
// 1e-8 of a turn after 10^11 rows.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Pairs of features of each head, rotated by the position of their row. The features after them pass.
struct Rotary {
    static constexpr const char *name = "rotary";
    Required<1, 1 << 12> heads, pairs;
    Required<1, 1 << 20> width; // at least heads*pairs*2
    Required<1, 1 << 20> rows;
    Required<0, 1> interleaved; // 1: a pair are neighbours; 0: feature i and feature i + pairs of a head
    FlagOr<true> counts;
    LW_PARAMS(heads, pairs, width, rows, interleaved, counts)

    template <class Of> struct Arguments {
        typename Of::Input x;            // [P(width), rows]
        typename Of::Input count_so_far; // f64 [1], with counts = 0
        typename Of::Weight theta_high;  // i32 [pairs]: theta in 2^-64 turns
        typename Of::Weight theta_low;   // i32 [pairs]
        typename Of::Output y;           // [P(width), rows]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1
        LW_ARGUMENTS(x, count_so_far, theta_high, theta_low, y, count)
    };
};

// Each head becomes [x cos(t theta), x sin(t theta)]. Along the axes of an image, feature i of a head rotates
// with axis i / ceil(dk / axes).
struct Lrpe {
    static constexpr const char *name = "lrpe";
    Required<1, 1 << 12> heads, dk;
    Required<1, 1 << 20> rows;
    Several<3, 1, 1 << 24> sizes;      // of the axes, slowest first; none: a sequence
    Default<0, 0, 1 << 24> conditions; // rows before the image, which are not rotated
    FlagOr<true> counts;
    LW_PARAMS(heads, dk, rows, sizes, conditions, counts)

    template <class Of> struct Arguments {
        typename Of::Input x;            // [dk, heads, rows:P(heads*dk)]
        typename Of::Input count_so_far; // f64 [1], with counts = 0
        typename Of::Weight theta_high;  // i32 [dk, heads]: theta in 2^-64 turns
        typename Of::Weight theta_low;   // i32 [dk, heads]
        typename Of::Output y;           // rows of P(2*heads*dk), each [dk, 2, heads]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1
        LW_ARGUMENTS(x, count_so_far, theta_high, theta_low, y, count)
    };
};

// Sum over modes of c * sum over s <= t of lambda^(t-s) x_s: over a sequence, or along one axis of an image.
struct ExponentialScan {
    static constexpr const char *name = "exponential_scan";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 12> modes;
    Required<1, 1 << 20> rows;     // on a CPU with a stride, at most the stride
    Default<1, 1, 1 << 20> stride; // rows from one position of the axis to the next
    Default<0, 0, 1 << 24> length; // positions of the axis; 0: it never ends
    FlagOr<true> counts;
    LW_PARAMS(channels, modes, rows, stride, length, counts)

    template <class Of> struct Arguments {
        typename Of::Input x;            // [P(channels), rows]
        typename Of::Input count_so_far; // f64 [1], with counts = 0, with length
        typename Of::Weight lambda;      // f64 [P(channels), modes]
        typename Of::Weight c;           // f64 [P(channels), modes]
        typename Of::Output y;           // [P(channels), rows]
        typename Of::State sums;         // f64 [P(channels), modes, stride]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1, with length
        LW_ARGUMENTS(x, count_so_far, lambda, c, y, sums, count)
    };
};

// Moves a count of rows on, before kernels that only read it.
struct CountRows {
    static constexpr const char *name = "count_rows";
    Required<1, 1 << 24> rows;
    LW_PARAMS(rows)

    template <class Of> struct Arguments {
        typename Of::State count; // f64 [1]: rows more
        LW_ARGUMENTS(count)
    };
};

} // namespace longwave::schedules::contract
