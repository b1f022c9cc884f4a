// V14: what the steps of a block move, held against the memory that the entry has.
#include "tests/unit/formats/artifact/cases.h"
#include <doctest/doctest.h>

namespace traffic_test {

using namespace longwave;
using namespace longwave::test;
using fb::Space;

namespace {

constexpr uint32_t many = 3'000'000; // floats: 12 MB
constexpr uint64_t bytes = 4ull * many;

// A stream of 4 ticks a block that copies 12 MB of state into 12 MB of arena, `calls` times. The
// files are small: nothing but the plan says that the memory is there.
Draft copying_stream(size_t calls, uint32_t block = 4) {
    Draft draft = empty_draft("copies");
    add_input(draft, "x", fb::InputKind::features);
    add_field(draft, "input", "x", fb::StateKind::history, {block, 1});
    add_field(draft, "layer", "rows", fb::StateKind::carry, {many});
    const uint64_t field = draft.plan.state.back()->offset;
    add_kernel(draft, fuse, "copy",
               {arg(fb::ArgKind::input, fb::Elem::f32, {{many, 1}}),
                arg(fb::ArgKind::output, fb::Elem::f32, {{many, 1}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = block;
    stream->arena_bytes = bytes;
    stream->inputs.push_back(input_port(test::place(Space::state, 0), block, 4));
    for (size_t i = 0; i < calls; ++i)
        stream->steps.push_back(call("copy", 0, bindings(at(Space::state, field), at(Space::arena, 0))));
    stream->outputs.push_back(output_port("y", test::place(Space::arena, 0), 1, block, 1, 1));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

artifact::Broken verdict(const Draft &draft) { return check(draft.bytes(), uint64_t{1} << 32); }

// Prepare of the audio model with one more step, after its own.
Draft preparing(std::unique_ptr<fb::StepT> last, uint64_t arena) {
    Draft draft = audio_model();
    entry(draft, prepare).arena_bytes = arena;
    entry(draft, prepare).steps.push_back(std::move(last));
    return draft;
}

} // namespace

TEST_CASE("traffic: a small file whose block walks over its memory hundreds of times is refused") {
    const Draft attack = copying_stream(400);
    CHECK(attack.bytes().size() < 100'000);
    const artifact::Broken broken = verdict(attack);
    CHECK(broken.rule == 14);
    CHECK(broken.a == 400 * 2 * bytes);
    CHECK(broken.b / bytes == 72); // 32 + 4 times state and arena
    CHECK(verdict(copying_stream(37)).rule == 14);
    CHECK(verdict(copying_stream(36)).rule == 0);
}

TEST_CASE("traffic: a block of many ticks may walk over its memory more often, once for each of them") {
    CHECK(verdict(copying_stream(400, 364)).rule == 14);
    CHECK(verdict(copying_stream(400, 368)).rule == 0);
}

TEST_CASE("traffic: tiles count one by one, however little of them there is") {
    Draft draft = copying_stream(1);
    fb::StepT &again = *entry(draft, 0).steps[0];
    again.tiles = 400;
    again.args[1]->place = test::place(Space::arena, 0, 1, 0, 0, bytes);
    entry(draft, 0).arena_bytes = 400 * bytes; // every tile has an output of its own
    CHECK(verdict(draft).rule == 20);          // in proportion, but more than this caller has

    draft = audio_model(); // 36 bytes in, 36 out, 64 apart: a call takes its time all the same
    draft.plan.derived_bytes = 64;
    fb::StepT &tiny = step(draft, run, 0);
    tiny.tiles = 1;
    CHECK(check(draft.bytes()).rule == 0);
    auto one = call("taps", k_square, bindings(at(Space::weights, 0), at(Space::arena, 832, 1, 0, 0, 36)));
    one->tiles = 1 << 17;
    entry(draft, run).arena_bytes = (1 << 17) * 36 + 832 + 64 - 832 % 64;
    entry(draft, run).steps.push_back(std::move(one));
    entry(draft, run).steps.back()->args[1]->place = test::place(Space::arena, 832, 1, 0, 0, 36);
    CHECK(check(draft.bytes()).rule == 0); // 28 times 4.7 MB
    draft.plan.kernels[k_square]->args[0]->dims =
        draft.plan.kernels[k_square]->args[1]->dims = {fb::Dim(1, 1)};
    entry(draft, run).steps.back()->args[1]->place = test::place(Space::arena, 832, 1, 0, 0, 4);
    entry(draft, run).arena_bytes = (1 << 17) * 4 + 1024;
    CHECK(check(draft.bytes()).rule == 14); // 256 times 0.5 MB
}

TEST_CASE("traffic: a rebuild moves no more for each block that it runs again than a block may") {
    Draft draft = family_model();
    entry(draft, large_stream).rebuild[0]->replay_from = 1 << 20; // of 2^20 blocks: bounded by V6
    CHECK(check(draft.bytes()).rule == 0);
    repeat(entry(draft, large_stream).rebuild, 0, 60);
    for (auto &s : entry(draft, large_stream).rebuild) s->replay_from = 1, s->tiles = 1;
    CHECK(check(draft.bytes()).rule == 0);
    draft.plan.kernels[k_copy]->args[0]->dims = {fb::Dim(1 << 24, 0), fb::Dim(1, 8)};
    CHECK(check(draft.bytes()).rule == 0); // a stride of 0: one element, over and over
}

TEST_CASE("traffic: prepare moves what it needs to write its tables, and its arena is not among them") {
    SUBCASE("calls that fill the arena again and again") {
        Draft draft = preparing(call("fill", 8, bindings(at(Space::weights, 0), at(Space::arena, 0))), bytes);
        draft.plan.kernels.resize(5);
        draft.plan.variants[0]->entry.resize(5);
        draft.plan.variants[0]->scratch.resize(5);
        add_kernel(draft, scale, "fill",
                   {arg(fb::ArgKind::input, fb::Elem::f32, {{1, 1}}),
                    arg(fb::ArgKind::output, fb::Elem::f32, {{many, 1}})});
        entry(draft, prepare).steps.back()->kernel = 5;
        CHECK(verdict(draft).rule == 14);
    }
    SUBCASE("clears of it") {
        CHECK(verdict(preparing(zero("clear", Space::arena, 0, bytes), bytes)).rule == 14);
        CHECK(verdict(preparing(zero("clear", Space::arena, 0, 4096), bytes)).rule == 0);
    }
    SUBCASE("tiles that compute one thing often") {
        const auto often = [](uint32_t tiles) {
            Draft draft = preparing(
                call("again", k_square, bindings(at(Space::weights, 0), at(Space::arena, 0, 1, 0, 0, 36))),
                64 * (1 << 15));
            entry(draft, prepare).steps.back()->tiles = tiles;
            return check(draft.bytes()).rule;
        };
        CHECK(often(4) == 0);
        CHECK(often(1 << 15) == 14); // 1.2 MB of outputs that nobody reads, 32768 calls
    }
}

} // namespace traffic_test
