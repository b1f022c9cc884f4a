// The audio model with its run a second time, planned for a GPU: derived taps, constant and length
// scalars, clears, and a clear behind the end of a sequence.
#pragma once
#include "formats/artifact/modules_generated.h"
#include "tests/support/tiny_model.h"

namespace longwave::test {

enum : size_t { gpu_run = 3 }; // entry of gpu_model, behind those of audio_model

// The segment of a manifest whose modules' offsets count from its first module.
std::vector<uint8_t> modules_segment(fb::ModulesT manifest, const std::vector<uint8_t> &code);

// What gpu_model holds, for tests that break it.
fb::ModulesT gpu_manifest();
std::vector<uint8_t> gpu_code();
// The same with a variant of the FIR and two of the mean. Their code is that of the modules.
fb::ModulesT variants_manifest();

Draft gpu_model();
// gpu_model with a mixed entry: the FIR and the mean are the device's, the clears and what lies
// between the CPU's. Two submissions, two dispatches; what is moved in a run:
inline constexpr uint64_t mixed_moves = 288 + 256 + 256 + 4;
Draft mixed_model();
// Audio at 1 kHz in blocks of 4 ticks, one stream for the CPU and one for a GPU over the same ring
// of 16 ticks. Its output y is a FIR of 9 taps, a row a tick.
Draft gpu_stream_model();
Draft gpu_model(const fb::ModulesT &manifest); // the segment is the last
// gpu_stream_model with the FIR twice on the device, both in a chain: for rule V21. Its code does
// not compute them.
fb::ModulesT chain_manifest();
Draft chain_model(const fb::ModulesT &manifest);

} // namespace longwave::test
