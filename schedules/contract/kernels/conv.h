// Short convolutions.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Convolution over time and frequency. Output row r has its newest tap at `position + r*stride_t + phase`.
// On a CPU the products of an output are added in parts of at most 64.
struct Conv2d {
    static constexpr const char *name = "conv2d";
    Required<1, 1 << 16> time;
    Required<1, 4096> frequency;
    Default<1, 1, 4096> stride_t, stride_f;
    Default<1, 1, 1 << 16> dilation_t;
    Default<0, 0, 4096> pad_f;
    Required<1, 1 << 16> in_f, in_c, out_f, out_c;
    Default<1, 1, 1 << 16> groups;
    Optional<0, 1 << 16> phase;  // absent: stride_t - 1
    Required<1, 1 << 20> rows;   // of the output
    Required<1, 1 << 24> ring;   // input rows
    Optional<1, 1 << 24> in_row; // absent: in_f*P(in_c). More with one channel only
    Streams streams;             // CPU. More: one row of each
    Flag bias;
    LW_PARAMS(time, frequency, stride_t, stride_f, dilation_t, pad_f, in_f, in_c, out_f, out_c, groups, phase,
              rows, ring, in_row, streams, bias)

    template <class Of> struct Arguments {
        typename Of::Input x; // [P(in_c), in_f, ring:in_row]
        // [P(out_c), in_c/groups, frequency, time]; depthwise: [P(in_c), frequency, time]. Tap time-1 is the
        // newest
        typename Of::Weight w;
        typename Of::Weight bias;     // [P(out_c)], with bias
        typename Of::Scalar position; // 0 .. ring - rows*stride_t
        typename Of::Output y;        // [P(out_c), out_f, rows]
        LW_ARGUMENTS(x, w, bias, position, y)
    };
};

// Causal convolution of few channels, or a product with a small matrix. A vector holds rows of one channel.
// The kernel keeps the older rows channel by channel. Row r lies in slot r mod ring, and once more in slot
// ring + r mod ring where there is one. So rows in sequence are neighbours.
struct NarrowConv {
    static constexpr const char *name = "narrow_conv";
    static constexpr int most_channels = 16, most_taps = 64;
    static constexpr int least_rows = 8; // that fill a vector: with fewer, lanes are channels of the result
    Required<1, most_taps> taps;
    Default<1, 1, 1 << 16> dilation;
    Required<1, most_channels> in_c, out_c;
    Required<1, 1 << 20> rows;
    Optional<1, 1 << 24> ring;    // a multiple of rows; absent with one tap: no older rows
    Default<0, 0, 1 << 24> again; // slots behind the ring, at least rows
    Flag bias;
    LW_PARAMS(taps, dilation, in_c, out_c, rows, ring, again, bias)

    template <class Of> struct Arguments {
        typename Of::Input x;         // [P(in_c), rows]
        typename Of::Weight w;        // [out_c, in_c, taps]. Tap taps-1 is the newest
        typename Of::Weight bias;     // [out_c], with bias
        typename Of::Scalar position; // 0 .. ring - rows, of the new rows; with ring
        typename Of::Output y;        // [P(out_c), rows]
        typename Of::State past;      // [ring + again, in_c], with ring
        LW_ARGUMENTS(x, w, bias, position, y, past)
    };
};

// Depthwise convolution over a whole sequence that may look ahead.
struct CentredConv {
    static constexpr const char *name = "centred_conv";
    Required<1, 1 << 20> channels, taps;
    Required<1, 1 << 24> rows;
    Optional<0, 1 << 20> ahead; // of the taps; absent: taps/2
    Flag bias;
    LW_PARAMS(channels, taps, rows, ahead, bias)

    template <class Of> struct Arguments {
        typename Of::Input x;       // [P(channels), rows]
        typename Of::Weight weight; // [P(channels), taps], PyTorch order: tap taps-1-ahead is the current row
        typename Of::Weight bias;   // [P(channels)], with bias
        typename Of::Output y;      // [P(channels), rows]
        LW_ARGUMENTS(x, weight, bias, y)
    };
};

// Pixels of an image, gathered by square patches: patch n, counted line by line.
struct ImagePatches {
    static constexpr const char *name = "image_patches";
    Required<1, 1 << 20> channels;
    Required<1, 1 << 16> line; // pixels of a line, a multiple of side
    Required<1, 256> side;     // of a patch
    Required<1, 1 << 20> rows; // patches
    LW_PARAMS(channels, line, side, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;  // [P(channels), pixels]
        typename Of::Output y; // [P(channels), side*side, rows]
        LW_ARGUMENTS(x, y)
    };
};

} // namespace longwave::schedules::contract
