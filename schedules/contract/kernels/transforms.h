// Transforms of rows, of offline runs and of the taps of long convolutions.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// The discrete Fourier transform of each row. A spectrum has the n_fft/2+1 real parts of its bins, and then
// the imaginary parts. Output o is number `first` + o of it. Without `first` it is number `which(o)`, moved
// inside. Samples behind `in` are zero. A CPU takes it for a product of 32 outputs or more with such a
// matrix, perhaps times a window. So does a `conv2d` of each frame of a row.
struct RowDft {
    static constexpr const char *name = "row_dft";
    Required<64, 4096> n_fft; // a power of two
    Required<1, 1 << 20> rows;
    Required<1, 4096> in;       // at most n_fft
    Required<2, 4096 + 2> out;  // at most n_fft + 2
    Default<-1, 0, 4096> first; // at most n_fft + 2 - out
    Flag window;
    LW_PARAMS(n_fft, rows, in, out, first, window)

    template <class Of> struct Arguments {
        typename Of::Input x;         // [P(in), rows]
        typename Of::Weight twiddles; // [frame_twiddles(n_fft)]
        typename Of::Weight which;    // i32 [P(out)], without first
        typename Of::Weight window;   // [in], with window
        typename Of::Output y;        // [P(out), rows]
        LW_ARGUMENTS(x, twiddles, which, window, y)
    };
};

// The way back, of whole spectra: sample o times `scale(o)`, which has the 1/n_fft. The imaginary parts of
// the first and the last bin do not count.
struct RowInverseDft {
    static constexpr const char *name = "row_inverse_dft";
    Required<64, 4096> n_fft; // a power of two
    Required<1, 1 << 20> rows;
    LW_PARAMS(n_fft, rows)

    template <class Of> struct Arguments {
        typename Of::Input x;         // [P(n_fft+2), rows]
        typename Of::Weight twiddles; // [frame_twiddles(n_fft)]
        typename Of::Weight scale;    // [n_fft]
        typename Of::Output y;        // [n_fft, rows]
        LW_ARGUMENTS(x, twiddles, scale, y)
    };
};

// Spectra of taps, computed in float64 when a model is opened. A two-sided kernel has taps in both
// directions. They are transformed as k0[n] - i*k1[length-1-n].
struct Spectrum {
    static constexpr const char *name = "spectrum";
    Required<4, 1 << 22> length;       // a product of 2, 3 and 5
    Default<1, 1, 1 << 16> partitions; // 1 of a two-sided kernel
    Optional<1, 1 << 22> rows;         // taps of a partition, at most length; absent: length
    Required<1, 1 << 24> taps;         // at most partitions*rows
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Flag two_sided;
    Flag lanes; // fewer than 16 channels: all in one call, in groups of 16 bins
    Flag dense; // with lanes: k is [1, channels, copies, taps], without lanes that have no channel
    LW_PARAMS(length, partitions, rows, taps, copies, channels, two_sided, lanes, dense)

    template <class Of> struct Arguments {
        // [T, copies (:P(channels)), taps (:...)], one channel tile per call. Two-sided: 2*copies, forward
        // kernels k0 then backward kernels k1
        typename Of::Input k;
        typename Of::Weight twiddles; // f64 [right_angle_twiddles(length)]
        // [T, 2, partitions, length, copies]; lanes: [16, 2, partitions, length/16, copies, channels]
        typename Of::Output spectrum;
        LW_ARGUMENTS(k, twiddles, spectrum)
    };
};

// The same for long_conv_polyphase and long_conv_overlap_add_phases. polyphase.h gives the order of a group
// of 64.
struct SpectrumOfPhases {
    static constexpr const char *name = "spectrum_of_phases";
    Required<256, 1 << 22> length; // a multiple of 256, and a product of 2, 3 and 5
    Required<1, 1 << 24> taps;     // at most length
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Optional<1, 64> stored_copies; // of k, per side, at least copies; absent: copies
    Flag two_sided;
    Flag dense; // fewer than 16 channels: k is [channels, copies, taps], without lanes that have no channel
    LW_PARAMS(length, taps, copies, channels, stored_copies, two_sided, dense)

    template <class Of> struct Arguments {
        typename Of::Input k;         // as of spectrum, with stored_copies
        typename Of::Weight twiddles; // f64 [polyphase_twiddles(length)]
        typename Of::Output spectrum; // [64, 2, length/64, copies, min(channels, 16)]
        LW_ARGUMENTS(k, twiddles, spectrum)
    };
};

// The spectrum of long_conv_registers or four_step_rows: the points of `spectrum` in the order of the
// threads. With one channel the copies are the lanes.
struct SpectrumByThreads {
    static constexpr const char *name = "spectrum_by_threads";
    Required<4, 1 << 22> length;
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    Required<2, 1 << 22> slots;   // of a worker, for four_step_rows of all rows of the matrix; even
    Required<1, 1 << 20> workers; // of a workgroup, whose threads are workers*lanes
    Required<1, 1 << 10> lanes;   // of a workgroup; they divide those of a row
    LW_PARAMS(length, copies, channels, slots, workers, lanes)

    template <class Of> struct Arguments {
        typename Of::Input spectrum;    // [T, 2, length, copies, tiles]
        typename Of::Weight order;      // i32 [workers, slots] (register_spectrum_order)
        typename Of::Output by_threads; // [4, threads, slots/2, copies, tiles]
        LW_ARGUMENTS(spectrum, order, by_threads)
    };
};

// The spectrum of long_conv_fused whose rows lie channel by channel.
struct SpectrumByChannel {
    static constexpr const char *name = "spectrum_by_channel";
    Required<4, 1 << 22> length; // a product of 2, 3 and 5
    Default<1, 1, 64> copies;
    Required<1, 1 << 20> channels;
    LW_PARAMS(length, copies, channels)

    template <class Of> struct Arguments {
        typename Of::Input spectrum; // [T, 2, length, copies, tiles]
        // [length, 2, copies, P(channels)], bins in the order of last_digit_first
        typename Of::Output by_channel;
        LW_ARGUMENTS(spectrum, by_channel)
    };
};

// Circular convolution with static taps, and with taps that the run makes (`adaptive`).
struct CircularConv {
    static constexpr const char *name = "circular_conv";
    Required<4, 1 << 22> length; // of the transform, a product of 2, 3 and 5
    Required<1, 1 << 22> rows;   // at most length
    Required<1, 1 << 20> channels;
    Flag adaptive;
    Real<Range::not_negative> scale; // of h
    Flag all;                        // GPU: all channels in one call, needed above 16
    LW_PARAMS(length, rows, channels, adaptive, scale, all)

    template <class Of> struct Arguments {
        typename Of::Input u; // [T, rows:P(channels)]; all: [P(channels), rows]
        typename Of::Input h; // as u, with adaptive
        // [T, 2, length]: right-angle spectrum of the static taps; all: [T, 2, length, tiles]. Rows channel
        // by channel: [length, 2, P(channels)]
        typename Of::Weight fixed;
        typename Of::Weight twiddles; // [right_angle_twiddles(length)]; rows channel by channel: by factor
        typename Of::Output y;        // as u: the real part plus the rows that wrap around
        LW_ARGUMENTS(u, h, fixed, twiddles, y)
    };
};

// GPU only: the same with the points in the registers of the threads.
struct CircularConvRegisters {
    static constexpr const char *name = "circular_conv_registers";
    Required<4, 1 << 22> length; // as of long_conv_registers, the rows too
    Required<1, 1 << 20> channels;
    Flag adaptive;
    Real<Range::not_negative> scale; // of h; 0 without adaptive
    LW_PARAMS(length, channels, adaptive, scale)

    template <class Of> struct Arguments {
        typename Of::Input u; // [P(channels), length]
        typename Of::Input h; // as u, with adaptive
        // [4, threads, slots/2, tiles]: right-angle spectrum of the static taps, in the order of
        // register_spectrum_order
        typename Of::Weight fixed;
        typename Of::Weight roots; // [4, fours] (register_roots)
        typename Of::Output y;     // as u
        LW_ARGUMENTS(u, h, fixed, roots, y)
    };
};

// Fourier or cosine transform of real rows, any length, natural order. A spectrum has 2 parts (Fourier) or 1,
// and length/2 + 1 bins (cosine: length).
struct SequenceTransform {
    static constexpr const char *name = "sequence_transform";
    Choice<"fourier", "cosine"> transform;
    Flag all; // GPU: all channels in one call, needed above 16
    Required<1, 1 << 22> length;
    Required<1, 1 << 20> channels;
    Real<Range::positive> scale;
    Required<1, 1 << 22> rows;     // at most length, zeros follow; cosine: length
    Required<1, 1 << 23> out_rows; // at least the bins
    Flag magnitude;
    LW_PARAMS(transform, all, length, channels, scale, rows, out_rows, magnitude)

    template <class Of> struct Arguments {
        typename Of::Input x; // [T, rows:P(channels)]; all: [P(channels), rows]
        // [real_twiddles(length)], on a GPU shared_root_values(length) where these fit
        typename Of::Weight twiddles;
        typename Of::Weight cosines; // [2, length] (cosine_roots), cosine
        // [T, parts:P(channels), out_rows:parts*P(channels)], one part with magnitude; all: of P(channels)
        // lanes. Rows behind the last bin are zero
        typename Of::Output y;
        LW_ARGUMENTS(x, twiddles, cosines, y)
    };
};

// Inverse of it, with an optional multiplication: of u * (fixed + h), or of h.
struct SequenceInverse {
    static constexpr const char *name = "sequence_inverse";
    Choice<"fourier", "cosine"> transform;
    Flag all; // GPU: all channels in one call, needed above 16
    Required<1, 1 << 22> length;
    Required<1, 1 << 20> channels;
    Real<Range::positive> scale;
    Required<1, 1 << 22> rows; // at most length
    Default<0, 0, 2> parts;    // of h; 0: none. At most those of the transform
    Flag product;
    LW_PARAMS(transform, all, length, channels, scale, rows, parts, product)

    template <class Of> struct Arguments {
        typename Of::Input u;         // [T, parts:P, length:parts*P], with product. Only the bins are read
        typename Of::Input h;         // the same with its own parts, with parts
        typename Of::Weight fixed;    // [T, parts, bins], with product; all: [T, parts, bins, tiles]
        typename Of::Weight twiddles; // as of sequence_transform
        typename Of::Weight cosines;  // as of sequence_transform
        typename Of::Output y;        // [T, rows:P(channels)]; all: [P(channels), rows]
        LW_ARGUMENTS(u, h, fixed, twiddles, cosines, y)
    };
};

// Activation and product of two spectra in the Orchid kernel network: conj(k) times the activated q.
struct Correlate {
    static constexpr const char *name = "correlate";
    Required<1, 1 << 20> channels;
    Required<1, 2> parts;
    Required<1, 1 << 23> rows;
    Choice<"id", "gelu", "relu", "sigmoid", "silu", "tanh"> activation;
    Flag magnitude; // of q alone, else its parts
    LW_PARAMS(channels, parts, rows, activation, magnitude)

    template <class Of> struct Arguments {
        typename Of::Input k;  // [P(channels), parts, rows]
        typename Of::Input q;  // as k
        typename Of::Output y; // as k
        LW_ARGUMENTS(k, q, y)
    };
};

// Small grouped convolution of the Orchid kernel network.
struct GroupedConv {
    static constexpr const char *name = "grouped_conv";
    Required<1, 1 << 20> channels;
    Required<1, 2> inputs, outputs; // per group
    Required<1, 4095> taps;         // odd
    Required<1, 1 << 23> rows;
    Required<1, 1 << 23> used;                   // at most rows
    Choice<"channel", "pairs", "halves"> groups; // pairs and halves: of two inputs
    LW_PARAMS(channels, inputs, outputs, taps, rows, used, groups)

    template <class Of> struct Arguments {
        typename Of::Input x;     // [P(channels), inputs, rows]
        typename Of::Weight w;    // [P(channels), outputs, inputs, taps]
        typename Of::Weight bias; // [P(channels), outputs]
        typename Of::Output y;    // [P(channels), outputs, rows], zero from row used on
        LW_ARGUMENTS(x, w, bias, y)
    };
};

} // namespace longwave::schedules::contract
