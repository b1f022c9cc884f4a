#include "tests/support/tiny_filters.h"

namespace longwave::test {
namespace {

using fb::ArgKind;
using fb::Elem;
using fb::Space;

// One stream of `block` ticks that gives `rows` rows of `width` samples from the arena.
fb::EntryT &filter(Draft &draft, uint32_t block, uint32_t rows, uint32_t width, uint32_t rate,
                   uint32_t slots = 1) {
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = block;
    stream->arena_bytes = (uint64_t{rows} * width * 4 + 63) / 64 * 64;
    stream->inputs.push_back(input_port(place(Space::state, 0, slots, slots > 1 ? block * 4 : 0), block, 4));
    stream->outputs.push_back(output_port("clean", place(Space::arena, 0), width, rows, 1, block / rows));
    stream->outputs.back()->sample_rate = rate;
    draft.plan.entries.push_back(std::move(stream));
    return *draft.plan.entries.back();
}

Draft audio_draft(const char *name, uint32_t ticks, uint32_t rate = 16000) {
    Draft draft = empty_draft(name);
    add_input(draft, "audio", fb::InputKind::audio, rate);
    add_field(draft, "input", "audio", fb::StateKind::history, {ticks, 1});
    return draft;
}

// Copies `rows` rows of `width` values, of which each lies `row` and `value` elements further on.
Draft copied(const char *name, uint32_t block, uint32_t rows, uint32_t width, int32_t value, int32_t row,
             uint32_t rate) {
    Draft draft = audio_draft(name, block);
    set_weights(draft, {1, 0, 0, 0});
    const auto extent = [](uint32_t n) { return static_cast<int32_t>(n); };
    add_kernel(draft, scale, "copy",
               {arg(ArgKind::input, Elem::f32, {{width, value}, {rows, row}}),
                arg(ArgKind::input, Elem::f32, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{width, 1}, {rows, extent(width)}})});
    filter(draft, block, rows, width, rate)
        .steps.push_back(
            call("copy", 0, bindings(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
    return draft;
}

} // namespace

Draft late_model(const Late &late) {
    const uint32_t back = late.lag + late.delay, slots = 1 + (back + late.block - 1) / late.block;
    Draft draft = audio_draft("tiny-late", slots * late.block, late.rate);
    std::vector<float> taps(back + 1);
    taps[back] = 1;
    taps.resize((taps.size() + 3) / 4 * 4);
    set_weights(draft, taps);
    add_kernel(draft, fir, "late",
               {arg(ArgKind::input, Elem::f32, {{slots * late.block, 1}}),
                arg(ArgKind::input, Elem::f32, {{back + 1, 1}}),
                scalar_arg(static_cast<int32_t>((slots - 1) * late.block)),
                arg(ArgKind::output, Elem::f32, {{late.block, 1}})});
    fb::EntryT &stream = filter(draft, late.block, late.block / late.width, late.width, late.rate, slots);
    stream.steps.push_back(
        call("late", 0,
             bindings(at(Space::state, 0), at(Space::weights, 0),
                      slot(slots, static_cast<int32_t>(late.block), 0), at(Space::arena, 0))));
    fb::OutputPortT &port = *stream.outputs[0];
    port.lag = late.lag;
    port.delay = late.delay;
    return draft;
}

Draft doubled_model(uint32_t block) { return copied("tiny-doubled", block, block, 2, 0, 1, 32000); }
Draft halved_model(uint32_t block) { return copied("tiny-halved", block, block / 2, 1, 1, 2, 8000); }

Draft summed_model(uint32_t block) {
    Draft draft = audio_draft("tiny-summed", block);
    draft.plan.sample_limit = 3e38f;
    add_field(draft, "sum", "sum", fb::StateKind::carry, {1}, Elem::f64);
    add_kernel(draft, accumulate, "sum",
               {arg(ArgKind::input, Elem::f32, {{block, 1}}), arg(ArgKind::inout, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{block, 1}})});
    const uint64_t sum = draft.plan.state[1]->offset;
    filter(draft, block, block, 1, 16000)
        .steps.push_back(
            call("sum", 0, bindings(at(Space::state, 0), at(Space::state, sum), at(Space::arena, 0))));
    return draft;
}

Draft several_filters_model() {
    Draft draft = late_model();
    auto &outputs = draft.plan.entries[0]->outputs;
    for (const char *name : {"noise", "level"}) {
        outputs.push_back(std::make_unique<fb::OutputPortT>(*outputs[0]));
        outputs.back()->name = name;
    }
    outputs.back()->sample_rate = 0;
    return draft;
}

Draft failing_filter_model(uint32_t block) {
    Draft draft = audio_draft("tiny-failing-filter", block);
    draft.plan.sample_limit = 1e6f;
    add_kernel(draft, fuse, "fuse",
               {arg(ArgKind::input, Elem::f32, {{block, 1}}), arg(ArgKind::output, Elem::f32, {{block, 1}})});
    filter(draft, block, block, 1, 16000)
        .steps.push_back(call("fuse", 0, bindings(at(Space::state, 0), at(Space::arena, 0))));
    return draft;
}

} // namespace longwave::test
