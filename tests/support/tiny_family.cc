#include "tests/support/tiny_family.h"
#include <algorithm>

namespace longwave::test {
namespace {

using fb::ArgKind;
using fb::Elem;
using fb::Space;

constexpr uint32_t taps = audio_taps, reach = taps - 1;

bool among(const std::vector<uint32_t> &list, uint32_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

std::unique_ptr<fb::EntryT> stream_entry(uint32_t block, uint64_t arena_bytes) {
    auto entry = std::make_unique<fb::EntryT>();
    entry->kind = fb::EntryKind::stream;
    entry->block = block;
    entry->arena_bytes = (arena_bytes + 63) / 64 * 64;
    return entry;
}

uint16_t last_kernel(const Draft &draft) { return static_cast<uint16_t>(draft.plan.kernels.size() - 1); }

struct Layout {
    uint32_t ring, y_rows;  // rows of the input's ring and of y's
    uint64_t y, total, sum; // where the fields lie
};

uint16_t add_fir(Draft &draft, uint32_t rows, uint32_t block) {
    const int32_t multiple = static_cast<int32_t>(block), high = static_cast<int32_t>(rows - block);
    add_kernel(draft, fir, "fir-" + std::to_string(rows) + "-" + std::to_string(block),
               {arg(ArgKind::input, Elem::f32, {{rows, 1}}), arg(ArgKind::input, Elem::f32, {{taps, 1}}),
                scalar_arg(high, multiple), arg(ArgKind::output, Elem::f32, {{block, 1}})});
    return last_kernel(draft);
}

// Through the cache: a copy of each block, and the FIR over the copies.
void hear_copies(Draft &draft, fb::EntryT &entry, const Layout &layout) {
    const uint32_t block = entry.block, slots = (reach + block - 1) / block + 1;
    const std::vector<fb::Dim> dims = {{block, 1}, {1, static_cast<int32_t>(block)}};
    add_kernel(draft, scale, "copy-" + std::to_string(block),
               {arg(ArgKind::input, Elem::f32, dims), arg(ArgKind::input, Elem::f32, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, dims)});
    const uint16_t copy = last_kernel(draft);
    const auto hear = [&] { // the weight at 12 is 1
        return call("hear", copy,
                    bindings(at(Space::state, 0, layout.ring / block, 4 * block), at(Space::weights, 12),
                             at(Space::cache, 0, slots, 4 * block)));
    };
    entry.cache_bytes = (slots * block * 4 + 63) / 64 * 64;
    entry.steps.push_back(hear());
    entry.rebuild.push_back(hear());
    entry.rebuild[0]->replay_from = slots - 1;
    const uint16_t kernel = add_fir(draft, slots * block, block);
    entry.steps.push_back(
        call("fir", kernel,
             bindings(at(Space::cache, 0), at(Space::weights, 0), slot(slots, static_cast<int32_t>(block), 0),
                      at(Space::state, layout.y, layout.y_rows / block, 4 * block))));
}

void hear_ring(Draft &draft, fb::EntryT &entry, const Layout &layout) {
    const uint32_t block = entry.block;
    const uint16_t kernel = add_fir(draft, layout.ring, block);
    entry.steps.push_back(call("fir", kernel,
                               bindings(at(Space::state, 0), at(Space::weights, 0),
                                        slot(layout.ring / block, static_cast<int32_t>(block), 0),
                                        at(Space::state, layout.y, layout.y_rows / block, 4 * block))));
}

// total and sums, from y.
void add_sums(Draft &draft, fb::EntryT &entry, const Layout &layout, uint32_t delay) {
    const uint32_t block = entry.block, period = block < family_sums ? family_sums / block : 1;
    const uint32_t rows = period * block / family_sums;
    const std::vector<fb::Dim> block_dims = {{block, 1}};
    add_kernel(draft, accumulate, "total-" + std::to_string(block),
               {arg(ArgKind::input, Elem::f32, block_dims), arg(ArgKind::inout, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, block_dims)});
    entry.steps.push_back(call("total", last_kernel(draft),
                               bindings(at(Space::state, layout.y, layout.y_rows / block, 4 * block),
                                        at(Space::state, layout.total), at(Space::arena, 0))));
    const uint64_t sums_at = (uint64_t{block} * 4 + 63) / 64 * 64;
    const uint32_t span = family_sums * rows;
    auto sums = call("sums", 0,
                     bindings(at(Space::state, layout.y, layout.y_rows / span, 4 * span, 0, 4 * family_sums),
                              at(Space::state, layout.sum), at(Space::arena, sums_at, 1, 0, 0, 12)));
    sums->period = entry.period = period;
    sums->phase = period - 1;
    sums->tiles = rows;
    sums->ordered = true;
    entry.steps.push_back(std::move(sums));
    entry.outputs.push_back(
        output_port("y", place(Space::state, layout.y, layout.y_rows / block, 4 * block), 1, block, 1, 1));
    entry.outputs.push_back(output_port("total", place(Space::arena, 0), 1, block, 1, 1));
    entry.outputs.push_back(
        output_port("sums", place(Space::arena, sums_at), 3, rows, 1, family_sums, period, period - 1));
    for (auto &port : entry.outputs) port->delay = delay;
}

} // namespace

Draft blocks_model(const Family &family) {
    Draft draft = empty_draft("tiny-blocks");
    add_input(draft, "audio", fb::InputKind::audio, 1000);
    set_weights(draft, {0.5f, -0.25f, 0.75f, 1.0f, 0.125f, -0.5f, 0.3f, 0.2f, 0.9f, 0, 0, 0, 0, 0, 0, 0});
    uint32_t largest = 48;
    for (const uint32_t block : family.blocks) largest = std::max(largest, block);
    Layout layout{2 * largest, largest, 0, 0, 0};
    add_field(draft, "input", "audio", fb::StateKind::history, {layout.ring, 1});
    layout.y = draft.plan.state_bytes;
    add_field(draft, "fir", "y", fb::StateKind::history, {layout.y_rows, 1});
    layout.total = draft.plan.state_bytes;
    add_field(draft, "total", "total", fb::StateKind::carry, {1}, Elem::f64);
    layout.sum = draft.plan.state_bytes;
    add_field(draft, "sums", "sum", fb::StateKind::carry, {1}, Elem::f64);
    add_kernel(draft, running_sum, "sums",
               {arg(ArgKind::input, Elem::f32, {{family_sums, 1}}), arg(ArgKind::inout, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}})});
    for (const uint32_t block : family.blocks) {
        auto entry =
            stream_entry(block, (uint64_t{block} * 4 + 63) / 64 * 64 + (block / family_sums + 1) * 12);
        entry->inputs.push_back(input_port(place(Space::state, 0, layout.ring / block, 4 * block), block, 4));
        if (among(family.cached, block)) hear_copies(draft, *entry, layout);
        else hear_ring(draft, *entry, layout);
        add_sums(draft, *entry, layout, family.delay);
        draft.plan.entries.push_back(std::move(entry));
    }
    return draft;
}

Draft marks_model(const std::vector<uint32_t> &blocks) {
    Draft draft = empty_draft("tiny-marks");
    add_input(draft, "audio", fb::InputKind::audio, 1000);
    set_weights(draft, {1, 0, 0, 0});
    add_field(draft, "input", "audio", fb::StateKind::history, {16, 1});
    const std::vector<fb::Dim> one = {{1, 1}, {1, 1}};
    add_kernel(draft, number, "mark", {scalar_arg(INT32_MAX), arg(ArgKind::output, Elem::f32, {{1, 1}})});
    add_kernel(draft, scale, "read",
               {arg(ArgKind::input, Elem::f32, one), arg(ArgKind::input, Elem::f32, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, one)});
    for (const uint32_t block : blocks) {
        auto entry = stream_entry(block, 64);
        entry->cache_bytes = 64;
        entry->period = 48 / block;
        entry->inputs.push_back(input_port(place(Space::state, 0, 16 / block, 4 * block), block, 4));
        const auto mark = [&] {
            auto step = call("mark", 0, bindings(slot(100, 48, 16), at(Space::cache, 0)));
            step->period = 48 / block;
            step->phase = 16 / block - 1;
            return step;
        };
        entry->steps.push_back(mark());
        entry->rebuild.push_back(mark());
        entry->rebuild[0]->replay_from = 1;
        auto read =
            call("read", 1, bindings(at(Space::cache, 0), at(Space::weights, 0), at(Space::arena, 0)));
        read->period = 48 / block;
        read->phase = read->period - 1;
        entry->steps.push_back(std::move(read));
        entry->outputs.push_back(
            output_port("mark", place(Space::arena, 0), 1, 1, 1, 48, 48 / block, 48 / block - 1));
        draft.plan.entries.push_back(std::move(entry));
    }
    return draft;
}

Draft tiles_model() {
    Draft draft = empty_draft("tiny-tiles");
    add_input(draft, "features", fb::InputKind::features);
    const std::vector<fb::Dim> tile = {{tile_rows, 1}};
    const auto in = [&] { return arg(ArgKind::input, Elem::f32, tile); };
    const auto out = [&] { return arg(ArgKind::output, Elem::f32, tile); };
    add_kernel(draft, square, "square", {in(), out()}, 4 * tile_rows);
    add_kernel(draft, fuse, "fuse", {in(), out()});
    add_kernel(draft, accumulate, "total", {in(), arg(ArgKind::inout, Elem::f64, {{1, 1}}), out()});
    auto run = std::make_unique<fb::EntryT>();
    run->kind = fb::EntryKind::run;
    run->block = tiles_capacity;
    const uint64_t bytes = 4 * tiles_capacity;
    run->arena_bytes = 4 * bytes + 64;
    const auto rows = [&](uint64_t value) { return at(Space::arena, value * bytes, 1, 0, 0, 4 * tile_rows); };
    run->inputs.push_back(input_port(place(Space::arena, 0), tiles_capacity, 4));
    run->steps.push_back(call("layer.0/square", 0, bindings(rows(0), rows(1))));
    run->steps.push_back(call("layer.1/fuse", 1, bindings(rows(1), rows(2))));
    run->steps.push_back(zero("total", Space::arena, 4 * bytes, 8));
    run->steps.push_back(call("layer.2/total", 2, bindings(rows(2), at(Space::arena, 4 * bytes), rows(3))));
    for (const size_t i : {0, 1, 3}) run->steps[i]->tiles = tiles_capacity / tile_rows;
    run->steps[3]->ordered = true;
    run->outputs.push_back(output_port("squares", place(Space::arena, 2 * bytes), 1, tiles_capacity, 1, 1));
    run->outputs.push_back(output_port("total", place(Space::arena, 3 * bytes), 1, tiles_capacity, 1, 1));
    draft.plan.entries.push_back(std::move(run));
    return draft;
}

} // namespace longwave::test
