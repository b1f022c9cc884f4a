// Small artifacts made by hand from the kernels in kernels.c: what the format and runtime tests
// open, break and run.
#pragma once
#include "formats/artifact/write.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::test {

using artifact::SegmentData;

enum TestKernel : uint16_t {
    scale,
    fir,
    running_sum,
    square,
    embedding,
    mean,
    number,
    fuse,
    accumulate,
    test_kernels
};

// A plan and its segments, still open to change.
struct Draft {
    fb::PlanT plan;
    std::vector<SegmentData> segments;

    std::vector<uint8_t> bytes() const; // unchecked: tests write broken ones too
};

// Audio at 1 kHz, blocks of 4 ticks. Weights hold 9 taps, 64 bytes aligned; prepare squares them
// into the derived space. Outputs of stream and run:
//   y     one row of 1 a tick: FIR of the squared taps
//   sums  one row of 3 for 8 ticks (period 2, phase 1): running sum of y, plus 0, 1, 2
// Run (capacity 64) has y and, at clock 0/1, the mean of y over its length.
Draft audio_model();
inline constexpr uint32_t audio_block = 4, audio_capacity = 64, audio_taps = 9;

// The audio model whose running sum begins with 2.5.
Draft begun_model();

// The audio model with a family of streams over one state: blocks 4 (the default), 2 and 8. That of
// 8 hears through a cache: its copies of the last two blocks, in slots of their own, are rebuilt
// from the input's ring when it takes a stream over. The run has `sums` as well: tiles of 8 ticks,
// one after another through one sum.
Draft family_model();

// Tokens, vocabulary 5, block 2; output: the id's embedding of width 3. A run of capacity 8 gives
// the same.
Draft token_model();

// Audio at 1 kHz, blocks of 10 ticks, labels "_silence_", "yes" and "no": the first three samples
// of a block are the probabilities of the row it brings. Decision: threshold 0.8 (no: 0.6),
// smoothing 30 ms, min_count 2, release 0.5, refractory 100 ms, _silence_ ignored.
Draft spotter_model();

// Audio in blocks of `hop` ticks: the first sample of a block is the probability of speech of the
// row that it brings.
Draft speech_model(uint32_t rate = 16000, uint32_t hop = 512);
// The same with kernels for 2 and for 4 streams at once.
Draft together_model();

// A stream of 2 ticks a block whose only output copies them and whose kernel fails when the first
// is above 1000.
Draft failing_model();

// A stream of `block` ticks whose output is the number its scalar takes in each firing: for
// periods, phases, rings of places and delays.
struct Timing {
    uint32_t block = 1, period = 1, phase = 0, delay = 0, modulus = 1000;
    int32_t mul = 1, value = 0;
    uint32_t add = 0;
};
Draft timing_model(const Timing &timing);

// The pieces, for tests that build their own.
Draft empty_draft(std::string name); // the test kernels' code, and nothing that uses it
void set_weights(Draft &draft, const std::vector<float> &values);
void add_input(Draft &draft, std::string name, fb::InputKind kind, uint32_t rate_or_vocabulary = 0);
fb::KernelArgT arg(fb::ArgKind kind, fb::Elem elem, std::vector<fb::Dim> dims);
fb::KernelArgT scalar_arg(int32_t high, int32_t multiple = 1);
void add_kernel(Draft &draft, TestKernel which, std::string spec, std::vector<fb::KernelArgT> args,
                uint64_t scratch = 0);
// The next field of the state, at the next multiple of 64.
void add_field(Draft &draft, std::string layer, std::string name, fb::StateKind kind,
               std::vector<uint32_t> dims, fb::Elem elem = fb::Elem::f32);

// A golden vector of run or stream: `rows` of one input and one output, both one float wide, one
// behind the other from the beginning of the golden segment.
void add_golden(Draft &draft, uint16_t entry, uint32_t rows, float error_limit);

using Bindings = std::vector<std::unique_ptr<fb::BindingT>>;
std::unique_ptr<fb::Place> place(fb::Space space, uint64_t offset, uint32_t slots = 1,
                                 uint64_t slot_bytes = 0, uint32_t slot_add = 0, uint64_t tile_bytes = 0);
std::unique_ptr<fb::BindingT> at(fb::Space space, uint64_t offset, uint32_t slots = 1,
                                 uint64_t slot_bytes = 0, uint32_t slot_add = 0, uint64_t tile_bytes = 0);
std::unique_ptr<fb::BindingT> constant(int32_t value);
std::unique_ptr<fb::BindingT> slot(uint32_t modulus, int32_t mul, int32_t value, uint32_t add = 0);
std::unique_ptr<fb::BindingT> length(int32_t limit, int32_t mul = 1, uint32_t den = 1);
template <class... Rest> Bindings bindings(Rest... rest) {
    Bindings result;
    (result.push_back(std::move(rest)), ...);
    return result;
}
std::unique_ptr<fb::StepT> call(std::string name, uint16_t kernel, Bindings args);
std::unique_ptr<fb::StepT> zero(std::string name, fb::Space space, uint64_t offset, uint64_t bytes);
std::unique_ptr<fb::InputPortT> input_port(std::unique_ptr<fb::Place> at_place, uint32_t rows,
                                           uint32_t row_bytes);
std::unique_ptr<fb::OutputPortT> output_port(std::string name, std::unique_ptr<fb::Place> at_place,
                                             uint32_t width, uint32_t rows, uint32_t num, uint32_t den,
                                             uint32_t period = 1, uint32_t phase = 0);
std::vector<uint8_t> code_image();
std::vector<uint8_t> as_bytes(const std::vector<float> &values);

} // namespace longwave::test
