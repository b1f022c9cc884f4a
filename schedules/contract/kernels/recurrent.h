// Recurrences.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// One row of a long short-term memory. `bands` sequences lie side by side and share the weights. With
// `restart`, the rows of calls are bands: the state is zero before every call whose number `place` is a
// multiple.
struct Lstm {
    static constexpr const char *name = "lstm";
    Required<1, 1 << 14> units;
    Streams streams;
    Default<1, 1, 1 << 16> bands;
    Default<0, 0, 1 << 24> restart; // 0: one sequence
    LW_PARAMS(units, streams, bands, restart)

    template <class Of> struct Arguments {
        typename Of::Input x;      // [P(4 units), bands]
        typename Of::Weight w;     // [T, 4, units, P(units)/T], T = min(16, P(units))
        typename Of::Scalar place; // with restart
        typename Of::Output y;     // [P(units), bands]
        typename Of::State gates;  // [P(units), 4, bands], memory of the call
        typename Of::State h;      // [P(units), bands]
        typename Of::State c;      // [P(units), bands]
        LW_ARGUMENTS(x, w, place, y, gates, h, c)
    };
};

// The same of a gated recurrent unit.
struct Gru {
    static constexpr const char *name = "gru";
    Required<1, 1 << 14> units;
    Streams streams;
    Default<1, 1, 1 << 16> bands;
    Default<0, 0, 1 << 24> restart; // 0: one sequence
    FlagOr<true> reset_after;
    LW_PARAMS(units, streams, bands, restart, reset_after)

    template <class Of> struct Arguments {
        typename Of::Input x;      // [P(3 units), bands]
        typename Of::Weight w;     // [T, 3, units, P(units)/T], T = min(16, P(units))
        typename Of::Weight bias;  // [P(units)]
        typename Of::Scalar place; // with restart
        typename Of::Output y;     // [P(units), bands]
        typename Of::State gates;  // [P(units), 3, bands], memory of the call
        typename Of::State h;      // [P(units), bands]
        LW_ARGUMENTS(x, w, bias, place, y, gates, h)
    };
};

// h_t = a_t h_(t-1) + b_t, for each channel. With `maximum`, h_t = max(h_(t-1) + a_t, b_t).
struct GatedScan {
    static constexpr const char *name = "gated_scan";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 24> rows;
    Flag maximum;
    LW_PARAMS(channels, rows, maximum)

    template <class Of> struct Arguments {
        typename Of::Input a;  // [P(channels), rows]
        typename Of::Input b;  // [P(channels), rows]
        typename Of::Output y; // [P(channels), rows]
        typename Of::State h;  // [P(channels), rows:0]
        LW_ARGUMENTS(a, b, y, h)
    };
};

// Sums of decaying oscillations. A state for each pole of each channel, which the first copy moves on.
struct StateSpace {
    static constexpr const char *name = "state_space";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 10> copies;
    Required<1, 1 << 12> poles;
    Required<1, 1 << 24> rows;
    Flag complex;
    Required<32, 64> state; // bits: 32 or 64
    LW_PARAMS(channels, copies, poles, rows, complex, state)

    template <class Of> struct Arguments {
        typename Of::Input x;               // [P(channels), rows]
        typename Of::Input x_imaginary;     // [P(channels), rows], with complex
        typename Of::Weight pole_real;      // f64 [P(channels), poles]
        typename Of::Weight pole_imaginary; // f64 [P(channels), poles]
        typename Of::Weight c_real;         // [P(channels), poles, copies]
        typename Of::Weight c_imaginary;    // [P(channels), poles, copies]
        typename Of::Weight D;              // [P(channels), copies]
        typename Of::Output y;              // [P(channels), copies, rows]
        typename Of::State real;            // [P(channels), poles]
        typename Of::State imaginary;       // [P(channels), poles]
        LW_ARGUMENTS(x, x_imaginary, pole_real, pole_imaginary, c_real, c_imaginary, D, y, real, imaginary)
    };
};

// The taps of a state space: its answer to an impulse.
struct ExponentialTaps {
    static constexpr const char *name = "exponential_taps";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 10> copies;
    Required<1, 1 << 12> poles;
    Required<1, 1 << 24> taps;
    LW_PARAMS(channels, copies, poles, taps)

    template <class Of> struct Arguments {
        typename Of::Weight pole_real;      // f64 [P(channels), poles]
        typename Of::Weight pole_imaginary; // f64 [P(channels), poles]
        typename Of::Weight c_real;         // [P(channels), poles, copies]
        typename Of::Weight c_imaginary;    // [P(channels), poles, copies]
        typename Of::Weight D;              // [P(channels), copies]
        typename Of::Output k;              // [P(channels), copies, taps]
        LW_ARGUMENTS(pole_real, pole_imaginary, c_real, c_imaginary, D, k)
    };
};

} // namespace longwave::schedules::contract
