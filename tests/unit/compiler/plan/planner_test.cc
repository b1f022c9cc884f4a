// Planning one offline run: paces, steps, tiles and memory.
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/entry_planner.h"
#include "compiler/plan/plan_memory.h"
#include "tests/unit/compiler/ir/graphs.h"
#include "tests/unit/compiler/plan/small_graph.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <set>

namespace planner_test {

using namespace longwave;
using namespace longwave::compiler;
using ir::graph_of;

namespace {

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
            g, {.block = 64, .device = devices::find(devices::all(), "vulkan-32k"), .cpu_layers = cpu_layers},
            storage, record);
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

TEST_CASE(
    "planner: rows behind the end of a sequence are cleared where a transform would spread their errors") {
    const ir::Graph g = graph_of(small);
    for (const auto &[algorithm, rows] :
         {std::pair{"direct", 0u}, {"right_angle", 1024u}, {"polyphase", 1024u}, {"overlap_add", 64u}}) {
        INFO(algorithm);
        const auto plan = plan_run(g, 1024, algorithm);
        REQUIRE_MESSAGE(plan, plan.status().message());
        const auto clears = std::count_if(plan->steps.begin(), plan->steps.end(), [](const Step &step) {
            return step.kind == Step::Kind::zero_tail;
        });
        CHECK(clears == (rows > 0));
        CHECK(plan->transformed.size() == (rows > 0));
        if (rows) CHECK(plan->transformed.at(g.nodes[0].output) >= rows);
    }
}

TEST_CASE("planner: a run whose buffer no kernel can address is refused with the longest that can be") {
    const ir::Graph g = graph_of(small); // 8 taps
    const auto refused = plan_run(g, 1 << 24, "direct");
    REQUIRE_FALSE(refused);
    CHECK(refused.status().fault() == Fault::usage);
    const std::string said = refused.status().message(), words = "pass at most --length ";
    INFO(said);
    REQUIRE(said.find(words) != std::string::npos);
    const auto most = static_cast<uint32_t>(std::stoul(said.substr(said.find(words) + words.size())));
    CHECK(most > (1 << 24) - 256);
    CHECK(plan_run(g, most, "direct"));
    CHECK(plan_run(g, 1 << 24, "overlap_add"));
}

// Its tables take seconds: CMakeLists.txt makes it a test of its own.
TEST_CASE("planner: one transform may have as many rows as any run" * doctest::skip()) {
    CHECK(plan_run(graph_of(small), 1 << 24, "right_angle"));
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

TEST_CASE("plan_memory: buffers of whole pages that are alive together begin in different lines of a cache") {
    EntryPlan plan;
    for (int i = 0; i < 40; ++i)
        plan.buffers.push_back({.name = "rows", .bytes = 4096, .first = 0, .last = 1});
    plan_memory(plan);
    std::set<uint64_t> lines;
    for (const Buffer &b : plan.buffers) lines.insert(b.offset % 4096 / cache_line);
    CHECK(lines.size() == plan.buffers.size());
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

} // namespace planner_test
