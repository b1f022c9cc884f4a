// The rules about what steps do to memory: V10, V12 and V14.
#include "tests/support/tiny_gpu.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <doctest/doctest.h>

namespace memory_rules_test {

using namespace longwave;
using namespace longwave::test;
using fb::Space;

namespace {

std::unique_ptr<fb::BindingT> tiled_slot(int32_t value, int32_t tile_mul) {
    auto binding = constant(0);
    *binding->scalar = fb::Scalar(fb::ScalarKind::slot, value, 0, tile_mul, 1, 0);
    return binding;
}

const Case lifetimes[] = {
    {"arena is read before it is written", 10,
     [](Draft &d) { std::swap(entry(d, run).steps[1], entry(d, run).steps[3]); }},
    {"output of a port nobody wrote", 10, [](Draft &d) { move_to(*entry(d, stream).outputs[1]->place, 16); }},
    {"written only in other blocks", 10, [](Draft &d) { step(d, stream, 1).phase = 0; }},
    {"history is not cleared", 10, [](Draft &d) { entry(d, run).steps.erase(entry(d, run).steps.begin()); }},
    {"a sum that no tile finds cleared", 10,
     [](Draft &d) { entry(d, run).steps.erase(entry(d, run).steps.begin() + 4); }},
    {"a tensor runs into a live one", 10,
     [](Draft &d) {
         // Bytes across the end of y, which is read later: 4 bytes within it would be a write of a
         // part.
         auto &steps = entry(d, run).steps;
         steps.insert(steps.begin() + 2, zero("clear", Space::arena, 320 + 256 - 8, 16));
     }},
};

const Case places[] = {
    {"a place behind its space", 12, [](Draft &d) { move_to(place(d, stream, 0, 0), 192); }},
    {"a place at 2^64 - 64", 12, [](Draft &d) { move_to(place(d, stream, 0, 0), ~0ull - 63); }},
    {"a place across two fields", 12, [](Draft &d) { move_to(place(d, stream, 0, 0), 32); }},
    {"a place behind its field", 12, [](Draft &d) { move_to(place(d, stream, 0, 3), 96); }},
    {"a slot behind its field", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 64, 3, 16); }},
    {"a slot behind its space", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 64, 9, 16); }},
    {"slots that overflow", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 64, 3, 1ull << 63); }},
    {"no slots", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 64, 0, 16); }},
    {"a tile behind its space", 12,
     [](Draft &d) {
         step(d, stream, 0).tiles = 2;
         step(d, stream, 0).args[3] = at(Space::state, 64, 2, 16, 0, 128);
     }},
    {"misaligned", 12, [](Draft &d) { move_to(place(d, stream, 0, 3), 66); }},
    {"misaligned for a kernel that wants 64", 12,
     [](Draft &d) { d.plan.kernels[k_fir_stream]->args[3]->alignment = 64; }},
    {"an alignment of 5", 12, [](Draft &d) { d.plan.kernels[k_fir_stream]->args[3]->alignment = 5; }},
    {"weights are written", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(Space::weights, 0); }},
    {"weights are updated in place", 12,
     [](Draft &d) { step(d, stream, 1).args[1] = at(Space::weights, 0); }},
    {"derived is written by a stream", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::derived, 0); }},
    {"a run writes state", 12, [](Draft &d) { step(d, run, 3).args[2] = at(Space::state, 0); }},
    {"a run reads state", 12, [](Draft &d) { step(d, run, 1).args[1] = at(Space::state, 0); }},
    {"prepare reads state", 12, [](Draft &d) { step(d, prepare, 0).args[0] = at(Space::state, 0); }},
    {"a run writes a cache", 12, [](Draft &d) { step(d, run, 3).args[2] = at(Space::cache, 0); }},
    {"a stream writes another one's cache", 12,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::cache, 0); }},
    {"a stream reads another one's cache", 12,
     [](Draft &d) { step(d, stream, 0).args[0] = at(Space::cache, 0); }},
    {"a cache slot behind the cache", 12,
     [](Draft &d) { step(d, large_stream, 0).args[2] = at(Space::cache, 0, 3, 32); }},
    {"a rebuild writes the record", 12,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->args[2] = at(Space::state, 64); }},
    {"a rebuild writes derived", 12,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->args[2] = at(Space::derived, 0); }},
    {"a rebuild behind its cache", 12,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->args[2] = at(Space::cache, 64); }},
    {"derived bytes that prepare does not write: gigabytes for a few hundred bytes of file", 12,
     [](Draft &d) { d.plan.derived_bytes = 6'000'000'000 / 64 * 64; }},
    {"prepare writes its arena only", 12,
     [](Draft &d) { entry(d, prepare).arena_bytes = 64, step(d, prepare, 0).args[1] = at(Space::arena, 0); }},
};

const Case calls[] = {
    {"an argument too few", 12, [](Draft &d) { step(d, stream, 0).args.pop_back(); }},
    {"a scalar for a buffer", 12, [](Draft &d) { step(d, stream, 0).args[0] = constant(0); }},
    {"a buffer for a scalar", 12, [](Draft &d) { step(d, stream, 0).args[2] = at(Space::state, 0); }},
    {"neither scalar nor buffer", 12,
     [](Draft &d) { step(d, stream, 0).args[2] = std::make_unique<fb::BindingT>(); }},
    {"a scalar that is a double", 12,
     [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->elem = fb::Elem::f64; }},
    {"position beyond its ring", 12, [](Draft &d) { step(d, stream, 0).args[2] = slot(5, 4, 0); }},
    {"negative position", 12, [](Draft &d) { step(d, stream, 0).args[2] = slot(4, 4, -4); }},
    {"a position where the kernel knows only 0", 12,
     [](Draft &d) { d.plan.kernels[k_fir_run]->args[2]->high = 0; }},
    {"position between the multiples its kernel takes", 12,
     [](Draft &d) { step(d, stream, 0).args[2] = slot(4, 3, 0); }},
    {"position a step beside the multiples its kernel takes", 12,
     [](Draft &d) { step(d, stream, 0).args[2] = slot(3, 4, 1); }},
    {"a tile between the multiples its kernel takes", 12,
     [](Draft &d) {
         d.plan.kernels[k_fir_run]->args[2]->multiple = 8;
         step(d, run, 1).tiles = 2;
         step(d, run, 1).args[2] = tiled_slot(8, 4);
         step(d, run, 1).args[3]->place = place(Space::arena, 320, 1, 0, 0, 256);
         entry(d, run).arena_bytes = 960;
     }},
    {"a length where the kernel takes multiples", 12,
     [](Draft &d) { d.plan.kernels[k_mean]->args[1]->multiple = 2; }},
    {"scalar with modulus 0", 12, [](Draft &d) { step(d, stream, 0).args[2] = slot(0, 4, 0); }},
    {"scalar beyond int32", 12,
     [](Draft &d) {
         d.plan.kernels[k_fir_stream]->args[2]->high = INT32_MAX;
         step(d, stream, 0).args[2] = slot(0x7fffffff, 0x7ffffffc, 0);
     }},
    {"length beyond its ring", 12, [](Draft &d) { step(d, run, 3).args[1] = length(65); }},
    {"length in a stream", 12, [](Draft &d) { step(d, stream, 0).args[2] = length(4); }},
    {"length with modulus 0", 12, [](Draft &d) { step(d, run, 3).args[1] = length(64, 1, 0); }},
    {"phase at its period", 12, [](Draft &d) { step(d, stream, 1).phase = 2; }},
    {"phase of a rebuild at its period", 12, [](Draft &d) { entry(d, large_stream).rebuild[0]->phase = 1; }},
    {"zero without bytes", 12, [](Draft &d) { step(d, run, 0).bytes = 0; }},
    {"zero beyond its space", 12, [](Draft &d) { step(d, run, 0).bytes = 833; }},
    {"zero_tail without rows", 12,
     [](Draft &d) { step(d, stream, 0).kind = fb::StepKind::zero_tail, step(d, stream, 0).args.resize(1); }},
    {"zero_tail of a run with rows before the first", 12, [](Draft &d) { step(d, run, 2).lead = 1; }},
    {"zero_tail by zero", 12, [](Draft &d) { step(d, run, 2).den = 0; }},
    {"zero_tail of rows for wholes of no ticks", 12, [](Draft &d) { step(d, run, 2).whole = 0; }},
};

const Case gpu_streams[] = {
    {"zero_tail in a stream of a GPU", 12,
     [](Draft &d) {
         auto tail = zero("tail", Space::arena, 0, 0);
         tail->kind = fb::StepKind::zero_tail;
         tail->rows = tail->row_bytes = 4;
         entry(d, 1).steps.push_back(std::move(tail));
     }},
};

const Case ports[] = {
    {"an input port of other rows", 12, [](Draft &d) { entry(d, stream).inputs[0]->rows = 3; }},
    {"an input port of narrow rows", 12, [](Draft &d) { entry(d, stream).inputs[0]->row_bytes = 0; }},
    {"an input port in the arena of a stream", 12,
     [](Draft &d) { into(*entry(d, stream).inputs[0]->place, Space::arena); }},
    {"an input port beyond its space", 12, [](Draft &d) { move_to(*entry(d, run).inputs[0]->place, 640); }},
    {"input slots that overlap", 12,
     [](Draft &d) { *entry(d, stream).inputs[0]->place = fb::Place(0, 8, 0, 4, 0, Space::state); }},
    {"a run whose input has slots", 12,
     [](Draft &d) { *entry(d, run).inputs[0]->place = fb::Place(32, 256, 0, 2, 0, Space::arena); }},
    {"input slots with a gap", 12,
     [](Draft &d) { *entry(d, stream).inputs[0]->place = fb::Place(0, 24, 0, 2, 0, Space::state); }},
    {"an input ring that begins elsewhere", 12,
     [](Draft &d) { *entry(d, stream).inputs[0]->place = fb::Place(0, 16, 0, 4, 1, Space::state); }},
    {"a stream with its input in another field", 12,
     [](Draft &d) { *entry(d, large_stream).inputs[0]->place = fb::Place(64, 0, 0, 1, 0, Space::state); }},
    {"a stream whose input ring is shorter", 12,
     [](Draft &d) { *entry(d, small_stream).inputs[0]->place = fb::Place(0, 8, 0, 4, 0, Space::state); }},
    {"a stream with two input ports", 12,
     [](Draft &d) {
         for (size_t e : {stream, small_stream, large_stream})
             entry(d, e).inputs.push_back(std::make_unique<fb::InputPortT>(*entry(d, e).inputs[0]));
     }},
    {"an entry without outputs", 12,
     [](Draft &d) {
         for (size_t e : {stream, small_stream, large_stream})
             entry(d, e).outputs.pop_back(), entry(d, e).outputs.pop_back();
         entry(d, stream).period = 2, entry(d, small_stream).period = 4;
     }},
    {"an output beyond its space", 12, [](Draft &d) { move_to(*entry(d, stream).outputs[0]->place, 184); }},
    {"an output in a cache", 12,
     [](Draft &d) { *entry(d, large_stream).outputs[0]->place = fb::Place(0, 0, 0, 1, 0, Space::cache); }},
    {"an output whose rows do not fit its clock", 12,
     [](Draft &d) { entry(d, stream).outputs[0]->rows = 3; }},
    {"an output that comes before its period ends, among several streams", 12,
     [](Draft &d) { step(d, stream, 1).phase = 0, entry(d, stream).outputs[1]->phase = 0; }},
    {"phase of an output at its period", 12, [](Draft &d) { entry(d, stream).outputs[1]->phase = 2; }},
    {"a run with room for fewer rows than it has", 12, [](Draft &d) { entry(d, run).outputs[0]->rows = 63; }},
};

const Case lone_lifetimes[] = {
    {"written less often than read", 10,
     [](Draft &d) {
         fb::OutputPortT &sums = *entry(d, stream).outputs[1];
         sums.period = 1;
         sums.phase = 0;
         sums.clock_den = 4;
     }},
};

const Case lone_ports[] = {
    {"an output whose rows come for no ticks together", 12,
     [](Draft &d) { entry(d, stream).outputs[0]->whole = 0; }},
    {"an output with clock 1/0", 12, [](Draft &d) { entry(d, stream).outputs[0]->clock_den = 0; }},
    {"an output of a stream without a time axis", 12,
     [](Draft &d) { entry(d, stream).outputs[0]->clock_num = 0; }},
};

const Case overlaps[] = {
    {"an output overlaps an input of its step", 14, [](Draft &d) { move_to(place(d, run, 1, 3), 64); }},
    {"an output overlaps an input of its step in the state", 14,
     [](Draft &d) { step(d, stream, 0).args[3] = at(Space::state, 0, 4, 16); }},
    {"an output overlaps an input of its step in a cache", 14,
     [](Draft &d) { step(d, large_stream, 1).args[3] = at(Space::cache, 0, 2, 32); }},
    {"an output at the very place of an input, in the state", 14,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->args[0] = at(Space::cache, 0, 2, 32); }},
    {"an output overlaps what is updated in place", 14,
     [](Draft &d) {
         step(d, stream, 1).args[2] = at(Space::state, 64), step(d, stream, 1).args[1] = at(Space::state, 64);
     }},
    {"an input overlaps what is updated in place", 14,
     [](Draft &d) { step(d, stream, 1).args[1] = at(Space::state, 64); }},
    {"tiles of a zero step overlap", 14, [](Draft &d) { step(d, run, 0).tiles = 2; }},
    {"tiles write the same bytes", 14, [](Draft &d) { step(d, stream, 0).tiles = 2; }},
    {"tiles of prepare write the same bytes", 14, [](Draft &d) { step(d, prepare, 0).tiles = 3; }},
    {"tiles write bytes of each other", 14,
     [](Draft &d) { step(d, run, 5).args[2] = at(Space::arena, 704, 1, 0, 0, 8); }},
    {"tiles that could run at once update one place", 14, [](Draft &d) { step(d, run, 5).ordered = false; }},
    {"tiles in turn write one output", 14, [](Draft &d) { step(d, run, 5).args[2] = at(Space::arena, 704); }},
    {"a tick that clears more than fits its time", 14,
     [](Draft &d) {
         entry(d, stream).steps.push_back(zero("clear", Space::arena, 0, 64));
         repeat(entry(d, stream).steps, 2, 16); // 17 · 64 bytes, four times what there is: 1024
     }},
    {"a rebuild that clears more than fits its time", 14,
     [](Draft &d) {
         entry(d, large_stream).rebuild.push_back(zero("clear", Space::cache, 0, 64));
         entry(d, large_stream).rebuild[1]->replay_from = 1 << 20;
     }},
    {"a run that clears for minutes", 14,
     [](Draft &d) {
         auto &steps = entry(d, run).steps;
         const uint64_t bytes = entry(d, run).arena_bytes = 1 << 20;
         steps.insert(steps.begin(), zero("clear", Space::arena, 0, bytes));
         for (int i = 0; i < 5; ++i) steps.insert(steps.begin(), std::make_unique<fb::StepT>(*steps[0]));
     }},
};

} // namespace

} // namespace memory_rules_test

void longwave::test::memory_samples(Samples &samples) {
    add_cases(samples, "V10", family_model, memory_rules_test::lifetimes);
    add_cases(samples, "V10 of a single stream", audio_model, memory_rules_test::lone_lifetimes);
    add_cases(samples, "V12, places", family_model, memory_rules_test::places);
    add_cases(samples, "V12, calls", family_model, memory_rules_test::calls);
    add_cases(samples, "V12, streams of a GPU", gpu_stream_model, memory_rules_test::gpu_streams);
    add_cases(samples, "V12, ports", family_model, memory_rules_test::ports);
    add_cases(samples, "V12, ports of a single stream", audio_model, memory_rules_test::lone_ports);
    add_cases(samples, "V14", family_model, memory_rules_test::overlaps);
}

namespace memory_rules_test {

TEST_CASE("verify: V10, what is read was written in the same block") {
    check_cases(family_model, lifetimes);
    check_cases(audio_model, lone_lifetimes);
}
TEST_CASE("verify: V12, every place inside its space") { check_cases(family_model, places); }
TEST_CASE("verify: V12, calls as their kernels take them") { check_cases(family_model, calls); }
TEST_CASE("verify: V12, streams of a GPU") { check_cases(gpu_stream_model, gpu_streams); }
TEST_CASE("verify: V12, ports") {
    check_cases(family_model, ports);
    check_cases(audio_model, lone_ports);
}
TEST_CASE("verify: V14, what a step does to itself") { check_cases(family_model, overlaps); }

TEST_CASE("verify: a scalar whose kernel knows only 0 takes 0") {
    Draft draft = audio_model();
    draft.plan.kernels[k_fir_run]->args[2]->high = 0;
    step(draft, run, 1).args[2] = constant(0);
    check_sound(draft);
    step(draft, run, 1).args[2] = slot(1000, 8, 0, 0); // a run fires once
    check_sound(draft);
    step(draft, run, 1).args[2] = constant(1);
    CHECK(check(draft.bytes()).rule == 12);
}

// state: the input's ring of 16 samples, then a ring of 4 slots of 4 values interleaved, as spectra
// of past blocks lie.
static Draft ring_model(std::vector<fb::Dim> newest, uint32_t slots, uint64_t slot_bytes) {
    Draft draft = empty_draft("ring");
    add_input(draft, "x", fb::InputKind::features);
    add_field(draft, "input", "x", fb::StateKind::history, {16, 1});
    add_field(draft, "conv", "spectra", fb::StateKind::spectra, {4, 4, 2});
    const std::vector<fb::Dim> ring = {{2, 1}, {4, 2}, {4, 8}};
    add_kernel(draft, fuse, "conv",
               {arg(fb::ArgKind::input, fb::Elem::f32, ring),
                arg(fb::ArgKind::output, fb::Elem::f32, std::move(newest)),
                arg(fb::ArgKind::output, fb::Elem::f32, {{4, 1}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 4;
    stream->arena_bytes = 64;
    stream->inputs.push_back(input_port(place(Space::state, 0, 4, 16), 4, 4));
    stream->steps.push_back(
        call("conv", 0,
             bindings(at(Space::state, 64), at(Space::state, 64, slots, slot_bytes), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("y", place(Space::arena, 0), 1, 4, 1, 1));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

TEST_CASE("verify: the newest slot of a ring may be written by the kernel that reads the ring, and nothing "
          "but a slot") {
    check_sound(ring_model({{2, 1}, {4, 8}}, 4, 8), "a slot");
    CHECK(check(ring_model({{2, 1}, {4, 8}}, 3, 8).bytes()).rule == 14);  // fewer slots than the ring has
    CHECK(check(ring_model({{2, 1}, {3, 8}}, 4, 8).bytes()).rule == 14);  // part of a slot
    CHECK(check(ring_model({{4, 1}, {3, 8}}, 4, 8).bytes()).rule == 14);  // another shape
    CHECK(check(ring_model({{2, 1}, {4, 2}}, 4, 32).bytes()).rule == 0);  // a slot the other way round
    CHECK(check(ring_model({{2, 1}, {4, 2}}, 2, 64).bytes()).rule == 14); // every second of them
    CHECK(check(ring_model({{2, 1}, {4, 2}, {4, 8}}, 1, 0).bytes()).rule == 14); // all of it
}

TEST_CASE("verify: a kernel may write over its input in the arena, in the very same place and shape") {
    Draft draft = audio_model(); // prepare: squares in the arena, then into derived
    entry(draft, prepare).arena_bytes = 64;
    auto &steps = entry(draft, prepare).steps;
    steps[0]->args[1] = at(Space::arena, 0);
    steps.push_back(call("again", k_square, bindings(at(Space::arena, 0), at(Space::arena, 0))));
    steps.push_back(call("out", k_square, bindings(at(Space::arena, 0), at(Space::derived, 0))));
    check_sound(draft);
    steps[1]->args[1] = at(Space::arena, 4);
    CHECK(check(draft.bytes()).rule == 14);
}

TEST_CASE("verify: slots of one ring keep apart when they advance together") {
    // hear copies a block into the slot behind the one it reads: never the same one.
    const auto model = [](uint32_t add) {
        Draft draft = family_model();
        auto &s = *entry(draft, large_stream).rebuild[0];
        s.args[0] = at(Space::cache, 0, 2, 32);
        s.args[2] = at(Space::cache, 0, 2, 32, add);
        return check(draft.bytes()).rule;
    };
    CHECK(model(1) == 0);
    CHECK(model(3) == 0);
    CHECK(model(2) == 14);
}

TEST_CASE("verify: the memory of steps that never fire together is not shared") {
    // Each slow step would find what it wrote, were the other's write in between not to be counted.
    // It is: no plan of ours lays tensors out so, and whoever does would have to prove more than
    // V10 looks at.
    Draft draft = audio_model();
    auto &steps = entry(draft, stream).steps;
    steps.push_back(zero("other", Space::arena, 0, 12));
    steps.back()->period = 2;
    CHECK(check(draft.bytes()).rule == 10);
    steps.back()->phase = 1;
    check_sound(draft);
}

} // namespace memory_rules_test
