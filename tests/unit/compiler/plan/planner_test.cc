// Planning one entry: paces, rings, memory, and which algorithm a convolution gets.
#include "compiler/ops/costs.h"
#include "compiler/passes/make_streaming.h"
#include "compiler/plan/entry_planner.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/rounding.h"
#include "compiler/plan/stream_family.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <algorithm>
#include <doctest/doctest.h>

namespace planner_test {

using namespace longwave;
using namespace longwave::compiler;
using ir::graph_of;

namespace {

// 16 channels at the input's rate, a causal convolution of 8 taps, its mean.
const char *small = R"(graph "small"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [1,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} ; layer conv
%4 = gelu(%3) ; layer act
output "y" %4
)";

Expected<EntryPlan> plan_run(const ir::Graph &g, uint32_t capacity, const std::string &convolution) {
    Storage storage;
    StateRecord record;
    EntryPlanner planner(g, {.block = capacity, .convolution = convolution}, storage, record);
    LW_TRY(planner.survey());
    return planner.plan({});
}

uint64_t end_of(const Buffer &b) { return b.offset + b.bytes; }

} // namespace

TEST_CASE("planner: in a mixed run each side has its steps, and a value is moved once for those that read it "
          "there") {
    const ir::Graph g = graph_of(R"(graph "mixed"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [1,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} ; layer conv
%4 = gelu(%3) ; layer act
%5 = long_conv(%4, %1, %2) {channels=1, two_sided=0} ; layer again
%6 = add(%5, %3) ; layer sum
output "y" %6
)");
    const auto plan_with = [&](std::set<std::string> cpu_layers) {
        Storage storage;
        StateRecord record;
        EntryPlanner planner(
            g, {.block = 64, .device = devices::find(devices::all(), "vulkan-32k"), .cpu_layers = cpu_layers}, storage,
            record);
        auto status = planner.survey();
        REQUIRE_MESSAGE(status, status.message());
        auto plan = planner.plan({});
        REQUIRE_MESSAGE(plan, plan.status().message());
        plan_memory(*plan);
        return *std::move(plan);
    };
    // conv | act | again+sum, and its output back to the CPU.
    const EntryPlan plan = plan_with({"act"});
    std::string order;
    for (const Step &step : plan.steps)
        if (step.kind == Step::Kind::to_device) order += "<";
        else if (step.kind == Step::Kind::to_cpu) order += ">";
        else if (step.kind == Step::Kind::call) order += step.cpu ? "p" : "g";
    CHECK(order == "<g>p<gg>"); // the sum reads what conv left on the device: it is not moved again
    for (const Step &step : plan.steps) {
        if (step.kind != Step::Kind::call) continue;
        CHECK(step.cpu == (step.layer == "act"));
    }
    const auto sum = plan_with({"sum"}); // alone: its own kernel behind the device's
    CHECK(std::count_if(sum.steps.begin(), sum.steps.end(),
                        [](const Step &step) { return step.cpu && step.kind == Step::Kind::call; }) == 1);
    const EntryPlan whole = plan_with({});
    CHECK(std::none_of(whole.steps.begin(), whole.steps.end(), [](const Step &step) {
        return step.cpu || step.kind == Step::Kind::to_device || step.kind == Step::Kind::to_cpu;
    }));
}

TEST_CASE("pace: a block holds whole hops, or a hop whole blocks") {
    CHECK(pace_of({1, 160}, 160)->rows == 1);
    CHECK(pace_of({1, 160}, 480)->rows == 3);
    auto slow = pace_of({1, 320}, 160);
    REQUIRE(slow);
    CHECK(slow->rows == 1);
    CHECK(slow->period == 2);
    CHECK(slow->phase == 1); // a row is exact when its last input has come
    CHECK(pace_of({1, 160}, 1)->period == 160);
    auto cut = pace_of({1, 160}, 240);
    REQUIRE_FALSE(cut);
    CHECK(cut.status().fault() == Fault::usage);
}

namespace {

// A long convolution in a plan: rows of the sequence, or of a block.
struct Problem {
    uint32_t taps, rows;
    bool streaming = false, two_sided = false;
    uint32_t channels = 64;
};

Expected<Choice> choose_for(const Problem &problem, const std::string &force = "") {
    const std::string channels = std::to_string(problem.channels);
    const auto g =
        graph_of("graph \"one\"\n%0 = input \"x\" features : f32[" + channels +
                 "] @1/1\n%1 = const \"k\" : [" + std::string(problem.two_sided ? "2" : "1") + "," +
                 channels + "," + std::to_string(problem.taps) + "]\n%2 = const \"D\" : [1," + channels +
                 "]\n%3 = long_conv(%0, %1, %2) {channels=1, two_sided=" +
                 (problem.two_sided ? "1" : "0") + "} ; layer conv\noutput \"y\" %3\n");
    return choose({.graph = g,
                   .node = g.nodes[0],
                   .rows = problem.rows,
                   .streaming = problem.streaming,
                   .costs = &costs::shipped(),
                   .device = devices::host()},
                  force);
}

std::string name_of(const Expected<Choice> &choice) {
    return choice ? choice->algorithm->name : choice.status().message();
}

} // namespace

TEST_CASE("convolution: the planner prefers direct for few taps and transforms for many") {
    CHECK(name_of(choose_for({16, 4096})) == "direct");
    CHECK(name_of(choose_for({4096, 4096})) == "right_angle");
    const auto blocks = choose_for({500, 160, true});
    CHECK(name_of(blocks) == "partitioned");
    CHECK(blocks->decisions.at("partitions") == 4);
    const auto longest = choose_for({16000, 160, true});
    REQUIRE(name_of(longest) == "nonuniform");
    // Each level begins where its first result is needed, and ends where the next one begins.
    const auto &decisions = longest->decisions;
    const uint32_t tail = decisions.at("tail_length"), middle = decisions.at("middle_length");
    CHECK(decisions.at("partitions") * 160 == 2 * (middle ? middle : tail));
    if (middle) CHECK((2 + decisions.at("middle_partitions")) * middle == 2 * tail);
    CHECK(2 * tail + decisions.at("tail_partitions") * tail >= 16000);
    CHECK(name_of(choose_for({64, 1, true})) == "direct"); // one row a block has no transform
    CHECK_FALSE(choose_for({4096, 4096})->runner_up.empty());
}

TEST_CASE("convolution: one channel that is much longer than its taps goes in blocks over phases") {
    const auto chosen = choose_for({.taps = 4096, .rows = 1 << 20, .channels = 1});
    CHECK(name_of(chosen) == "overlap_add_phases");
    CHECK(chosen->decisions.at("length") >= 4096);
    CHECK(chosen->decisions.at("length") <= 65536);
    CHECK(name_of(choose_for({.taps = 4096, .rows = 4096, .channels = 1})) == "polyphase");
    CHECK(name_of(choose_for({4096, 1 << 20}, "overlap_add_phases")).find("one channel") != std::string::npos);
}

TEST_CASE("convolution: what cannot be forced is refused with the reason") {
    const Problem two_sided{64, 64, false, true};
    CHECK(name_of(choose_for(two_sided, "direct")).find("two sides") != std::string::npos);
    CHECK(name_of(choose_for({64, 7, true}, "partitioned")).find("7 rows") != std::string::npos);
    CHECK(name_of(choose_for({640, 80, true}, "nonuniform")).find("640 taps are too few") !=
          std::string::npos);
    CHECK(check_algorithm_name("direct"));
    const Status unknown = check_algorithm_name("fastest");
    CHECK(unknown.fault() == Fault::usage);
    CHECK(unknown.message().find("right_angle") != std::string::npos);
}

namespace {

// A stream of a kernel of 9 scales of 64 weights: 16384 taps.
Expected<Choice> choose_for_scales(uint32_t channels, uint32_t rows, const std::string &force = "") {
    const std::string c = std::to_string(channels);
    const auto g = graph_of(
        "graph \"one\"\n%0 = input \"x\" features : f32[" + c + "] @1/1\n%1 = const \"w\" : [9,1," + c +
        ",64]\n%2 = expand_scales(%1) {nearest=0, init_scale=0, taps=16384}\n" + "%3 = const \"D\" : [1," +
        c + "]\n%4 = long_conv(%0, %2, %3) {channels=1, two_sided=0} ; layer conv\noutput \"y\" %4\n");
    return choose(
        {.graph = g, .node = *g.producer(4), .rows = rows, .streaming = true, .costs = &costs::shipped(),
                   .device = devices::host()},
        force);
}

} // namespace

TEST_CASE("convolution: the planner prefers dyadic for very short blocks, and for few channels in blocks "
          "that are no "
          "whole vectors") {
    for (const uint32_t rows : {1, 10}) CHECK(name_of(choose_for_scales(1, rows)) == "dyadic");
    for (const uint32_t rows : {16, 64}) CHECK(name_of(choose_for_scales(1, rows)) == "nonuniform");
    CHECK(name_of(choose_for_scales(128, 1)) == "dyadic");
    CHECK(name_of(choose_for_scales(128, 64)) == "nonuniform");
    const auto tiled = choose_for_scales(1, 160, "dyadic");
    REQUIRE(tiled);
    CHECK(tiled->decisions.at("rows") == 40); // of a call: 64 at most, and they divide the block
}

TEST_CASE("convolution: dyadic is refused where a kernel is given tap by tap, or has two sides") {
    CHECK(name_of(choose_for({4096, 64, true}, "dyadic")).find("not kept as its scales") !=
          std::string::npos);
    CHECK(name_of(choose_for({64, 64, true, true}, "dyadic")).find("two sides") != std::string::npos);
}

TEST_CASE("stream plan: a convolution's input is a ring of its history and one block") {
    auto g = make_streaming(graph_of(small));
    REQUIRE(g);
    Storage storage;
    auto family = plan_streams(*g, {4}, "direct", storage);
    INFO(family.status().message());
    REQUIRE(family);
    const EntryPlan *plan = &family->entries[0];
    REQUIRE(plan->steps.size() == 1); // gelu is an epilogue
    CHECK(plan->steps[0].spec.find("\"gelu\"") != std::string::npos);
    // 7 rows back and 4 new ones: 12 is the next multiple of 4; the slot of a block follows from
    // its number.
    REQUIRE(plan->inputs.size() == 1);
    CHECK(plan->inputs[0].place.slots == 3);
    CHECK(plan->inputs[0].place.slot_bytes == 4 * 16 * 4);
    const auto &position = std::get<Scalar>(plan->steps[0].args[2]);
    CHECK(position.modulus == 3);
    CHECK(position.mul == 4);
    REQUIRE(family->record.fields().size() == 1);
    CHECK(family->record.fields()[0]->kind == StateKind::history);
    CHECK(family->record.fields()[0]->dims == std::vector<uint32_t>{12, 16});
    CHECK(family->record.fields()[0]->needs == 7);
    CHECK(family->record.bytes() == 12 * 16 * 4);
}

TEST_CASE("run plan: the same convolution reads behind zero rows, tile by tile") {
    auto g = graph_of(small);
    auto plan = plan_run(g, 211, "direct");
    INFO(plan.status().message());
    REQUIRE(plan);
    REQUIRE(plan->steps.size() == 3);
    CHECK(plan->steps[0].kind == Step::Kind::zero);
    CHECK(plan->steps[0].bytes == 7 * 16 * 4);
    CHECK(plan->steps[1].kind == Step::Kind::zero); // the last tile reads a row behind the 211th
    CHECK(plan->steps[1].bytes == 1 * 16 * 4);
    CHECK(plan->steps[2].tiles == 2); // 106 rows a tile
    const auto &position = std::get<Scalar>(plan->steps[2].args[2]);
    CHECK(position.value == 7);
    CHECK(position.tile_mul == 106);
}

TEST_CASE("run plan: tiles of 64 to 128 rows leave as few rows over as they can") {
    for (const auto &[rows, tile] :
         {std::pair(7u, 7u), {128u, 128u}, {196u, 98u}, {512u, 64u}, {4000u, 80u}, {16000u, 64u}})
        CHECK(tile_rows(rows) == tile);
    for (uint32_t rows = 129; rows < 3000; rows++)
        CHECK(round_up(rows, tile_rows(rows)) - rows <= rows / 50 + 1);
}

TEST_CASE("run plan: copies of one channel are the lanes of a row, filled up with kernels of zeros") {
    for (const bool two_sided : {false, true}) {
        const std::string rows = two_sided ? "4" : "2";
        auto g = graph_of("graph \"copies\"\n%0 = input \"x\" features : f32[1] @1/1\n%1 = const \"k\" : [" +
                          rows + ",1,8]\n%2 = const \"D\" : [2,1]\n" +
                          "%3 = long_conv(%0, %1, %2) {channels=2, two_sided=" + (two_sided ? "1" : "0") +
                          "} ; layer conv\noutput \"y\" %3\n");
        CHECK(g.type(3).dims == std::vector<uint32_t>{2});
        auto plan = plan_run(g, 64, two_sided ? "right_angle" : "direct");
        INFO(plan.status().message());
        REQUIRE(plan);
        CHECK(plan->steps.back().spec.find("\"copies\":16") != std::string::npos);
        CHECK(plan->outputs[0].width == 2);
        CHECK(plan->outputs[0].row_bytes == 16 * sizeof(float));
    }
}

TEST_CASE("run plan: behind a convolution with padding lanes, what makes something of zero has a kernel of "
          "its own") {
    auto plan_with = [](const std::string &op, const std::string &channels) {
        std::string text = small;
        text.replace(text.find("gelu"), 4, op);
        for (size_t at; (at = text.find("16")) != std::string::npos;) text.replace(at, 2, channels);
        auto g = graph_of(text);
        auto plan = plan_run(g, 64, "right_angle");
        REQUIRE(plan);
        return plan->steps.back().spec;
    };
    CHECK(plan_with("tanh", "20").find("long_conv_right_angle") != std::string::npos);
    CHECK(plan_with("sigmoid", "20").find("pointwise") != std::string::npos);
    CHECK(plan_with("sigmoid", "32").find("long_conv_right_angle") != std::string::npos);
}

TEST_CASE("run plan: a value added to itself is read twice") {
    const auto g = graph_of(R"(graph "twice"
%0 = input "x" features : f32[16] @1/1
%1 = add(%0, %0) ; layer sum
output "y" %1
)");
    const auto plan = plan_run(g, 8, "");
    REQUIRE_MESSAGE(plan, plan.status().message());
    REQUIRE(plan->steps.size() == 1);
    REQUIRE(plan->steps[0].args.size() == 3); // value, operand, result
    CHECK(std::get<Place>(plan->steps[0].args[0]).buffer == std::get<Place>(plan->steps[0].args[1]).buffer);
}

TEST_CASE("memory: buffers alive in the same step never overlap") {
    EntryPlan plan;
    for (uint64_t i = 0; i < 40; i++) {
        int first = static_cast<int>(i * 7 % 23);
        plan.buffers.push_back({.name = "b",
                                .bytes = 64 + i * 37 % 400,
                                .first = first,
                                .last = first + static_cast<int>(i * 5 % 6)});
    }
    plan_memory(plan);
    for (size_t i = 0; i < plan.buffers.size(); i++)
        for (size_t j = 0; j < i; j++) {
            const Buffer &a = plan.buffers[i], &b = plan.buffers[j];
            bool together = a.first <= b.last && b.first <= a.last;
            bool apart = end_of(a) <= b.offset || end_of(b) <= a.offset;
            CHECK((!together || apart));
        }
    for (const Buffer &b : plan.buffers) CHECK(end_of(b) <= plan.arena_bytes);
}

TEST_CASE("stream: a two-sided convolution is refused by layer and reason") {
    auto g = graph_of(R"(graph "two"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [2,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=1} ; layer block.0.conv
output "y" %3
)");
    auto stream = make_streaming(g);
    REQUIRE_FALSE(stream);
    CHECK(stream.status().fault() == Fault::usage);
    CHECK(stream.status().message().find("layer block.0.conv looks ahead") != std::string::npos);
}

TEST_CASE(
    "streams of several blocks: one record, rings that hold the longest look-back and the largest block") {
    auto g = make_streaming(graph_of(small));
    REQUIRE(g);
    Storage storage;
    auto family = plan_streams(*g, {1, 4, 12}, "direct", storage);
    INFO(family.status().message());
    REQUIRE(family);
    REQUIRE(family->entries.size() == 3);
    REQUIRE(family->record.fields().size() == 1);
    CHECK(family->record.fields()[0]->dims ==
          std::vector<uint32_t>{36, 16}); // 7 back, twice 12 new, a multiple of 12
    for (const EntryPlan &entry : family->entries) {
        CHECK(entry.inputs[0].place.slots * entry.block == 36);
        CHECK(entry.cache_bytes == 0);
        CHECK(entry.rebuild.empty());
    }
}

TEST_CASE("streams: spectra are a cache of their entry, with one block as well, and rebuilt from the history") {
    std::string text = small;
    text.replace(text.find("16,8]"), 5, "16,64]");
    auto g = make_streaming(graph_of(text));
    REQUIRE(g);
    Storage storage;
    for (const std::vector<uint32_t> &blocks : {std::vector<uint32_t>{16}, {16, 32}}) {
        auto family = plan_streams(*g, blocks, "partitioned", storage);
        REQUIRE(family);
        CHECK(family->record.fields().size() == 1);
        for (EntryPlan &entry : family->entries) {
            plan_memory(entry);
            CHECK(entry.cache_bytes > 0);
            REQUIRE(entry.rebuild.size() == 1);
            CHECK(entry.rebuild[0].replay_from == 64 / entry.block);
            for (const Argument &argument : entry.rebuild[0].args)
                if (const auto *place = std::get_if<Place>(&argument))
                    CHECK((place->buffer & state_buffer ? place->slots > 1 : true));
        }
    }
}

TEST_CASE("streams: what a saved state needs is the same for every algorithm; rings and rows that it keeps differ") {
    std::string text = small;
    text.replace(text.find("16,8]"), 5, "16,64]");
    auto g = make_streaming(graph_of(text));
    REQUIRE(g);
    Storage storage;
    auto direct = plan_streams(*g, {16}, "direct", storage);
    auto partitioned = plan_streams(*g, {16}, "partitioned", storage);
    REQUIRE(direct);
    REQUIRE(partitioned);
    REQUIRE(direct->record.fields().size() == 1);
    REQUIRE(partitioned->record.fields().size() == 1);
    const StateField &a = *direct->record.fields()[0], &b = *partitioned->record.fields()[0];
    CHECK(a.layer == b.layer);
    CHECK(a.name == "long_conv");
    CHECK(b.name == "long_conv");
    CHECK(a.needs == 63); // 64 taps
    CHECK(b.needs == 63);
    CHECK(a.keeps == 63);
    CHECK(b.keeps == 64); // four blocks of spectra
    for (const StateField *field : {&a, &b}) CHECK(field->keeps + 16 <= field->dims[0]);
}

TEST_CASE("streams of several blocks: each is a multiple of the smallest and cuts no hop") {
    auto g = make_streaming(graph_of(small));
    REQUIRE(g);
    CHECK(check_blocks(*g, {1, 64, 320}));
    const Status uneven = check_blocks(*g, {64, 160});
    CHECK(uneven.fault() == Fault::usage);
    CHECK(uneven.message().find("multiple of the smallest") != std::string::npos);
    CHECK_FALSE(check_blocks(*g, {16, 16}));
    CHECK_FALSE(check_blocks(*g, {0}));
}

TEST_CASE("a delay reaches the port in input ticks, behind a stride as well") {
    auto g = graph_of(R"(graph "late"
%0 = input "x" features : f32[16] @1/1 causal delay=6
%1 = const "w" : [16,16,2,1]
%2 = conv2d(%0, %1) {stride_t=2, stride_f=1, groups=1, bias=0, frequency=0} ; layer conv
output "y" %2
)");
    Storage storage;
    auto family = plan_streams(g, {2}, "", storage);
    INFO(family.status().message());
    REQUIRE(family);
    CHECK(family->entries[0].outputs[0].delay == 6);
}

TEST_CASE("run plan: the last chunk of a recurrence reaches beyond the end, and everything that it touches "
          "is as long") {
    for (const uint32_t capacity : {1, 2, 17, 37, 100, 129, 200}) {
        CAPTURE(capacity);
        auto g = graph_of(R"(graph "attention"
%0 = input "x" features : f32[32] @1/1
%1 = const "w" : [32,32]
%2 = linear(%0, %1) {bias=0} ; layer q
%3 = linear(%0, %1) {bias=0} ; layer k
%4 = linear_attention(%2, %3, %0) {heads=2} ; layer attention
%5 = add(%4, %0) ; layer sum
output "y" %5
)");
        auto plan = plan_run(g, capacity, "");
        INFO(plan.status().message());
        REQUIRE(plan);
        bool found = false;
        for (const Step &step : plan->steps) {
            if (step.layer != "attention") continue;
            found = true;
            const uint32_t rows = capacity == 1 ? 1 : std::min(capacity, 16u);
            CHECK(step.tiles == (capacity + rows - 1) / rows);
            CHECK(step.ordered == (step.tiles > 1));
            for (size_t argument : {0, 1, 2, 5}) { // queries, keys, values, result
                const Place &place = std::get<Place>(step.args[argument]);
                const Buffer &buffer = plan->buffers[place.buffer];
                CHECK(place.offset + uint64_t{step.tiles} * rows * 32 * sizeof(float) <= buffer.bytes);
            }
        }
        CHECK(found);
    }
}

TEST_CASE("state: ops of one layer that name a field alike have one each, entries find theirs again") {
    StateRecord record;
    const auto field = [&](const char *op) { return record.carry("layer", "count", op, Elem::f64, {1}); };
    const BufferId first = field("scan"), second = field("softmax");
    CHECK(first != second);
    CHECK(field("scan") == first);
    CHECK(field("softmax") == second);
    const BufferId ring = record.history({.layer = "before", .name = "conv1d", .dims = {8, 16}, .needs = 3});
    record.arrange();
    REQUIRE(record.fields().size() == 3);
    CHECK(record.fields()[0] == &record.at(ring)); // sorted by layer, then name
    CHECK(record.fields()[1]->name == "count");
    CHECK(record.fields()[2]->name == "count of softmax");
    CHECK(record.at(ring).offset == 0);
    CHECK(record.at(first).offset == 512);
    CHECK(record.at(second).offset == 576);
    CHECK(record.bytes() == 640);
}

} // namespace planner_test
