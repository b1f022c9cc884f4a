#include "tests/support/tiny_model.h"
#include "formats/artifact/geometry.h"

namespace longwave::test {
namespace {

using fb::ArgKind;
using fb::Elem;
using fb::Space;

constexpr uint64_t ring = 0, y_rows = 64, sum = 128; // fields of the audio models' state

std::unique_ptr<fb::EntryT> entry(fb::EntryKind kind, uint32_t block, uint64_t arena_bytes) {
    auto result = std::make_unique<fb::EntryT>();
    result->kind = kind;
    result->block = block;
    result->arena_bytes = arena_bytes;
    return result;
}

// FIR over a ring of `rows`, a block at a time.
std::vector<fb::KernelArgT> fir_args(uint32_t rows, uint32_t block, int32_t high, int32_t multiple) {
    return {arg(ArgKind::input, Elem::f32, {{rows, 1}}), arg(ArgKind::input, Elem::f32, {{audio_taps, 1}}),
            scalar_arg(high, multiple), arg(ArgKind::output, Elem::f32, {{block, 1}})};
}

std::unique_ptr<fb::StepT> sum_step(uint32_t period) {
    auto step =
        call("sum", 3, bindings(at(Space::state, y_rows), at(Space::state, sum), at(Space::arena, 0)));
    step->period = period;
    step->phase = period - 1;
    return step;
}

// A stream of `block` ticks over the audio models' state, still without its FIR.
std::unique_ptr<fb::EntryT> audio_stream(uint32_t block) {
    const uint32_t slots = 8 / block, period = slots;
    auto stream = entry(fb::EntryKind::stream, block, 64);
    stream->period = period;
    stream->inputs.push_back(input_port(place(Space::state, ring, 2 * slots, 4 * block), block, 4));
    stream->outputs.push_back(
        output_port("y", place(Space::state, y_rows, slots, 4 * block), 1, block, 1, 1));
    stream->outputs.push_back(output_port("sums", place(Space::arena, 0), 3, 1, 1, 8, period, period - 1));
    return stream;
}

std::unique_ptr<fb::EntryT> audio_run() {
    // arena: 8 samples of history, then the input, 72 in all · y at 320 · mean at 576
    auto run = entry(fb::EntryKind::run, audio_capacity, 640);
    run->inputs.push_back(input_port(place(Space::arena, 32), 64, 4));
    run->steps.push_back(zero("history", Space::arena, 0, 32));
    run->steps.push_back(call(
        "fir", 2, bindings(at(Space::arena, 0), at(Space::derived, 0), constant(8), at(Space::arena, 320))));
    auto tail = std::make_unique<fb::StepT>();
    tail->kind = fb::StepKind::zero_tail;
    tail->name = "tail";
    tail->rows = 64;
    tail->row_bytes = 4;
    tail->args.push_back(at(Space::arena, 320));
    run->steps.push_back(std::move(tail));
    run->steps.push_back(call("mean", 4, bindings(at(Space::arena, 320), length(64), at(Space::arena, 576))));
    run->outputs.push_back(output_port("y", place(Space::arena, 320), 1, 64, 1, 1));
    run->outputs.push_back(output_port("mean", place(Space::arena, 576), 1, 1, 0, 1));
    return run;
}

} // namespace

Draft audio_model() {
    Draft draft = empty_draft("tiny-audio");
    add_input(draft, "audio", fb::InputKind::audio, 1000);
    draft.plan.labels = {"one", "two", "three"};
    set_weights(draft, {0.5f, -0.25f, 0.75f, 1.0f, 0.125f, -0.5f, 0.3f, 0.2f, 0.9f, 0, 0, 0, 0, 0, 0, 0});
    draft.plan.derived_bytes = 64;
    add_field(draft, "input", "audio", fb::StateKind::history, {16, 1});
    add_field(draft, "fir", "y", fb::StateKind::history, {8, 1});
    add_field(draft, "sum", "sum", fb::StateKind::carry, {1}, Elem::f64);

    const std::vector<fb::Dim> taps = {{audio_taps, 1}};
    add_kernel(draft, square, "square",
               {arg(ArgKind::input, Elem::f32, taps), arg(ArgKind::output, Elem::f32, taps)}, 64);
    add_kernel(draft, fir, "fir-stream", fir_args(16, 4, 15, 4));
    add_kernel(draft, fir, "fir-run", fir_args(72, 64, 71, 1));
    add_kernel(draft, running_sum, "sum",
               {arg(ArgKind::input, Elem::f32, {{8, 1}}), arg(ArgKind::inout, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}})});
    add_kernel(draft, mean, "mean",
               {arg(ArgKind::input, Elem::f32, {{1, 1}, {64, 1}}), scalar_arg(64),
                arg(ArgKind::output, Elem::f32, {{1, 1}})});

    auto prepare = entry(fb::EntryKind::prepare, 0, 0);
    prepare->steps.push_back(call("taps", 0, bindings(at(Space::weights, 0), at(Space::derived, 0))));
    draft.plan.entries.push_back(std::move(prepare));

    auto stream = audio_stream(audio_block);
    stream->steps.push_back(call("fir", 1,
                                 bindings(at(Space::state, ring), at(Space::derived, 0), slot(4, 4, 0),
                                          at(Space::state, y_rows, 2, 16))));
    stream->steps.push_back(sum_step(2));
    draft.plan.entries.push_back(std::move(stream));
    draft.plan.entries.push_back(audio_run());
    return draft;
}

Draft begun_model() {
    Draft draft = audio_model();
    constexpr double first = 2.5;
    constexpr uint64_t behind_taps = 40; // the weights end with zeros
    memcpy(draft.segments.back().bytes.data() + behind_taps, &first, sizeof first);
    draft.plan.state[2]->initial = behind_taps;
    return draft;
}

Draft family_model() {
    Draft draft = audio_model();
    draft.plan.name = "tiny-family";
    const uint16_t fir_2 = 5, fir_8 = 6, copy = 7;
    add_kernel(draft, fir, "fir-2", fir_args(16, 2, 14, 2));
    add_kernel(draft, fir, "fir-8", fir_args(16, 8, 8, 8));
    const std::vector<fb::Dim> block = {{8, 1}, {1, 8}};
    add_kernel(draft, scale, "copy",
               {arg(ArgKind::input, Elem::f32, block), arg(ArgKind::input, Elem::f32, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, block)});

    auto small = audio_stream(2);
    small->steps.push_back(call("fir", fir_2,
                                bindings(at(Space::state, ring), at(Space::derived, 0), slot(8, 2, 0),
                                         at(Space::state, y_rows, 4, 8))));
    small->steps.push_back(sum_step(4));
    draft.plan.entries.push_back(std::move(small));

    const auto hear = [&] { // the weight at 12 is 1
        return call(
            "hear", copy,
            bindings(at(Space::state, ring, 2, 32), at(Space::weights, 12), at(Space::cache, 0, 2, 32)));
    };
    auto large = audio_stream(8);
    large->cache_bytes = 64;
    large->steps.push_back(hear());
    large->steps.push_back(
        call("fir", fir_8,
             bindings(at(Space::cache, 0), at(Space::derived, 0), slot(2, 8, 0), at(Space::state, y_rows))));
    large->steps.push_back(sum_step(1));
    large->rebuild.push_back(hear());
    large->rebuild[0]->replay_from = 1;
    draft.plan.entries.push_back(std::move(large));

    // arena of the run: the sum at 640 · sums at 704
    fb::EntryT &run = *draft.plan.entries[2];
    run.arena_bytes = 832;
    run.steps.push_back(zero("sum", Space::arena, 640, 8));
    auto sums = call("sum", 3,
                     bindings(at(Space::arena, 320, 1, 0, 0, 32), at(Space::arena, 640),
                              at(Space::arena, 704, 1, 0, 0, 12)));
    sums->tiles = 8;
    sums->ordered = true;
    run.steps.push_back(std::move(sums));
    run.outputs.push_back(output_port("sums", place(Space::arena, 704), 3, 8, 1, 8));
    return draft;
}

Draft spotter_model() {
    Draft draft = empty_draft("tiny-spotter");
    add_input(draft, "audio", fb::InputKind::audio, 1000);
    draft.plan.labels = {"_silence_", "yes", "no"};
    set_weights(draft, {1, 0, 0, 0});
    add_field(draft, "input", "audio", fb::StateKind::history, {10, 1});
    add_kernel(draft, scale, "first-three",
               {arg(ArgKind::input, Elem::f32, {{3, 1}, {1, 10}}), arg(ArgKind::input, Elem::f32, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}, {1, 3}})});
    auto stream = entry(fb::EntryKind::stream, 10, 64);
    stream->inputs.push_back(input_port(place(Space::state, 0), 10, 4));
    stream->steps.push_back(
        call("copy", 0, bindings(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
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

Draft speech_model(uint32_t rate, uint32_t hop) {
    Draft draft = empty_draft("tiny-speech");
    add_input(draft, "audio", fb::InputKind::audio, rate);
    set_weights(draft, {1, 0, 0, 0});
    add_field(draft, "input", "audio", fb::StateKind::history, {hop, 1});
    add_kernel(draft, scale, "first",
               {arg(ArgKind::input, Elem::f32, {{1, 1}, {1, int32_t(hop)}}),
                arg(ArgKind::input, Elem::f32, {{1, 1}}), arg(ArgKind::output, Elem::f32, {{1, 1}, {1, 1}})});
    auto stream = entry(fb::EntryKind::stream, hop, 64);
    stream->inputs.push_back(input_port(place(Space::state, 0), hop, 4));
    stream->steps.push_back(
        call("copy", 0, bindings(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("speech", place(Space::arena, 0), 1, 1, 1, hop));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

Draft together_model() {
    Draft draft = spotter_model();
    draft.plan.name = "tiny-together";
    // Results of two streams are copied; those of four lie in the arenas of the streams.
    for (const uint16_t streams : {2, 4}) {
        const auto apart = static_cast<uint32_t>(
            streams == 2 ? 12 : artifact::arena_apart(draft.plan.entries[0]->arena_bytes));
        add_kernel(draft, scale, "first-three of " + std::to_string(streams),
                   {arg(ArgKind::input, Elem::f32, {{3, 1}, {streams, 10}}),
                    arg(ArgKind::input, Elem::f32, {{1, 1}}),
                    arg(ArgKind::output, Elem::f32, {{3, 1}, {streams, int32_t(apart / sizeof(float))}})});
        auto together = std::make_unique<fb::TogetherT>();
        together->kernel = static_cast<uint16_t>(draft.plan.kernels.size() - 1);
        together->streams = streams;
        together->strides = {40, 0, apart};
        draft.plan.kernels[0]->together.push_back(std::move(together));
    }
    return draft;
}

Draft failing_model() {
    Draft draft = empty_draft("tiny-failure");
    add_input(draft, "features", fb::InputKind::features);
    add_field(draft, "input", "features", fb::StateKind::history, {2, 1});
    add_kernel(draft, fuse, "fuse",
               {arg(ArgKind::input, Elem::f32, {{2, 1}}), arg(ArgKind::output, Elem::f32, {{2, 1}})});
    auto stream = entry(fb::EntryKind::stream, 2, 64);
    stream->inputs.push_back(input_port(place(Space::state, 0), 2, 4));
    stream->steps.push_back(call("layer.0/fuse", 0, bindings(at(Space::state, 0), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("y", place(Space::arena, 0), 1, 2, 1, 1));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

Draft timing_model(const Timing &timing) {
    Draft draft = empty_draft("tiny-timing");
    add_input(draft, "features", fb::InputKind::features);
    add_field(draft, "input", "features", fb::StateKind::history, {timing.block, 1});
    add_kernel(draft, number, "number", {scalar_arg(INT32_MAX), arg(ArgKind::output, Elem::f32, {{1, 1}})});
    auto stream = entry(fb::EntryKind::stream, timing.block, 64);
    stream->period = timing.period;
    stream->inputs.push_back(input_port(place(Space::state, 0), timing.block, 4));
    auto step =
        call("count", 0,
             bindings(slot(timing.modulus, timing.mul, timing.value, timing.add), at(Space::arena, 0)));
    step->period = timing.period;
    step->phase = timing.phase;
    stream->steps.push_back(std::move(step));
    stream->outputs.push_back(output_port("n", place(Space::arena, 0), 1, 1, 1, timing.block * timing.period,
                                          timing.period, timing.phase));
    stream->outputs.back()->delay = timing.delay;
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

Draft token_model() {
    Draft draft = empty_draft("tiny-tokens");
    add_input(draft, "ids", fb::InputKind::tokens, 5);
    set_weights(draft, {0, 1, 2, 0, 10, 11, 12, 0, 20, 21, 22, 0, 30, 31, 32, 0, 40, 41, 42, 0});
    add_field(draft, "input", "ids", fb::StateKind::history, {2, 1}, Elem::i32);
    const std::vector<fb::Dim> table = {{3, 1}, {5, 4}};
    for (const uint32_t rows : {2u, 8u})
        add_kernel(draft, embedding, "embed-" + std::to_string(rows),
                   {arg(ArgKind::input, Elem::i32, {{rows, 1}}), arg(ArgKind::input, Elem::f32, table),
                    arg(ArgKind::output, Elem::f32, {{3, 1}, {rows, 3}})});

    auto stream = entry(fb::EntryKind::stream, 2, 64);
    stream->inputs.push_back(input_port(place(Space::state, 0), 2, 4));
    stream->steps.push_back(
        call("embed", 0, bindings(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("rows", place(Space::arena, 0), 3, 2, 1, 1));
    draft.plan.entries.push_back(std::move(stream));

    auto run = entry(fb::EntryKind::run, 8, 192);
    run->inputs.push_back(input_port(place(Space::arena, 0), 8, 4));
    run->steps.push_back(
        call("embed", 1, bindings(at(Space::arena, 0), at(Space::weights, 0), at(Space::arena, 64))));
    run->outputs.push_back(output_port("rows", place(Space::arena, 64), 3, 8, 1, 1));
    draft.plan.entries.push_back(std::move(run));
    return draft;
}

} // namespace longwave::test
