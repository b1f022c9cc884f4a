// Streams of compiled models, alone and many at once on a Vulkan device.
#pragma once
#include "tests/support/vulkan_models.h"

namespace longwave::test {

cli::Stream stream_of(const cli::Model &model, uint32_t entry = 0, lw_sample_format format = LW_F32);
void push(const cli::Stream &stream, const float *x, size_t ticks);
// The rows that come without more input, of all outputs in the order in which they come.
void pull(const cli::Stream &stream, std::vector<float> &rows);
std::vector<uint8_t> saved(const cli::Stream &stream);

// What the device counted in one lw_device_flush.
struct Flush {
    uint64_t dispatches = 0, submissions = 0, recordings = 0;
};
Flush flush();

// So many streams of an entry, some up to four blocks ahead, take noise of their own block by block
// and are flushed together after each: every one gives the bits of a stream alone.
struct Crowd {
    uint32_t streams = 1, entry = 0;
    size_t blocks = 4;
    float amplitude = 1;
};
// The last of the flushes, in which all of them have a block.
Flush many_have_the_bits_of_one(const cli::Model &gpu, const Crowd &crowd);

// How many streams at once the tests are asked for (LONGWAVE_TEST_STREAMS), else `otherwise`.
uint32_t wanted_streams(uint32_t otherwise);

} // namespace longwave::test
