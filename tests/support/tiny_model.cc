#include "tests/support/tiny_model.h"
#include "formats/artifact/features.h"
#include <cstdlib>
#include <cstring>

extern "C" const uint8_t lw_test_image[], lw_test_image_end[];

namespace longwave::test {
namespace {

using fb::ArgKind;
using fb::Elem;
using fb::Space;

std::vector<std::unique_ptr<fb::BindingT>> list() { return {}; }
template <class... Rest> std::vector<std::unique_ptr<fb::BindingT>> list(std::unique_ptr<fb::BindingT> first, Rest... rest) {
    auto result = list(std::move(rest)...);
    result.insert(result.begin(), std::move(first));
    return result;
}

std::unique_ptr<fb::Place> place(Space space, uint64_t offset, uint32_t slots = 1, uint64_t slot_bytes = 0, uint32_t slot_add = 0,
                                 uint64_t tile_bytes = 0) {
    return std::make_unique<fb::Place>(offset, slot_bytes, tile_bytes, slots, slot_add, space);
}

std::unique_ptr<fb::InputPortT> input_port(std::unique_ptr<fb::Place> at_place, uint32_t rows, uint32_t row_bytes) {
    auto port = std::make_unique<fb::InputPortT>();
    port->place = std::move(at_place);
    port->rows = rows;
    port->row_bytes = row_bytes;
    return port;
}

std::unique_ptr<fb::OutputPortT> output_port(std::string name, std::unique_ptr<fb::Place> at_place, uint32_t width, uint32_t rows, uint32_t num,
                                             uint32_t den, uint32_t period = 1, uint32_t phase = 0) {
    auto port = std::make_unique<fb::OutputPortT>();
    port->name = std::move(name);
    port->place = std::move(at_place);
    port->width = width;
    port->rows = rows;
    port->row_bytes = width * 4;
    port->period = period;
    port->phase = phase;
    port->clock_num = num;
    port->clock_den = den;
    return port;
}

Draft empty(std::string name) {
    Draft draft;
    draft.plan.name = std::move(name);
    draft.plan.producer = "tests";
    draft.segments.push_back({fb::SegmentKind::code, code_image()});
    auto variant = std::make_unique<fb::CodeVariantT>();
    const artifact::Host host = artifact::host();
    variant->target = host.machine == artifact::machine_aarch64 ? "arm64" : "x86-64";
    variant->machine = host.machine;
    variant->segment = 0;
    draft.plan.variants.push_back(std::move(variant));
    return draft;
}

void set_weights(Draft &draft, const std::vector<float> &values) {
    draft.segments.push_back({fb::SegmentKind::weights, as_bytes(values)});
    draft.plan.weights_bytes = values.size() * 4;
}

} // namespace

std::vector<uint8_t> Draft::bytes() const {
    // The plan's copy: write consumes its argument.
    auto written = artifact::write_unchecked(plan, segments);
    if (!written) abort();
    return *std::move(written);
}

std::vector<uint8_t> code_image() { return {lw_test_image, lw_test_image_end}; }

std::vector<uint8_t> as_bytes(const std::vector<float> &values) {
    std::vector<uint8_t> bytes(values.size() * 4);
    memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

fb::KernelArgT arg(ArgKind kind, Elem elem, std::vector<fb::Dim> dims) {
    fb::KernelArgT result;
    result.kind = kind;
    result.elem = elem;
    result.dims = std::move(dims);
    return result;
}

void add_kernel(Draft &draft, TestKernel which, std::string spec, std::vector<fb::KernelArgT> args, uint64_t scratch) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->spec = std::move(spec);
    for (fb::KernelArgT &a : args) kernel->args.push_back(std::make_unique<fb::KernelArgT>(std::move(a)));
    draft.plan.kernels.push_back(std::move(kernel));
    uint32_t offset;
    memcpy(&offset, lw_test_image + 4 * which, sizeof offset);
    for (auto &variant : draft.plan.variants) {
        variant->entry.push_back(offset);
        variant->scratch.push_back(scratch);
    }
}

std::unique_ptr<fb::BindingT> at(Space space, uint64_t offset, uint32_t slots, uint64_t slot_bytes, uint32_t slot_add, uint64_t tile_bytes) {
    auto binding = std::make_unique<fb::BindingT>();
    binding->place = place(space, offset, slots, slot_bytes, slot_add, tile_bytes);
    return binding;
}

static std::unique_ptr<fb::BindingT> scalar(fb::Scalar value) {
    auto binding = std::make_unique<fb::BindingT>();
    binding->scalar = std::make_unique<fb::Scalar>(value);
    return binding;
}
std::unique_ptr<fb::BindingT> constant(int32_t value) { return scalar({fb::ScalarKind::constant, value, 0, 0, 1, 0}); }
std::unique_ptr<fb::BindingT> slot(uint32_t modulus, int32_t mul, int32_t value, uint32_t add) {
    return scalar({fb::ScalarKind::slot, value, mul, 0, modulus, add});
}
std::unique_ptr<fb::BindingT> length(int32_t limit, int32_t mul, uint32_t den) { return scalar({fb::ScalarKind::length, limit, mul, 0, den, 0}); }

std::unique_ptr<fb::StepT> call(std::string name, uint16_t kernel, std::vector<std::unique_ptr<fb::BindingT>> args) {
    auto step = std::make_unique<fb::StepT>();
    step->name = std::move(name);
    step->kernel = kernel;
    step->args = std::move(args);
    return step;
}

Draft audio_model() {
    Draft draft = empty("tiny-audio");
    auto input = std::make_unique<fb::InputT>();
    input->name = "audio";
    input->kind = fb::InputKind::audio;
    input->sample_rate = 1000;
    draft.plan.inputs.push_back(std::move(input));
    draft.plan.labels = {"one", "two", "three"};
    set_weights(draft, {0.5f, -0.25f, 0.75f, 1.0f, 0.125f, -0.5f, 0.3f, 0.2f, 0.9f, 0, 0, 0, 0, 0, 0, 0});
    draft.plan.derived_bytes = 64;

    enum : uint16_t { k_square, k_fir_stream, k_fir_run, k_sum, k_mean };
    const std::vector<fb::Dim> taps = {{audio_taps, 1}};
    add_kernel(draft, square, "square", {arg(ArgKind::input, Elem::f32, taps), arg(ArgKind::output, Elem::f32, taps)}, 64);
    add_kernel(draft, fir, "fir-stream",
               {arg(ArgKind::input, Elem::f32, {{16, 1}}), arg(ArgKind::input, Elem::f32, taps), arg(ArgKind::scalar, Elem::i32, {}),
                arg(ArgKind::output, Elem::f32, {{4, 1}})});
    add_kernel(draft, fir, "fir-run",
               {arg(ArgKind::input, Elem::f32, {{72, 1}}), arg(ArgKind::input, Elem::f32, taps), arg(ArgKind::scalar, Elem::i32, {}),
                arg(ArgKind::output, Elem::f32, {{64, 1}})});
    add_kernel(draft, running_sum, "sum",
               {arg(ArgKind::input, Elem::f32, {{8, 1}}), arg(ArgKind::input, Elem::f64, {{1, 1}}), arg(ArgKind::output, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}})});
    add_kernel(draft, mean, "mean",
               {arg(ArgKind::input, Elem::f32, {{1, 1}, {64, 1}}), arg(ArgKind::scalar, Elem::i32, {}), arg(ArgKind::output, Elem::f32, {{1, 1}})});
    draft.plan.kernels[k_fir_stream]->args[2]->high = 15;
    draft.plan.kernels[k_fir_run]->args[2]->high = 71;
    draft.plan.kernels[k_mean]->args[1]->high = 64;

    auto prepare = std::make_unique<fb::EntryT>();
    prepare->kind = fb::EntryKind::prepare;
    prepare->steps.push_back(call("taps", k_square, list(at(Space::weights, 0), at(Space::derived, 0))));
    draft.plan.entries.push_back(std::move(prepare));

    // state: input ring of 4 slots of 4 samples at 0 · ring of y, 2 slots of 4, at 64 · the sum at 96 · padding
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = audio_block;
    stream->period = 2;
    stream->state_bytes = 128;
    stream->arena_bytes = 64;
    stream->layout = 7;
    stream->inputs.push_back(input_port(place(Space::state, 0, 4, 16), 4, 4));
    stream->steps.push_back(call("fir", k_fir_stream, list(at(Space::state, 0), at(Space::derived, 0), slot(4, 4, 0), at(Space::state, 64, 2, 16))));
    auto sum = call("sum", k_sum, list(at(Space::state, 64), at(Space::state, 96), at(Space::state, 96), at(Space::arena, 0)));
    sum->period = 2;
    sum->phase = 1;
    stream->steps.push_back(std::move(sum));
    stream->outputs.push_back(output_port("y", place(Space::state, 64, 2, 16), 1, 4, 1, 1));
    stream->outputs.push_back(output_port("sums", place(Space::arena, 0), 3, 1, 1, 8, 2, 1));
    draft.plan.entries.push_back(std::move(stream));

    // arena: 8 samples of history, then the input, 72 in all · y at 320 · mean at 576
    auto run = std::make_unique<fb::EntryT>();
    run->kind = fb::EntryKind::run;
    run->block = audio_capacity;
    run->arena_bytes = 640;
    run->inputs.push_back(input_port(place(Space::arena, 32), 64, 4));
    auto history = std::make_unique<fb::StepT>();
    history->kind = fb::StepKind::zero;
    history->name = "history";
    history->bytes = 32;
    history->args.push_back(at(Space::arena, 0));
    run->steps.push_back(std::move(history));
    run->steps.push_back(call("fir", k_fir_run, list(at(Space::arena, 0), at(Space::derived, 0), constant(8), at(Space::arena, 320))));
    auto tail = std::make_unique<fb::StepT>();
    tail->kind = fb::StepKind::zero_tail;
    tail->name = "tail";
    tail->rows = 64;
    tail->row_bytes = 4;
    tail->args.push_back(at(Space::arena, 320));
    run->steps.push_back(std::move(tail));
    run->steps.push_back(call("mean", k_mean, list(at(Space::arena, 320), length(64), at(Space::arena, 576))));
    run->outputs.push_back(output_port("y", place(Space::arena, 320), 1, 64, 1, 1));
    run->outputs.push_back(output_port("mean", place(Space::arena, 576), 1, 1, 0, 1));
    draft.plan.entries.push_back(std::move(run));
    return draft;
}

Draft spotter_model() {
    Draft draft = empty("tiny-spotter");
    auto input = std::make_unique<fb::InputT>();
    input->name = "audio";
    input->sample_rate = 1000;
    draft.plan.inputs.push_back(std::move(input));
    draft.plan.labels = {"_silence_", "yes", "no"};
    set_weights(draft, {1, 0, 0, 0});
    add_kernel(draft, scale, "first-three",
               {arg(ArgKind::input, Elem::f32, {{3, 1}, {1, 10}}), arg(ArgKind::input, Elem::f32, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}, {1, 3}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 10;
    stream->state_bytes = 64;
    stream->arena_bytes = 64;
    stream->inputs.push_back(input_port(place(Space::state, 0), 10, 4));
    stream->steps.push_back(call("copy", 0, list(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("probabilities", place(Space::arena, 0), 3, 1, 1, 10));
    draft.plan.entries.push_back(std::move(stream));
    draft.plan.decision = std::make_unique<fb::DecisionT>();
    fb::DecisionT &decision = *draft.plan.decision;
    decision.output = "probabilities";
    decision.ignore = {0};
    decision.default_threshold = 0.8f;
    auto no = std::make_unique<fb::ThresholdT>();
    no->label = 2;
    no->value = 0.6f;
    decision.thresholds.push_back(std::move(no));
    decision.smoothing_ms = 30;
    decision.min_count = 2;
    decision.release = 0.5f;
    decision.refractory_ms = 100;
    return draft;
}

Draft failing_model() {
    Draft draft = empty("tiny-failure");
    auto input = std::make_unique<fb::InputT>();
    input->name = "features";
    input->kind = fb::InputKind::features;
    draft.plan.inputs.push_back(std::move(input));
    add_kernel(draft, fuse, "fuse", {arg(ArgKind::input, Elem::f32, {{2, 1}}), arg(ArgKind::output, Elem::f32, {{2, 1}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 2;
    stream->state_bytes = 64;
    stream->arena_bytes = 64;
    stream->inputs.push_back(input_port(place(Space::state, 0), 2, 4));
    stream->steps.push_back(call("layer.0/fuse", 0, list(at(Space::state, 0), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("y", place(Space::arena, 0), 1, 2, 1, 1));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

Draft timing_model(const Timing &timing) {
    Draft draft = empty("tiny-timing");
    auto input = std::make_unique<fb::InputT>();
    input->name = "features";
    input->kind = fb::InputKind::features;
    draft.plan.inputs.push_back(std::move(input));
    add_kernel(draft, number, "number", {arg(ArgKind::scalar, Elem::i32, {}), arg(ArgKind::output, Elem::f32, {{1, 1}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = timing.block;
    stream->period = timing.period;
    stream->state_bytes = 64 * ((timing.block + 15) / 16);
    stream->arena_bytes = 64;
    stream->inputs.push_back(input_port(place(Space::state, 0), timing.block, 4));
    auto step = call("count", 0, list(slot(timing.modulus, timing.mul, timing.value, timing.add), at(Space::arena, 0)));
    step->period = timing.period;
    step->phase = timing.phase;
    stream->steps.push_back(std::move(step));
    stream->outputs.push_back(output_port("n", place(Space::arena, 0), 1, 1, 1, timing.block * timing.period, timing.period, timing.phase));
    stream->outputs.back()->delay = timing.delay;
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

Draft token_model() {
    Draft draft = empty("tiny-tokens");
    auto input = std::make_unique<fb::InputT>();
    input->name = "ids";
    input->kind = fb::InputKind::tokens;
    input->vocabulary = 5;
    draft.plan.inputs.push_back(std::move(input));
    set_weights(draft, {0, 1, 2, 0, 10, 11, 12, 0, 20, 21, 22, 0, 30, 31, 32, 0, 40, 41, 42, 0});
    const std::vector<fb::Dim> table = {{3, 1}, {5, 4}};
    add_kernel(draft, embedding, "embed-2",
               {arg(ArgKind::input, Elem::i32, {{2, 1}}), arg(ArgKind::input, Elem::f32, table), arg(ArgKind::output, Elem::f32, {{3, 1}, {2, 3}})});
    add_kernel(draft, embedding, "embed-8",
               {arg(ArgKind::input, Elem::i32, {{8, 1}}), arg(ArgKind::input, Elem::f32, table), arg(ArgKind::output, Elem::f32, {{3, 1}, {8, 3}})});

    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 2;
    stream->state_bytes = 64;
    stream->arena_bytes = 64;
    stream->inputs.push_back(input_port(place(Space::state, 0), 2, 4));
    stream->steps.push_back(call("embed", 0, list(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("rows", place(Space::arena, 0), 3, 2, 1, 1));
    draft.plan.entries.push_back(std::move(stream));

    auto run = std::make_unique<fb::EntryT>();
    run->kind = fb::EntryKind::run;
    run->block = 8;
    run->arena_bytes = 192;
    run->inputs.push_back(input_port(place(Space::arena, 0), 8, 4));
    run->steps.push_back(call("embed", 1, list(at(Space::arena, 0), at(Space::weights, 0), at(Space::arena, 64))));
    run->outputs.push_back(output_port("rows", place(Space::arena, 64), 3, 8, 1, 1));
    draft.plan.entries.push_back(std::move(run));
    return draft;
}

} // namespace longwave::test
