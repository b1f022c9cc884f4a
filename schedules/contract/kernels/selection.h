// Lanes and rows that move.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Lanes of a row by their numbers. An index below 0 is a zero.
struct Take {
    static constexpr const char *name = "take";
    Required<1, 1 << 24> in_row, row, rows; // lanes with padding
    LW_PARAMS(in_row, row, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;      // [in_row, rows]
        typename Of::Weight index; // i32 [row]
        typename Of::Output y;     // [row, rows]
        LW_ARGUMENTS(x, index, y)
    };
};

// The same as `take`, where runs of 16 lanes or more stay side by side. CPU only. Pieces of 16 lanes become
// zeros, then lanes of x, then lanes of x backwards. Later pieces write over earlier ones. `_to` is the first
// lane of a piece, and `_from` the lane of x that goes there. Places are moved inside.
struct TakeRuns {
    static constexpr const char *name = "take_runs";
    Required<16, 1 << 24> in_row, row; // lanes with padding
    Required<1, 1 << 24> rows;
    Default<0, 0, 1 << 20> zeros, forward, backward; // numbers of pieces
    LW_PARAMS(in_row, row, rows, zeros, forward, backward)

    template <class Of> struct Arguments {
        typename Of::Input x;              // [in_row, rows]
        typename Of::Weight zeros_to;      // i32 [zeros], with pieces of the kind
        typename Of::Weight forward_to;    // i32 [forward]
        typename Of::Weight forward_from;  // i32 [forward]
        typename Of::Weight backward_to;   // i32 [backward]
        typename Of::Weight backward_from; // i32 [backward]
        typename Of::Output y;             // [row, rows]
        LW_ARGUMENTS(x, zeros_to, forward_to, forward_from, backward_to, backward_from, y)
    };
};

// Rows of 2 to 16 inputs beside each other.
struct Concat {
    static constexpr const char *name = "concat";
    Several<16, 1, 1 << 24> parts; // the widths
    Required<1, 1 << 24> rows;
    LW_PARAMS(parts, rows)

    template <class Of> struct Arguments {
        typename Of::Inputs part; // [P(parts[n]), rows]
        typename Of::Output y;    // [P(sum of parts), rows]
        LW_ARGUMENTS(part, y)
    };
};

// Rows of a ring, some rows ago.
struct Shift {
    static constexpr const char *name = "shift";
    Required<1, 1 << 24> row, rows;
    Required<0, 1 << 20> by;
    Required<1, 1 << 25> ring; // at least rows + by
    LW_PARAMS(row, rows, by, ring)

    template <class Of> struct Arguments {
        typename Of::Input x;         // [row, ring]
        typename Of::Scalar position; // 0 .. ring - rows
        typename Of::Output y;        // [row, rows]
        LW_ARGUMENTS(x, position, y)
    };
};

// One row, again and again.
struct Repeat {
    static constexpr const char *name = "repeat";
    Required<1, 1 << 24> row, rows;
    LW_PARAMS(row, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;  // [row]
        typename Of::Output y; // [row, rows]
        LW_ARGUMENTS(x, y)
    };
};

// A number of the host in every row of a block. CPU only. A block begins with the end of the last block, and
// ends with the next number.
struct ScalarRows {
    static constexpr const char *name = "scalar_rows";
    Required<1, 1 << 24> row, rows;
    Flag smoothed; // row r has begin + (end - begin) * (r + 1)/rows; else all rows have the end
    LW_PARAMS(row, rows, smoothed)

    template <class Of> struct Arguments {
        typename Of::Weight lanes;  // [row]: 1, and 0 in the padding
        typename Of::Output y;      // [row, rows]
        typename Of::State numbers; // [3]: the end, the next one, the begin
        LW_ARGUMENTS(lanes, y, numbers)
    };
};

// Each row as several: `width` lanes for each of its parts.
struct SplitRows {
    static constexpr const char *name = "split_rows";
    Required<1, 1 << 24> in_row, row;
    Required<1, 1 << 24> width; // at most row
    Required<1, 1 << 16> parts;
    Required<1, 1 << 24> rows; // of x
    LW_PARAMS(in_row, row, width, parts, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;  // [in_row, rows]
        typename Of::Output y; // [row, rows*parts]
        LW_ARGUMENTS(x, y)
    };
};

// GPU only: rows after the end of a sequence become zero, where they lie channel by channel.
struct ClearChannels {
    static constexpr const char *name = "clear_channels";
    Required<1, 1 << 24> width, rows;
    LW_PARAMS(width, rows)

    template <class Of> struct Arguments {
        typename Of::Scalar first; // 0 .. rows: the first row to clear
        typename Of::State x;      // [rows, width]
        LW_ARGUMENTS(first, x)
    };
};

} // namespace longwave::schedules::contract
