// What opening costs: work that grows with the bytes of the file and with nothing they say. Work is
// counted, not timed: no test depends on how busy the machine is. The times are printed for whoever
// wants to see them.
#include "tests/unit/formats/artifact/cases.h"
#include <cstring>
#include <ctime>
#include <doctest/doctest.h>

namespace cost_test {

using namespace longwave;
using namespace longwave::test;
using artifact::Broken;
using artifact::Header;
using fb::Space;

namespace {

struct Cost {
    Broken broken;
    uint64_t work = 0;
    double bytes = 0, plan_bytes = 0, seconds = 0;
    double per_byte() const { return static_cast<double>(work) / plan_bytes; }
};

Cost cost_of(const std::vector<uint8_t> &bytes, const char *name) {
    Cost cost;
    uint8_t *copy = nullptr;
    REQUIRE(posix_memalign(reinterpret_cast<void **>(&copy), 64, bytes.size()) == 0);
    memcpy(copy, bytes.data(), bytes.size());
    Header header;
    memcpy(&header, copy, sizeof header);
    artifact::Request request;
    request.file = copy;
    request.size = bytes.size();
    request.memory_limit = UINT64_MAX;
    request.work = &cost.work;
    artifact::View view;
    const std::clock_t begin = std::clock();
    cost.broken = artifact::verify(request, &view);
    cost.seconds =
        static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC; // of this process, whatever else runs
    cost.bytes = static_cast<double>(bytes.size());
    cost.plan_bytes = static_cast<double>(header.plan_bytes);
    MESSAGE(std::string(name), ": ", bytes.size(), " bytes, V", int(cost.broken.rule), " ",
            std::string(cost.broken.text), ", ", cost.per_byte(), " units a byte, ",
            cost.seconds * 1e9 / cost.bytes, " ms a megabyte");
    free(copy);
    return cost;
}

Cost cost_of(const Draft &draft, const char *name) { return cost_of(draft.bytes(), name); }

// Plans share tables only where no writer does; this is what one looks like that was made to: the
// header of a sound file, and a plan straight from a builder.
std::vector<uint8_t> file_around(const flatbuffers::FlatBufferBuilder &builder) {
    std::vector<uint8_t> bytes = audio_model().bytes();
    Header header;
    memcpy(&header, bytes.data(), sizeof header);
    bytes.resize(artifact::header_bytes);
    bytes.insert(bytes.end(), builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    header.plan_bytes = builder.GetSize();
    header.total_bytes = bytes.size();
    memcpy(bytes.data(), &header, sizeof header);
    return patch(bytes, 0, {0x89}); // renews the root
}

// A stream of `layers` layers, each of a few calls that hand an arena on, some of them in turns of
// 16 blocks, some of them remembering: the shape of real plans, and larger than any of them.
Draft deep_model(int layers) {
    Draft draft = empty_draft("deep");
    add_input(draft, "x", fb::InputKind::features);
    set_weights(draft, {1, 0, 0, 0});
    add_field(draft, "input", "x", fb::StateKind::history, {16, 1});
    const std::vector<fb::Dim> block = {{16, 1}, {1, 16}};
    add_kernel(draft, scale, "scale",
               {arg(fb::ArgKind::input, fb::Elem::f32, block),
                arg(fb::ArgKind::input, fb::Elem::f32, {{1, 1}}),
                arg(fb::ArgKind::output, fb::Elem::f32, block)});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 16;
    stream->period = 16;
    stream->arena_bytes = 4 * 64;
    stream->inputs.push_back(input_port(place(Space::state, 0), 16, 4));
    stream->steps.push_back(
        call("first", 0, bindings(at(Space::state, 0), at(Space::weights, 0), at(Space::arena, 0))));
    uint64_t now = 0; // where the rows of the layer before lie
    for (int layer = 0; layer < layers; ++layer) {
        const std::string name = "layers/" + std::to_string(layer) + "/a_name_as_long_as_they_are ";
        add_field(draft, name, "rows", fb::StateKind::carry, {16});
        const uint64_t field = draft.plan.state.back()->offset;
        for (int i = 0; i < 5; ++i, now = (now + 64) % 192)
            stream->steps.push_back(call(
                name + "linear", 0,
                bindings(at(Space::arena, now), at(Space::weights, 0), at(Space::arena, (now + 64) % 192))));
        auto turn = call(name + "large", 0,
                         bindings(at(Space::arena, now), at(Space::weights, 0), at(Space::state, field)));
        turn->period = 16;
        turn->phase = static_cast<uint32_t>(layer % 16);
        stream->steps.push_back(std::move(turn));
        for (int i = 0; i < 8; ++i) {
            auto slow = call(name + "slow", 0,
                             bindings(at(Space::state, field), at(Space::weights, 0), at(Space::arena, 192)));
            slow->period = 16;
            slow->phase = static_cast<uint32_t>((layer + i) % 16);
            stream->steps.push_back(std::move(slow));
        }
    }
    stream->outputs.push_back(output_port("y", place(Space::arena, now), 1, 16, 1, 1));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

// A file whose run entry has its first step `times` times more: one table, named again and again.
// `padding` bytes of report make the file long enough for so many tables.
std::vector<uint8_t> step_shared(Draft draft, uint32_t times, size_t padding) {
    std::vector<std::unique_ptr<fb::StepT>> &steps = entry(draft, run).steps;
    for (uint32_t i = 0; i < times; ++i) steps.insert(steps.begin() + 1, std::make_unique<fb::StepT>());
    draft.plan.report = std::string(padding, ' ');
    std::vector<uint8_t> bytes = draft.bytes();
    const fb::Plan &plan = *fb::GetPlan(bytes.data() + artifact::header_bytes);
    const auto *list = plan.entries()->Get(run)->steps();
    const uint8_t *first = reinterpret_cast<const uint8_t *>(list->Get(0));
    for (uint32_t i = 1; i <= times; ++i) {
        uint8_t *at = const_cast<uint8_t *>(list->Data()) + 4 * i; // an offset counts from where it stands
        flatbuffers::WriteScalar(at, static_cast<flatbuffers::uoffset_t>(first - at));
    }
    return patch(bytes, 0, {0x89});
}

// The audio model's run with 32 inputs read and 32 outputs written by one call before all else.
Draft wide_model() {
    Draft draft = audio_model();
    fb::EntryT &whole = entry(draft, run);
    std::vector<fb::KernelArgT> args;
    auto wide = std::make_unique<fb::StepT>();
    for (uint64_t i = 0; i < 64; ++i) {
        const bool writes = i % 2 != 0;
        args.push_back(arg(writes ? fb::ArgKind::output : fb::ArgKind::input, fb::Elem::f32, {{1, 1}}));
        wide->args.push_back(writes ? at(Space::arena, 640 + 4 * i) : at(Space::weights, 0));
    }
    wide->kernel = static_cast<uint16_t>(draft.plan.kernels.size());
    add_kernel(draft, fuse, "wide", std::move(args));
    whole.arena_bytes = 1024;
    whole.steps.insert(whole.steps.begin(), std::move(wide));
    return draft;
}

constexpr double limit = 5; // units a byte: V10's own limit, and what it does before it looks

} // namespace

TEST_CASE("cost: plans as they are need a fraction of the work they may") {
    for (const Draft &draft :
         {audio_model(), family_model(), token_model(), deep_model(4), deep_model(24), deep_model(96)}) {
        const Cost cost = cost_of(draft, draft.plan.name.c_str());
        CHECK(!cost.broken);
        CHECK(cost.per_byte() < 1);
    }
}

TEST_CASE("cost: blocks in which nothing fires cost nothing: a period is that of the steps, or refused") {
    SUBCASE("a period of 2^20 blocks that no step has") {
        Draft draft = audio_model();
        entry(draft, stream).period = 1 << 20;
        repeat(entry(draft, stream).steps, 0, 2000);
        const Cost cost = cost_of(draft, "empty period");
        CHECK(cost.broken.rule == 6);
        CHECK(cost.work == 0);
    }
    SUBCASE("a period of 2^20 blocks of one step among thousands") {
        Draft draft = audio_model();
        repeat(entry(draft, stream).steps, 0, 2000);
        repeat(entry(draft, stream).steps, 0, 1);
        entry(draft, stream).steps.back()->period = entry(draft, stream).period = 1 << 20;
        const Cost cost = cost_of(draft, "one slow step");
        CHECK(cost.broken.rule == 0);
        CHECK(cost.per_byte() < 1);
    }
    SUBCASE("thousands of steps of that period, and nothing between their firings") {
        for (const bool at_once : {true, false}) {
            Draft draft = audio_model();
            fb::EntryT &idle = entry(draft, stream);
            idle.steps.pop_back();
            idle.outputs.pop_back();
            idle.period = idle.steps[0]->period = 1 << 20;
            repeat(idle.steps, 0, 4500);
            for (uint32_t i = 0; i < idle.steps.size() && !at_once; ++i) idle.steps[i]->phase = i * 233;
            const Cost cost = cost_of(draft, "slow steps");
            CHECK(cost.broken.rule == 0);
            CHECK(cost.per_byte() < 1);
        }
    }
    SUBCASE("a period outside a stream") {
        Draft draft = audio_model();
        entry(draft, run).period = 1 << 20;
        CHECK(cost_of(draft, "period of a run").broken.rule == 6);
    }
    SUBCASE("sixteen streams of long periods without a step") {
        Draft draft = audio_model();
        for (int i = 0; i < 13; ++i) {
            auto idle = std::make_unique<fb::EntryT>(entry(draft, stream));
            idle->steps.clear();
            idle->period = 1 << 20;
            draft.plan.entries.push_back(std::move(idle));
        }
        const Cost cost = cost_of(draft, "idle streams");
        CHECK(cost.broken.rule == 6);
        CHECK(cost.work == 0);
    }
}

TEST_CASE("cost: memory cut into many pieces by many steps is refused before it is followed to its end") {
    for (const int steps : {200, 2000, 20000}) {
        Draft draft = audio_model();
        fb::EntryT &entry = *draft.plan.entries[run];
        entry.arena_bytes = 1 << 26;
        for (int i = 0; i < steps; ++i) // each over all the ones before
            entry.steps.push_back(zero("", Space::arena, 832, 64 * static_cast<uint64_t>(i + 1)));
        const Cost cost = cost_of(draft, "tangled");
        CHECK(cost.broken.rule == (steps == 20000 ? 14 : steps == 2000 ? 10 : 0));
        CHECK(cost.per_byte() < limit);
    }
}

TEST_CASE("cost: a megabyte of plan, whatever it is made of") {
    SUBCASE("steps") {
        Draft draft = audio_model();
        repeat(entry(draft, stream).steps, 0, 4000);
        CHECK(cost_of(draft, "calls").per_byte() < 1);
    }
    SUBCASE("calls of 64 arguments") {
        Draft draft = wide_model();
        repeat(entry(draft, run).steps, 0, 300);
        std::rotate(entry(draft, run).steps.begin(), entry(draft, run).steps.end() - 300,
                    entry(draft, run).steps.end());
        CHECK(cost_of(draft, "wide calls").per_byte() < 1);
    }
    SUBCASE("one call of 64 arguments, over and over") {
        const Cost cost = cost_of(step_shared(wide_model(), 900, 950'000), "one wide call");
        CHECK(cost.broken.rule == 0);
        CHECK(cost.per_byte() < 1);
    }
    SUBCASE("one clear, over and over") {
        Draft draft = audio_model();
        entry(draft, run).steps[0]->bytes = 1;
        entry(draft, run)
            .steps.insert(entry(draft, run).steps.begin() + 1, zero("history", Space::arena, 0, 32));
        const Cost cost = cost_of(step_shared(std::move(draft), 25000, 700'000), "one clear");
        CHECK(cost.broken.rule == 14);
        CHECK(cost.per_byte() < 1);
    }
    SUBCASE("one call, over and over") {
        Draft draft = audio_model();
        auto &steps = entry(draft, run).steps;
        std::swap(steps[0], steps[1]);
        steps[0]->args[0] = at(Space::weights, 0);
        draft.plan.kernels[k_fir_run]->args[0]->dims[0] = fb::Dim(9, 1);
        const Cost cost = cost_of(step_shared(std::move(draft), 10000, 850'000), "one call");
        CHECK(cost.broken.rule == 0);
        CHECK(cost.per_byte() < 1);
    }
    SUBCASE("steps that clear nothing much") {
        Draft draft = audio_model();
        for (uint64_t i = 0; i < 6000; ++i)
            entry(draft, run).steps.push_back(zero("", Space::arena, i * 64, 1));
        entry(draft, run).arena_bytes = 1 << 20;
        auto &steps = entry(draft, run).steps;
        std::rotate(steps.begin(), steps.begin() + 4, steps.end()); // before the run's own
        CHECK(cost_of(draft, "small clears").per_byte() < 2);
    }
    SUBCASE("kernels") {
        Draft draft = audio_model();
        for (int i = 0; i < 8000; ++i)
            add_kernel(draft, fuse, "", {arg(fb::ArgKind::input, fb::Elem::f32, {{1, 1}})});
        CHECK(cost_of(draft, "kernels").per_byte() < 1);
    }
    SUBCASE("fields of the state") {
        Draft draft = audio_model();
        for (int i = 0; i < 8000; ++i)
            add_field(draft, "layer", "field", fb::StateKind::carry, {1, 1, 1, 1, 1, 1});
        repeat(entry(draft, stream).steps, 0, 1000);
        CHECK(cost_of(draft, "fields").per_byte() < 1);
    }
    SUBCASE("entries of many outputs") {
        Draft draft = audio_model();
        for (int i = 0; i < 254; ++i) {
            entry(draft, run)
                .outputs.push_back(std::make_unique<fb::OutputPortT>(*entry(draft, run).outputs[0]));
            entry(draft, run).outputs.back()->name = std::string(200, 'n') + std::to_string(i);
        }
        for (int i = 0; i < 12; ++i)
            draft.plan.entries.push_back(std::make_unique<fb::EntryT>(entry(draft, run)));
        CHECK(cost_of(draft, "outputs").per_byte() < 1);
    }
}

TEST_CASE("cost: tables that share one text or one step may not say more than the plan is long") {
    flatbuffers::FlatBufferBuilder builder;
    const auto digest = builder.CreateVector(std::vector<uint8_t>(32));
    const auto shared = builder.CreateString(std::string(4096, 's'));
    const auto name = builder.CreateString("bomb");
    const auto none = builder.CreateVector(std::vector<flatbuffers::Offset<fb::KernelArg>>{});
    std::vector<flatbuffers::Offset<fb::Kernel>> kernels;
    std::vector<flatbuffers::Offset<fb::StateField>> fields;
    const auto inputs =
        builder.CreateVector(std::vector<flatbuffers::Offset<fb::Input>>{fb::CreateInput(builder, name)});
    const auto variants = builder.CreateVector(std::vector<flatbuffers::Offset<fb::CodeVariant>>{});
    const auto segments = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Segment>>{});
    const auto plan_of = [&](flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Step>>> steps) {
        const auto entries = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Entry>>{
            fb::CreateEntry(builder, fb::EntryKind::prepare, 0, 0, 0, 0, 0, steps)});
        const auto kernel_list = builder.CreateVector(kernels);
        const auto field_list = builder.CreateVector(fields);
        builder.Finish(fb::CreatePlan(builder, name, name, inputs, 0, kernel_list, variants, segments,
                                      entries, 0, 0, field_list, 0, digest, digest),
                       fb::PlanIdentifier());
        return file_around(builder);
    };
    SUBCASE("specifications of kernels") {
        for (int i = 0; i < 100; ++i) kernels.push_back(fb::CreateKernel(builder, shared, 0, none));
        CHECK(cost_of(plan_of(builder.CreateVector(std::vector<flatbuffers::Offset<fb::Step>>{})), "texts")
                  .broken.rule == 16);
    }
    SUBCASE("names of fields") {
        const auto dims = builder.CreateVector(std::vector<uint32_t>{1});
        const auto field = builder.CreateString(std::string(200, 'f'));
        for (int i = 0; i < 1000; ++i)
            fields.push_back(
                fb::CreateStateField(builder, field, field, fb::StateKind::carry, fb::Elem::f32, dims));
        CHECK(cost_of(plan_of(builder.CreateVector(std::vector<flatbuffers::Offset<fb::Step>>{})), "fields")
                  .broken.rule == 16);
    }
    SUBCASE("one step, over and over") {
        const auto args = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Binding>>{});
        fb::StepBuilder one(builder);
        one.add_args(args);
        const auto step = one.Finish();
        const auto steps = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Step>>(60000, step));
        CHECK(cost_of(plan_of(steps), "one step").broken.rule ==
              5); // more tables than a plan of its size can have
    }
}

} // namespace cost_test
