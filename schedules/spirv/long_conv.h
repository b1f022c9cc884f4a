// A long convolution whose points stay in registers: one dispatch, one workgroup for some channels
// of all rows. The spectrum decides whether it is causal or two-sided.
#pragma once
#include "schedules/contract/register_transform.h"
#include "schedules/spirv/program.h"
#include <functional>

namespace longwave::gpu {

struct LongConvSizes {
    uint32_t rows = 0;    // at most the length
    uint32_t row = 0;     // channels of a row of u with their padding; 1: the copies are the lanes
    uint32_t copies = 1;  // kernels of a channel
};

// Where a result lies: channel (0 where the copies are the lanes), copy and row.
struct ResultPlace {
    Uint channel, copy, row;
};
// The value that is stored instead of a sum.
using Finish = std::function<Float(const Float &sum, const ResultPlace &at)>;
// Declares the buffers that Finish reads.
using DeclareFinish = std::function<Finish(Program &)>;

// Buffers: u [row, rows]; spectrum, fours of [threads, points / 2, copies, tiles] in the order of
// register_spectrum_order(); roots, fours; those of `finish`; y [row, copies, rows].
Program long_conv(const schedules::RegisterForm &form, const LongConvSizes &sizes,
                  const DeclareFinish &finish = {});

} // namespace longwave::gpu
