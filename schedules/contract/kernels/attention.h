// Attention: softmaxes over rows, and matrices that add up.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Averages of values, weighted by a softmax of query times key over a window of keys, for each head. Keys
// come in blocks, and a query keeps its sums with the largest score so far. A row of kv is [keys | values |
// 1]: the last feature says that the row is there. With `relative` the score is (q + content_bias) k + (q +
// position_bias) r, where r is of the lag.
struct SoftmaxAttention {
    static constexpr const char *name = "softmax_attention";
    Required<1, 1 << 12> heads, dk, dv;
    Optional<1, 1 << 12> key_heads; // divides heads: so many in a row share keys and values; absent: heads
    Required<1, 1 << 20> rows;
    Required<0, 1 << 24> window; // 0: all rows of the ring
    Required<1, 1 << 24> ring;   // with a window, at least rows + window - 1
    Flag relative;               // needs a window
    Flag whole; // the ring is a sequence from its first row: window >= ring; on a CPU rows >= 8
    LW_PARAMS(heads, dk, dv, key_heads, rows, window, ring, relative, whole)

    template <class Of> struct Arguments {
        typename Of::Input kv; // [P(key_heads*(dk+dv)+1), ring]
        typename Of::Input q;  // [P(heads*dk), rows]
        typename Of::Weight r; // [lags, dk, heads], with relative; lags = window + 2*attention_margin, zero
                               // outside the window. Below 8 rows: [dk, heads, window]
        typename Of::Weight content_bias;  // [dk, heads], with relative
        typename Of::Weight position_bias; // [dk, heads], with relative
        typename Of::Scalar position;      // with a window; whole: row of the sequence of the first query
        typename Of::Scalar filled; // with a window, not whole: rows of the ring that have been written. Of
                                    // those before, the kernel may take it that none is there
        typename Of::Output y;      // [P(heads*dv), rows]
        LW_ARGUMENTS(kv, q, r, content_bias, position_bias, position, filled, y)
    };
};

// One row of causal linear attention: o_t = q_t S_t, S_t = sum over s <= t of k_s v_s^T, for each head. q
// is already scaled. S is the sum of two floats for each element: S_high + S_low, each
// [A, dk, P(heads*dv)/A].
//
// A is 64, 32 or 16, the largest that divides dv. If none does, A is 8 when 8 divides dv of several heads
// and 16 divides heads*dv. Otherwise A is 16, or 1 for P(heads*dv) = 1. The layout is the same for step and
// chunk, for every chunk and target, so calls mix in any order. A tile that belongs to one head is fast.
// Otherwise each lane looks up its head.
struct LinearAttentionStep {
    static constexpr const char *name = "linear_attention_step";
    Required<1, 1 << 12> heads, dk, dv;
    LW_PARAMS(heads, dk, dv)

    template <class Of> struct Arguments {
        typename Of::Input q;      // [dk, 1, heads]
        typename Of::Input k;      // [dk, 1, heads]
        typename Of::Input v;      // [A, 1, tiles, groups]
        typename Of::State S_high; // [A, dk, tiles, groups]
        typename Of::State S_low;  // [A, dk, tiles, groups]
        typename Of::Output o;     // [A, dk:0, tiles, groups]
        LW_ARGUMENTS(q, k, v, S_high, S_low, o)
    };
};

// Several rows of the same, on the same state.
struct LinearAttentionChunk {
    static constexpr const char *name = "linear_attention_chunk";
    Required<1, 1 << 12> heads, dk, dv;
    Required<2, 1 << 20> rows; // on a CPU at most 64, best 16
    LW_PARAMS(heads, dk, dv, rows)

    template <class Of> struct Arguments {
        typename Of::Input q;      // [dk, rows:P(heads*dk), heads:dk]
        typename Of::Input k;      // [dk, rows:P(heads*dk), heads:dk]
        typename Of::Input v;      // [A, rows:P(heads*dv), tiles:A, groups]
        typename Of::State S_high; // [A, dk, tiles, groups]
        typename Of::State S_low;  // [A, dk, tiles, groups]
        typename Of::Output o;     // [A, rows:P(heads*dv), tiles:A, groups]
        LW_ARGUMENTS(q, k, v, S_high, S_low, o)
    };
};

// The same sum over all rows of a sequence.
struct LinearAttentionOffline {
    static constexpr const char *name = "linear_attention_offline";
    Required<1, 1 << 12> heads, dk, dv;
    Required<1, 1 << 24> rows;
    LW_PARAMS(heads, dk, dv, rows)

    template <class Of> struct Arguments {
        typename Of::Input q;       // [dk, rows:P(heads*dk), heads:dk]
        typename Of::Input k;       // [dk, rows:P(heads*dk), heads:dk]
        typename Of::Input v;       // [A, rows:P(heads*dv), tiles:A, groups]
        typename Of::Scalar length; // 0 .. rows: rows of k and v that count
        typename Of::Output y;      // [A, rows:P(heads*dv), tiles:A, groups]
        LW_ARGUMENTS(q, k, v, length, y)
    };
};

// One row of decaying attention: o_t = q_t C_t, C_t = (1 - w_t) C_(t-1) + k_t v_t^T, for each head. C moves
// by differences, and its weights are products of 1 - w in [0, 1]. So no key is too large (tested to
// +-150). `cumulative_softmax` makes w, and w is the key as well, unless it is rotated. C lies as S of
// linear_attention_step does.
struct DecayingAttentionStep {
    static constexpr const char *name = "decaying_attention_step";
    Required<1, 1 << 12> heads, dk, dv;
    Default<1, 1, 2> parts; // 2: k is w rotated by the position into two parts, which decay alike
    LW_PARAMS(heads, dk, dv, parts)

    template <class Of> struct Arguments {
        typename Of::Input q;      // [parts*dk, 1, heads]
        typename Of::Input w;      // [dk, 1, heads]
        typename Of::Input v;      // [A, 1, tiles, groups]
        typename Of::Input k;      // [parts*dk, 1, heads], with parts = 2
        typename Of::State S_high; // [A, parts*dk, tiles, groups]
        typename Of::State S_low;  // [A, parts*dk, tiles, groups]
        typename Of::Output o;     // [A, parts*dk:0, tiles, groups]
        LW_ARGUMENTS(q, w, v, k, S_high, S_low, o)
    };
};

// Several rows of the same, on the same state.
struct DecayingAttentionChunk {
    static constexpr const char *name = "decaying_attention_chunk";
    Required<1, 1 << 12> heads, dk, dv;
    Required<2, 1 << 20> rows; // on a CPU at most 64, best 16
    Default<1, 1, 2> parts;    // 2: k is w rotated by the position into two parts, which decay alike
    LW_PARAMS(heads, dk, dv, rows, parts)

    template <class Of> struct Arguments {
        typename Of::Input q;      // [parts*dk, rows:P(heads*parts*dk), heads:parts*dk]
        typename Of::Input w;      // [dk, rows:P(heads*dk), heads:dk]
        typename Of::Input v;      // [A, rows:P(heads*dv), tiles:A, groups]
        typename Of::Input k;      // [parts*dk, rows:P(heads*parts*dk), heads:parts*dk], with parts = 2
        typename Of::State S_high; // [A, parts*dk, tiles, groups]
        typename Of::State S_low;  // [A, parts*dk, tiles, groups]
        typename Of::Output o;     // [A, rows:P(heads*dv), tiles:A, groups]
        LW_ARGUMENTS(q, w, v, k, S_high, S_low, o)
    };
};

// One row of a matrix recurrence: S_t = diag(w_t) S_(t-1) + b_t (a_t^T S_(t-1)) + k_t v_t^T, o_t = q_t S_t,
// for each head. So many heads in a row as share queries and keys also share b. S is one float for each
// element, and lies as S_high of linear_attention_step does.
struct MatrixRecurrenceStep {
    static constexpr const char *name = "matrix_recurrence_step";
    Required<1, 1 << 12> heads;
    Required<1, 1 << 12> key_heads; // divides heads
    Required<1, 1 << 12> dk, dv;
    Choice<"none", "head", "key"> decay; // w: 1, one number for each head, or one for each key
    Required<0, 1> rank_one;             // 0: a and b are zero
    LW_PARAMS(heads, key_heads, dk, dv, decay, rank_one)

    template <class Of> struct Arguments {
        typename Of::Input q;     // [dk, 1, key_heads]
        typename Of::Input k;     // [dk, 1, key_heads]
        typename Of::Input v;     // [A, 1, tiles, groups]
        typename Of::Input w;     // [1 or dk, 1, heads], with decay
        typename Of::Input a;     // [dk, 1, heads], with rank_one
        typename Of::Input b;     // [dk, 1, key_heads], with rank_one
        typename Of::State S;     // [A, dk, tiles, groups]
        typename Of::Output read; // [A, dk:0, tiles, groups], with rank_one: a^T S, memory of the call
        typename Of::Output o;    // [A, dk:0, tiles, groups]
        LW_ARGUMENTS(q, k, v, w, a, b, S, read, o)
    };
};

// Several rows of the same, on the same state. The rank-one terms of a chunk solve one triangular system
// for each head. Its inverse is multiplied into a and k before any value is read (the WY form). Decays are
// multiplied, and nothing is divided by them.
struct MatrixRecurrenceChunk {
    static constexpr const char *name = "matrix_recurrence_chunk";
    Required<1, 1 << 12> heads;
    Required<1, 1 << 12> key_heads; // divides heads
    Required<1, 1 << 12> dk, dv;
    Required<2, 64> rows;                // best 16
    Choice<"none", "head", "key"> decay; // w: 1, one number for each head, or one for each key
    Required<0, 1> rank_one;             // 0: a and b are zero
    LW_PARAMS(heads, key_heads, dk, dv, rows, decay, rank_one)

    template <class Of> struct Arguments {
        typename Of::Input q;     // [dk, rows:P(key_heads*dk), key_heads:dk]
        typename Of::Input k;     // [dk, rows:P(key_heads*dk), key_heads:dk]
        typename Of::Input v;     // [A, rows:P(heads*dv), tiles:A, groups]
        typename Of::Input w;     // [D, rows:P(heads*D), heads:D], with decay; D = 1 or dk
        typename Of::Input a;     // [dk, rows:P(heads*dk), heads:dk], with rank_one
        typename Of::Input b;     // [dk, rows:P(key_heads*dk), key_heads:dk], with rank_one
        typename Of::State S;     // [A, dk, tiles, groups]
        typename Of::Output read; // [A, rows:P(heads*dv), tiles:A, groups], with rank_one: a^T S
        typename Of::Output o;    // [A, rows:P(heads*dv), tiles:A, groups]
        LW_ARGUMENTS(q, k, v, w, a, b, S, read, o)
    };
};

// exp(k_t) / S_t with S_t = start + sum over s <= t of exp(k_s), through log S in float64. This form is
// numerically stable for any key. Rows whose mask is 0 weigh nothing.
struct CumulativeSoftmax {
    static constexpr const char *name = "cumulative_softmax";
    Required<1, 1 << 20> channels, rows;
    Flag start;
    Flag mask;
    Flag log; // the result is log S_t
    FlagOr<true> counts;
    LW_PARAMS(channels, rows, start, mask, log, counts)

    template <class Of> struct Arguments {
        typename Of::Input k;            // [P(channels), rows]
        typename Of::Input mask;         // [1, rows], with mask
        typename Of::Input count_so_far; // f64 [1], with counts = 0, without start
        typename Of::Output w;           // [P(channels), rows]
        typename Of::State z;            // f64 [P(channels), rows:0]
        typename Of::State count;        // f64 [1]: rows so far, with counts = 1, without start
        LW_ARGUMENTS(k, mask, count_so_far, w, z, count)
    };
};

// Softmax over the rows of a sequence, for each channel.
struct SequenceSoftmax {
    static constexpr const char *name = "sequence_softmax";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 24> rows;
    LW_PARAMS(channels, rows)

    template <class Of> struct Arguments {
        typename Of::Input k;       // [P(channels), rows]
        typename Of::Scalar length; // 0 .. rows
        typename Of::Output y;      // [P(channels), rows], 0 from length on
        LW_ARGUMENTS(k, length, y)
    };
};

} // namespace longwave::schedules::contract
