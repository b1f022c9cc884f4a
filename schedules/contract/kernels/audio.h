// Frames of samples.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Windowed power spectrum of overlapping frames. Frame r ends at sample position + (r + 1) hop - 1.
struct FramePower {
    static constexpr const char *name = "frame_power";
    Required<64, 4096> n_fft; // a power of two
    Required<1, 4096> window; // at most n_fft
    Required<1, 1 << 16> hop;
    Required<1, 1 << 20> rows;
    Required<1, 1 << 28> ring; // samples
    LW_PARAMS(n_fft, window, hop, rows, ring)

    template <class Of> struct Arguments {
        typename Of::Input samples;   // [ring]
        typename Of::Weight window;   // [window]
        typename Of::Weight twiddles; // [frame_twiddles(n_fft)]
        typename Of::Scalar position; // start of the newest rows*hop samples, a multiple of gcd(hop, window)
        typename Of::Output power;    // [P(n_fft/2+1), rows]
        LW_ARGUMENTS(samples, window, twiddles, position, power)
    };
};

// The windows themselves, where something else than a power spectrum reads them. `chunk` samples from a
// multiple of `chunk` of a frame on never straddle the end of the ring.
struct Frame {
    static constexpr const char *name = "frame";
    Required<1, 1 << 20> window, hop;
    Required<1, 1 << 20> chunk; // divides the window
    FlagOr<true> weighted;      // 0: no window multiplies them
    Required<1, 1 << 20> rows;
    Required<1, 1 << 28> ring; // samples
    LW_PARAMS(window, hop, chunk, weighted, rows, ring)

    template <class Of> struct Arguments {
        typename Of::Input samples;   // [ring]
        typename Of::Weight window;   // [window], with weighted
        typename Of::Scalar position; // start of the newest rows*hop samples
        typename Of::Output y;        // [P(window), rows]
        LW_ARGUMENTS(samples, window, position, y)
    };
};

// Overlap-add: the pieces of the newest frames of a ring that fall on the same hop, in a sum, the oldest
// frame first. Row r begins with the frame `later` rows before its own.
struct Unframe {
    static constexpr const char *name = "unframe";
    Required<1, 1 << 20> window;
    Required<1, 1 << 20> hop; // at most the window
    Required<1, 1 << 20> rows;
    Required<1, 1 << 25> ring;
    Default<0, 0, 1 << 16> later;
    LW_PARAMS(window, hop, rows, ring, later)

    template <class Of> struct Arguments {
        typename Of::Input x;         // [P(window), ring]
        typename Of::Scalar position; // the newest rows
        typename Of::Output y;        // [P(hop), rows]
        LW_ARGUMENTS(x, position, y)
    };
};

// Overlap-add that keeps the sums of what has come, in place of the frames. Row r of the result is what
// earlier frames added to its hop, and the first piece of frame r. The oldest frame is added first.
struct OverlapAdd {
    static constexpr const char *name = "overlap_add";
    Required<2, 1 << 20> window;
    Required<1, 1 << 20> hop; // less than the window
    Required<1, 1 << 20> rows;
    LW_PARAMS(window, hop, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;    // [P(window), rows]
        typename Of::Output y;   // [P(hop), pieces:0, rows], pieces = ceil(window / hop) - 1
        typename Of::State sums; // [P(hop), pieces, rows:0] of the hops that follow
        LW_ARGUMENTS(x, y, sums)
    };
};

} // namespace longwave::schedules::contract
