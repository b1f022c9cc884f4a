// A long convolution as the transform of a matrix (schedules/contract/four_step.h), causal,
// two-sided or circular, whose points stay in registers: three dispatches, or four with a kernel made
// in the run.
//
// Row n of u is point (n / rows.length, n % rows.length) of the matrix. Points between dispatches lie
// as rows do, first all real parts and then all imaginary ones: position b · rows.length + c is
// point c of block b.
#pragma once
#include "schedules/contract/four_step.h"
#include "schedules/gpu/long_conv.h"

namespace longwave::gpu {

struct FourStepSizes {
    uint32_t rows = 0;       // at most the length
    uint32_t row = 0;        // channels of a row of u with their padding; 1: the copies are the lanes
    uint32_t copies = 1;     // kernels of a channel
    bool circular = false;   // of as many rows as points
    float scale_of_made = 0; // as LongConvSizes::scale_of_h
};

// Transforms each column. Buffers: u [row, rows], roots, points [row, length, 2].
Program four_step_columns(const schedules::FourStepForm &form, const FourStepSizes &sizes);

// Transforms each row of the matrix, multiplies it with the spectrum and transforms it back. Buffers:
//   points [row, length, 2], and made, the points of the other kernel, where there is one
//   spectrum, fours of [threads, slots / 2, columns.length, copies, tiles] in
//     register_spectrum_order()
//   roots
//   products [row, copies, length, 2]
Program four_step_rows(const schedules::FourStepForm &form, const FourStepSizes &sizes);

// Transforms each column back. Buffers: products, roots, those of `finish`, y [row, copies, rows].
Program four_step_columns_back(const schedules::FourStepForm &form, const FourStepSizes &sizes,
                               const DeclareFinish &finish = {});

} // namespace longwave::gpu
