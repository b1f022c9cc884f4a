// Samples of the rules about what steps do to memory: V10, V12 and V14.
#include "tests/unit/formats/artifact/corpus.h"

namespace longwave::test {
namespace {

using fb::ArgKind;
using fb::Elem;
using fb::Space;

std::unique_ptr<fb::BindingT> scalar(fb::ScalarKind kind, int32_t value, int32_t mul, int32_t tile_mul) {
    auto binding = constant(0);
    *binding->scalar = fb::Scalar(kind, value, mul, tile_mul, 1, 0);
    return binding;
}

fb::Place ring(uint64_t offset, uint32_t slots, uint64_t slot_bytes) {
    return {offset, slot_bytes, 0, slots, 0, Space::state};
}

const Case calls[] = {
    {"a length by a negative factor", 12,
     [](Draft &d) { step(d, run, 3).args[1] = scalar(fb::ScalarKind::length, 64, -1, 0); }},
    {"a length by a negative factor of tiles", 12,
     [](Draft &d) { step(d, run, 3).args[1] = scalar(fb::ScalarKind::length, 64, 1, -1); }},
    {"a negative length", 12,
     [](Draft &d) { step(d, run, 3).args[1] = scalar(fb::ScalarKind::length, -1, 1, 0); }},
    {"filled rows by no factor", 12,
     [](Draft &d) { step(d, run, 3).args[1] = scalar(fb::ScalarKind::filled, 64, 0, 0); }},
    {"filled rows by a negative factor of tiles", 12,
     [](Draft &d) { step(d, run, 3).args[1] = scalar(fb::ScalarKind::filled, 64, 1, -1); }},
    {"a negative number of filled rows", 12,
     [](Draft &d) { step(d, run, 3).args[1] = scalar(fb::ScalarKind::filled, -1, 1, 0); }},
    {"rows in a stream", 12,
     [](Draft &d) { step(d, stream, 0).args[2] = scalar(fb::ScalarKind::rows, 4, 1, 0); }},
    {"a place beside a scalar", 12,
     [](Draft &d) { step(d, stream, 0).args[2]->place = place(Space::state, 0); }},
    {"a scalar beside a place", 12,
     [](Draft &d) {
         step(d, stream, 0).args[0]->scalar = std::make_unique<fb::Scalar>(*constant(0)->scalar);
     }},
    {"a scalar with dimensions", 12,
     [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->dims = {fb::Dim(1, 1)}; }},
    {"a buffer that is nowhere", 12,
     [](Draft &d) { step(d, stream, 0).args[0] = std::make_unique<fb::BindingT>(); }},
    {"an alignment of 128", 12, [](Draft &d) { d.plan.kernels[k_square]->args[0]->alignment = 128; }},
    {"a clear of nowhere", 12, [](Draft &d) { step(d, run, 0).args[0] = std::make_unique<fb::BindingT>(); }},
    {"a clear of a place and a number", 12,
     [](Draft &d) { step(d, run, 0).args[0]->scalar = std::make_unique<fb::Scalar>(*constant(0)->scalar); }},
};

const Case places[] = {
    {"tiles that overflow", 12,
     [](Draft &d) {
         step(d, run, 5).tiles = 3, step(d, run, 5).args[0] = at(Space::arena, 320, 1, 0, 0, 1ull << 63);
     }},
    {"a slot at 2^64", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, ~0ull - 63, 2, 64); }},
    {"a tile at 2^64", 12,
     [](Draft &d) {
         step(d, run, 5).tiles = 2;
         step(d, run, 5).args[0] = at(Space::arena, 320, 1, 0, 0, ~0ull - 63);
     }},
    {"a place at 2^64 - 4", 12, [](Draft &d) { move_to(place(d, stream, 0, 3), ~0ull - 3); }},
    {"2^24 + 1 slots", 12,
     [](Draft &d) { step(d, stream, 0).args[0] = at(Space::state, 0, (1 << 24) + 1, 0); }},
    {"written slots that are one", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 64, 2, 0); }},
    {"an output between two numbers", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 65); }},
    {"tiles between two numbers", 12,
     [](Draft &d) { step(d, run, 5).args[0] = at(Space::arena, 320, 1, 0, 0, 30); }},
    {"read in turns in which it was not written", 10,
     [](Draft &d) {
         entry(d, stream).arena_bytes = 128;
         entry(d, stream).period = 6;
         entry(d, stream).steps.push_back(
             call("late", k_copy, bindings(at(Space::state, 0), at(Space::arena, 0), at(Space::arena, 64))));
         step(d, stream, 2).period = 3, step(d, stream, 2).phase = 1;
     }},
    {"clears that are too tangled to follow", 10,
     [](Draft &d) {
         entry(d, run).arena_bytes = 1 << 26;
         for (uint64_t i = 1; i <= 2000; ++i)
             entry(d, run).steps.push_back(zero("", Space::arena, 832, 64 * i));
     }},
};

const Case ports[] = {
    {"an output without values", 12, [](Draft &d) { entry(d, stream).outputs[0]->width = 0; }},
    {"an output of 2^24 + 1 values", 12,
     [](Draft &d) { entry(d, stream).outputs[0]->width = (1 << 24) + 1; }},
    {"an output without rows", 12, [](Draft &d) { entry(d, stream).outputs[0]->rows = 0; }},
    {"an output whose rows overlap", 12, [](Draft &d) { entry(d, stream).outputs[0]->row_bytes = 0; }},
    {"an output whose rows begin between two numbers", 12,
     [](Draft &d) { entry(d, run).outputs[0]->row_bytes = 6; }},
    {"a run of 2^24 + 1 rows for as many ticks", 12,
     [](Draft &d) {
         entry(d, run).outputs[0]->clock_num = entry(d, run).outputs[0]->clock_den = (1 << 24) + 1;
     }},
    {"a run whose inputs are out of order", 12,
     [](Draft &d) {
         d.plan.inputs.push_back(std::make_unique<fb::InputT>(*d.plan.inputs[0]));
         d.plan.inputs[1]->name = "more";
         auto &inputs = entry(d, run).inputs;
         inputs.push_back(std::make_unique<fb::InputPortT>(*inputs[0]));
         inputs[0]->input = 1;
     }},
};

// Two streams of 4 ticks that clear their output, over one input. Its field has room for rows of
// two values.
Draft two_streams() {
    Draft d = empty_draft("two-streams");
    add_input(d, "x", fb::InputKind::features);
    add_field(d, "input", "x", fb::StateKind::history, {32, 1});
    for (int i = 0; i < 2; ++i) {
        auto each = std::make_unique<fb::EntryT>();
        each->kind = fb::EntryKind::stream;
        each->block = 4;
        each->arena_bytes = 64;
        each->inputs.push_back(input_port(std::make_unique<fb::Place>(ring(0, 4, 16)), 4, 4));
        each->steps.push_back(zero("silence", Space::arena, 0, 16));
        each->outputs.push_back(output_port("y", place(Space::arena, 0), 1, 4, 1, 1));
        d.plan.entries.push_back(std::move(each));
    }
    return d;
}

const Case rings[] = {
    {"two rings of one size", 12, [](Draft &d) { *entry(d, 1).inputs[0]->place = ring(64, 4, 16); }},
    {"two rings of other rows", 12,
     [](Draft &d) { *entry(d, 1).inputs[0]->place = ring(0, 4, 32), entry(d, 1).inputs[0]->row_bytes = 8; }},
    {"rows of an input between two numbers", 12,
     [](Draft &d) {
         for (const size_t e : {0, 1})
             *entry(d, e).inputs[0]->place = ring(0, 4, 24), entry(d, e).inputs[0]->row_bytes = 6;
     }},
};

// ---- a step over its own input ----

// Prepare clears its arena and writes over a part of it, then makes the taps.
Draft overwriting(fb::KernelArgT in, fb::KernelArgT out, std::unique_ptr<fb::BindingT> from,
                  std::unique_ptr<fb::BindingT> to, uint32_t tiles = 1) {
    Draft d = audio_model();
    entry(d, prepare).arena_bytes = 256;
    add_kernel(d, square, "over", {std::move(in), std::move(out)}, 64);
    auto over = call("over", 5, bindings(std::move(from), std::move(to)));
    over->tiles = tiles;
    auto &steps = entry(d, prepare).steps;
    steps.insert(steps.begin(), std::move(over));
    steps.insert(steps.begin(), zero("clear", Space::arena, 0, 256));
    d.plan.derived_bytes = 64;
    return d;
}

using Dims = std::vector<fb::Dim>;
fb::KernelArgT input(Dims dims, Elem elem = Elem::f32) { return arg(ArgKind::input, elem, std::move(dims)); }
fb::KernelArgT output(Dims dims) { return arg(ArgKind::output, Elem::f32, std::move(dims)); }
std::unique_ptr<fb::BindingT> arena(uint64_t offset, uint32_t slots = 1, uint64_t slot_bytes = 0,
                                    uint32_t add = 0, uint64_t tile_bytes = 0) {
    return at(Space::arena, offset, slots, slot_bytes, add, tile_bytes);
}

void in_place(Samples &samples) {
    const Dims nine = {{9, 1}}, comb = {{4, 4}};
    const auto tiled = [] { return arena(0, 1, 0, 0, 4); };
    const auto add = [&](const char *name, int rule, const Draft &d) {
        samples.push_back({name, rule, d.bytes()});
    };
    add("over its input", 0, overwriting(input(nine), output(nine), arena(0), arena(0)));
    add("over its input, a number later", 14, overwriting(input(nine), output(nine), arena(0), arena(4)));
    add("over a shorter input", 14, overwriting(input({{8, 1}}), output(nine), arena(0), arena(0)));
    add("over its input, with other tiles", 14,
        overwriting(input(nine), output(nine), arena(0, 1, 0, 0, 64), arena(0, 1, 0, 0, 40), 2));
    add("over its input, which has slots", 14,
        overwriting(input(nine), output(nine), arena(0, 2, 64), arena(0)));
    add("over its input, a slot later", 14,
        overwriting(input(nine), output(nine), arena(0, 2, 16), arena(0, 2, 16, 1)));
    add("over its input, tile between tile", 0, overwriting(input(comb), output(comb), tiled(), tiled(), 4));
    add("over its input, in another type", 14,
        overwriting(input(comb, Elem::i32), output(comb), tiled(), tiled(), 4));
    add("over its input, in another rank", 14,
        overwriting(input({{4, 4}, {1, 1}, {1, 1}}), output(comb), tiled(), tiled(), 4));
    add("over its input, in other extents", 14,
        overwriting(input({{1, 2}, {2, 4}}), output({{3, 2}, {1, 4}}), tiled(), tiled(), 2));
    add("over its input, in other strides", 14,
        overwriting(input({{2, 8}, {2, 4}}), output({{2, 4}, {2, 8}}), tiled(), tiled(), 4));
    // slots that advance together
    const Dims row = {{13, 1}}; // 52 bytes
    add("slots beside a place", 14, overwriting(input(row), output(row), arena(64, 1, 64), arena(0, 2, 64)));
    add("slots of two sizes", 14, overwriting(input(row), output(row), arena(52, 2, 4), arena(0, 2, 64)));
    add("a slot that the one before it becomes", 14,
        overwriting(input(row), output(row), arena(0, 2, 64), arena(64, 2, 64, 1)));
    Draft twice = overwriting(input(nine), output(nine), arena(0), arena(64));
    twice.plan.kernels[5]->args.push_back(std::make_unique<fb::KernelArgT>(output(nine)));
    entry(twice, prepare).steps[1]->args.push_back(arena(64));
    add("two outputs in one place", 14, twice);
    Draft sums = overwriting(input(nine), output(nine), arena(0), arena(64));
    sums.plan.kernels[5]->args[1] =
        std::make_unique<fb::KernelArgT>(arg(ArgKind::inout, Elem::f64, {{2, 1}}));
    entry(sums, prepare).steps[1]->tiles = 2;
    entry(sums, prepare).steps[1]->ordered = true;
    add("one sum of all tiles", 0, sums);
    entry(sums, prepare).steps[1]->args[1] = arena(64, 1, 0, 0, 8);
    add("sums of tiles that share a number", 14, sums);
}

// ---- the newest slot of a ring ----

// state: the input's ring of 16 rows, then a ring of 4 slots of 8 numbers. One step reads the whole
// and writes the newest.
Draft newest(Dims whole, Dims slot, std::unique_ptr<fb::BindingT> from, std::unique_ptr<fb::BindingT> to,
             Elem elem = Elem::f32, uint32_t tiles = 1) {
    Draft d = empty_draft("ring");
    add_input(d, "x", fb::InputKind::features);
    add_field(d, "input", "x", fb::StateKind::history, {16, 1});
    add_field(d, "conv", "past", fb::StateKind::carry, {64});
    add_kernel(d, fuse, "conv", {input(std::move(whole), elem), output(std::move(slot)), output({{4, 1}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 4;
    stream->arena_bytes = 64;
    stream->inputs.push_back(input_port(place(Space::state, 0, 4, 16), 4, 4));
    stream->steps.push_back(
        call("conv", 0, bindings(std::move(from), std::move(to), arena(0, 1, 0, 0, tiles > 1 ? 16 : 0))));
    stream->steps.back()->tiles = tiles;
    stream->outputs.push_back(output_port("y", place(Space::arena, 0), 1, 4, 1, 1));
    d.plan.entries.push_back(std::move(stream));
    return d;
}

void newest_slots(Samples &samples) {
    const Dims whole = {{2, 1}, {4, 2}, {4, 8}}, slot = {{2, 1}, {4, 2}}; // four slots of 32 bytes
    const auto past = [](uint64_t offset = 64, uint32_t slots = 1, uint64_t slot_bytes = 0,
                         uint64_t tile_bytes = 0) {
        return at(Space::state, offset, slots, slot_bytes, 0, tile_bytes);
    };
    const auto add = [&](const char *name, int rule, const Draft &d) {
        samples.push_back({name, rule, d.bytes()});
    };
    add("the newest slot", 0, newest(whole, slot, past(), past(64, 4, 32)));
    add("the newest slot of a ring in slots", 14, newest(whole, slot, past(64, 2, 64), past(64, 4, 32)));
    add("a slot that begins later than its ring", 14, newest(whole, slot, past(), past(68, 4, 32)));
    add("a slot in other tiles than its ring", 14,
        newest(whole, slot, past(64, 1, 0, 128), past(64, 4, 32, 32), Elem::f32, 2));
    add("all of the ring", 14, newest(whole, whole, past(), past()));
    add("a slot of a ring of rings", 14,
        newest({{2, 1}, {4, 2}, {4, 8}, {1, 32}}, slot, past(), past(64, 4, 32)));
    add("a slot of another type", 14, newest(whole, slot, past(), past(64, 4, 32), Elem::i32));
    add("a slot of a ring that lies in itself", 14,
        newest({{2, 1}, {4, 1}, {4, 8}}, {{2, 1}, {4, 8}}, past(), past(64, 4, 4)));
    add("a slot of other rows", 14, newest(whole, {{4, 1}, {2, 4}}, past(), past(64, 4, 32)));
    add("three slots of four", 14, newest(whole, slot, past(), past(64, 3, 32)));
    add("slots half as far apart as the ring's", 14, newest(whole, slot, past(), past(64, 4, 16)));
}

// ---- traffic ----

// A stream of 4 ticks whose one kernel reads 2^40 bytes of state 63 times.
Draft heavy(uint32_t tiles, size_t steps) {
    Draft d = empty_draft("heavy");
    add_input(d, "x", fb::InputKind::features);
    add_field(d, "all", "x", fb::StateKind::history, {1 << 24, 1 << 14});
    d.plan.state[0]->dims = {1 << 24, 1 << 14};
    std::vector<fb::KernelArgT> args;
    for (int i = 0; i < 63; ++i) args.push_back(input({{1 << 24, 1}, {1 << 14, 1 << 24}}));
    args.push_back(output({{1, 1}}));
    add_kernel(d, fuse, "heavy", std::move(args));
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 4;
    stream->arena_bytes = uint64_t{tiles} * 4 + 60 - (uint64_t{tiles} * 4 + 60) % 64 + 64;
    stream->inputs.push_back(input_port(place(Space::state, 0, 4, 16), 4, 4));
    for (size_t i = 0; i < steps; ++i) {
        auto step = call("heavy", 0, {});
        for (int a = 0; a < 63; ++a) step->args.push_back(at(Space::state, 0));
        step->args.push_back(arena(0, 1, 0, 0, 4));
        step->tiles = tiles;
        stream->steps.push_back(std::move(step));
    }
    stream->outputs.push_back(output_port("y", place(Space::arena, 0), 1, 4, 1, 1));
    d.plan.entries.push_back(std::move(stream));
    return d;
}

// A run that clears more and more of its arena, in as many steps as it takes.
Draft busy(size_t clears) {
    Draft d = audio_model();
    entry(d, prepare).arena_bytes = 1 << 20;
    for (size_t i = 0; i < clears; ++i)
        entry(d, prepare).steps.push_back(zero("clear", Space::arena, 0, 1 << 20));
    return d;
}

} // namespace

void step_samples(Samples &samples) {
    add_cases(samples, "calls", family_model, calls);
    add_cases(samples, "places", family_model, places);
    add_cases(samples, "ports", audio_model, ports);
    samples.push_back({"two streams over one ring", 0, two_streams().bytes()});
    add_cases(samples, "rings", two_streams, rings);
    in_place(samples);
    newest_slots(samples);
    samples.push_back({"tiles that move 2^66 bytes", 14, heavy(1 << 20, 1).bytes()});
    samples.push_back({"steps that move 2^64 bytes", 14, heavy(1 << 17, 3).bytes()});
    samples.push_back({"a prepare that clears its arena for nobody", 14, busy(1).bytes()});
}

} // namespace longwave::test
