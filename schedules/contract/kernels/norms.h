// Norms and softmax along the features of a row.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Normalises all copies * channels valid lanes of a row, or each of `groups` equal parts.
struct Norm {
    static constexpr const char *name = "norm";
    Choice<"layer", "transposed", "rms"> kind;
    Required<1, 1 << 20> channels;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> rows;
    Real<Range::not_negative> eps;
    Default<1, 1, 1 << 12> groups; // more: not transposed, one copy
    LW_PARAMS(kind, channels, copies, rows, eps, groups)

    template <class Of> struct Arguments {
        typename Of::Input x;       // [copies*P(channels), rows]
        typename Of::Weight weight; // [copies*P(channels)], layer and rms
        typename Of::Weight bias;   // [copies*P(channels)], layer
        typename Of::Weight m;      // [1], transposed
        typename Of::Weight s;      // [1], transposed
        typename Of::Output y;      // [copies*P(channels), rows]
        LW_ARGUMENTS(x, weight, bias, m, s, y)
    };
};

// Statistics over all rows of a sequence, in float64. CPU only.
struct GroupNorm {
    static constexpr const char *name = "group_norm";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 16> frequencies;
    Required<1, 1 << 20> groups; // divide the channels
    Required<1, 1 << 24> rows;
    Real<Range::not_negative> eps;
    LW_PARAMS(channels, frequencies, groups, rows, eps)

    template <class Of> struct Arguments {
        typename Of::Input x;       // [P(channels), frequencies, rows]
        typename Of::Weight weight; // [P(channels)]
        typename Of::Weight bias;   // [P(channels)]
        typename Of::Scalar length; // 0 .. rows
        typename Of::Output y;      // [P(channels), frequencies, rows], zero from row length on
        LW_ARGUMENTS(x, weight, bias, length, y)
    };
};

// Softmax of each row.
struct Softmax {
    static constexpr const char *name = "softmax";
    Required<1, 1 << 20> channels, rows;
    LW_PARAMS(channels, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;  // [P(channels), rows]
        typename Of::Output y; // [P(channels), rows]
        LW_ARGUMENTS(x, y)
    };
};

} // namespace longwave::schedules::contract
