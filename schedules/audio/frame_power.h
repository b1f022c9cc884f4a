// What the schedules of frame_power for CPUs and GPUs share.
#pragma once
#include "schedules/contract/kernels/audio.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/builder.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

struct FramePower {
    const contract::FramePower::Arguments<contract::Names> a = contract::names_of<contract::FramePower>();
    int n_fft, window, hop, rows, ring, chunk, points, bins;
    FrameTables tables;
    Shape y_shape;
    Halide::ImageParam samples, weights, table;
    Halide::Expr position;
};

FramePower declare_frame_power(KernelBuilder &k, const contract::FramePower &params);

// |X|² of bin i, from the transform Z of the even samples and i times the odd ones: X(k) = E + w·O
// with E = (Z(k) + conj Z(−k))/2, O = (Z(k) − conj Z(−k))/2i.
Halide::Expr power_of(const FramePower &p, const Complex &z, const Complex &mirrored, const Halide::Expr &i);

void build_frame_power_on_gpu(KernelBuilder &k, const contract::FramePower &params); // gpu_frame_power.cc

} // namespace longwave::schedules
