// Small artifacts with audio in and audio out, made by hand from the kernels in kernels.c. What
// comes out is what went in, late by a number of samples that is known.
#pragma once
#include "tests/support/tiny_model.h"

namespace longwave::test {

// A stream of `block` ticks whose rows are `width` samples: those of `lag` + `delay` ticks before.
// The output says both numbers, so audio streams take them off. `width` divides `block`.
struct Late {
    uint32_t rate = 16000, block = 8, width = 1, lag = 0, delay = 0;
};
Draft late_model(const Late &late = {});

// Its output has twice the rate: each sample comes twice. Halves: each second sample.
Draft doubled_model(uint32_t block = 8);
Draft halved_model(uint32_t block = 8);

// The sum of all samples so far. Once it is infinite it stays so until the stream is reset.
Draft summed_model(uint32_t block = 8);

// Two outputs of audio, "clean" and "noise", and one of numbers, "level".
Draft several_filters_model();

// Its kernel fails when the first sample of a block is above 1000.
Draft failing_filter_model(uint32_t block = 8);

} // namespace longwave::test
