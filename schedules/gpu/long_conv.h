// A long convolution whose points stay in registers: one dispatch, one workgroup for some channels
// of all rows. The spectrum decides whether it is causal or two-sided. A circular one adds the
// imaginary parts of the results: what lies beyond the last row is there (twiddles.h).
#pragma once
#include "schedules/contract/register_transform.h"
#include "schedules/gpu/program.h"
#include <functional>

namespace longwave::gpu {

struct LongConvSizes {
    uint32_t rows = 0;   // at most the length
    uint32_t row = 0;    // channels of a row of u with their padding; 1: the copies are the lanes
    uint32_t copies = 1; // kernels of a channel
    // u and y lie [channel][row]. The form then has one lane, so that threads run along the rows.
    bool channel_major = false;
    // Of as many rows as points: what lies beyond the last row comes round to the first.
    bool circular = false;
    // The kernel is `spectrum` plus so many times the spectrum of h, a further input like u. 0: the
    // buffers are those of u alone.
    float scale_of_h = 0;
};

// Where a result lies: channel (0 where the copies are the lanes), copy and row.
struct ResultPlace {
    Uint channel, copy, row;
};
// The value that is stored instead of a sum.
using Finish = std::function<Float(const Float &sum, const ResultPlace &at)>;
// Declares the buffers that Finish reads.
using DeclareFinish = std::function<Finish(Program &)>;

// Buffers, in order:
//   u [row, rows], and h where there is one; row by row or channel by channel
//   spectrum, fours of [threads, slots / 2, copies, tiles] in register_spectrum_order()
//   roots, fours
//   those of `finish`
//   y [row, copies, rows], as u lies
Program long_conv(const schedules::RegisterForm &form, const LongConvSizes &sizes,
                  const DeclareFinish &finish = {});

} // namespace longwave::gpu
