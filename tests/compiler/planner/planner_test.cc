// Planning one entry: paces, rings, memory, and which algorithm a convolution gets.
#include "compiler/ir/text.h"
#include "compiler/passes/make_streaming.h"
#include "compiler/passes/plan_memory.h"
#include "compiler/planner/entry_planner.h"
#include <doctest/doctest.h>

using namespace longwave;
using namespace longwave::compiler;

namespace {

ir::Graph graph(const std::string &text) {
    auto parsed = ir::parse(text);
    INFO(parsed.status().message());
    REQUIRE(parsed);
    return *parsed;
}

// 16 channels at the input's rate, a causal convolution of 8 taps, its mean.
const char *small = R"(graph "small"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [1,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} ; layer conv
%4 = gelu(%3) ; layer act
output "y" %4
)";

uint64_t end_of(const Buffer &b) { return b.offset + b.bytes; }

} // namespace

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

TEST_CASE("convolution: the planner prefers direct for few taps and transforms for many") {
    auto choose = [](uint32_t taps, uint32_t rows, bool streaming) {
        return choose_convolution({.channels = 64, .taps = taps, .rows = rows, .streaming = streaming}, "");
    };
    CHECK(choose(16, 4096, false)->algorithm == Algorithm::direct);
    CHECK(choose(4096, 4096, false)->algorithm == Algorithm::right_angle);
    CHECK(choose(500, 160, true)->algorithm == Algorithm::partitioned);
    CHECK(choose(500, 160, true)->partitions == 4);
    auto longest = choose(16000, 160, true);
    CHECK(longest->algorithm == Algorithm::nonuniform);
    CHECK(longest->partitions * 160 == 2 * longest->tail_length); // the tail begins where its first result is needed
    CHECK(2 * longest->tail_length + longest->tail_partitions * longest->tail_length >= 16000);
    CHECK(choose(64, 1, true)->algorithm == Algorithm::direct); // one row a block has no transform
    CHECK_FALSE(choose(4096, 4096, false)->runner_up.empty());
}

TEST_CASE("convolution: what cannot be forced is refused with the reason") {
    ConvolutionShape two_sided{.channels = 64, .taps = 64, .rows = 64, .two_sided = true};
    auto refused = choose_convolution(two_sided, "direct");
    REQUIRE_FALSE(refused);
    CHECK(refused.status().message().find("two sides") != std::string::npos);
    CHECK_FALSE(choose_convolution(two_sided, "fastest"));
    ConvolutionShape prime{.channels = 64, .taps = 64, .rows = 7, .streaming = true};
    auto no_transform = choose_convolution(prime, "partitioned");
    REQUIRE_FALSE(no_transform);
    CHECK(no_transform.status().message().find("7 rows") != std::string::npos);
    ConvolutionShape brief{.channels = 64, .taps = 640, .rows = 80, .streaming = true};
    auto no_tail = choose_convolution(brief, "nonuniform");
    REQUIRE_FALSE(no_tail);
    CHECK(no_tail.status().message().find("640 taps are too few") != std::string::npos);
}

TEST_CASE("stream plan: a convolution's input is a ring of its history and one block") {
    auto g = make_streaming(graph(small));
    REQUIRE(g);
    Storage storage;
    EntryPlanner planner(*g, EntryPlan::Kind::stream, 4, "direct", storage);
    auto plan = planner.plan();
    INFO(plan.status().message());
    REQUIRE(plan);
    plan_memory(*plan);
    REQUIRE(plan->steps.size() == 1); // gelu is an epilogue
    CHECK(plan->steps[0].spec.find("\"gelu\"") != std::string::npos);
    // 7 rows back and 4 new ones: 12 is the next multiple of 4; the slot of a block follows from its number.
    REQUIRE(plan->inputs.size() == 1);
    CHECK(plan->inputs[0].place.slots == 3);
    CHECK(plan->inputs[0].place.slot_bytes == 4 * 16 * 4);
    const auto &position = std::get<Scalar>(plan->steps[0].args[2]);
    CHECK(position.modulus == 3);
    CHECK(position.mul == 4);
    CHECK(plan->state_bytes == 12 * 16 * 4);
}

TEST_CASE("run plan: the same convolution reads behind zero rows, tile by tile") {
    Storage storage;
    auto g = graph(small);
    EntryPlanner planner(g, EntryPlan::Kind::run, 200, "direct", storage);
    auto plan = planner.plan();
    INFO(plan.status().message());
    REQUIRE(plan);
    REQUIRE(plan->steps.size() == 3);
    CHECK(plan->steps[0].kind == Step::Kind::zero);
    CHECK(plan->steps[0].bytes == 7 * 16 * 4);
    CHECK(plan->steps[1].kind == Step::Kind::zero); // the last tile reads 56 rows behind the 200th
    CHECK(plan->steps[1].bytes == 56 * 16 * 4);
    CHECK(plan->steps[2].tiles == 4); // 64 rows a tile
    const auto &position = std::get<Scalar>(plan->steps[2].args[2]);
    CHECK(position.value == 7);
    CHECK(position.tile_mul == 64);
}

TEST_CASE("run plan: copies of one channel are the lanes of a row, filled up with kernels of zeros") {
    for (const bool two_sided : {false, true}) {
        const std::string rows = two_sided ? "4" : "2";
        auto g =
            graph("graph \"copies\"\n%0 = input \"x\" features : f32[1] @1/1\n%1 = const \"k\" : [" + rows + ",1,8]\n%2 = const \"D\" : [2,1]\n" +
                  "%3 = long_conv(%0, %1, %2) {channels=2, two_sided=" + (two_sided ? "1" : "0") + "} ; layer conv\noutput \"y\" %3\n");
        CHECK(g.type(3).dims == std::vector<uint32_t>{2});
        Storage storage;
        EntryPlanner planner(g, EntryPlan::Kind::run, 64, two_sided ? "right_angle" : "direct", storage);
        auto plan = planner.plan();
        INFO(plan.status().message());
        REQUIRE(plan);
        CHECK(plan->steps.back().spec.find("\"copies\":16") != std::string::npos);
        CHECK(plan->outputs[0].width == 2);
        CHECK(plan->outputs[0].row_bytes == 16 * sizeof(float));
    }
}

TEST_CASE("run plan: behind a convolution with padding lanes, what makes something of zero has a kernel of its own") {
    auto plan_with = [](const std::string &op, const std::string &channels) {
        std::string text = small;
        text.replace(text.find("gelu"), 4, op);
        for (size_t at; (at = text.find("16")) != std::string::npos;) text.replace(at, 2, channels);
        auto g = graph(text);
        Storage storage;
        auto plan = EntryPlanner(g, EntryPlan::Kind::run, 64, "right_angle", storage).plan();
        REQUIRE(plan);
        return plan->steps.back().spec;
    };
    CHECK(plan_with("tanh", "20").find("long_conv_right_angle") != std::string::npos);
    CHECK(plan_with("sigmoid", "20").find("pointwise") != std::string::npos);
    CHECK(plan_with("sigmoid", "32").find("long_conv_right_angle") != std::string::npos);
}

TEST_CASE("memory: buffers alive in the same step never overlap") {
    EntryPlan plan;
    for (uint64_t i = 0; i < 40; i++) {
        int first = static_cast<int>(i * 7 % 23);
        plan.buffers.push_back({.name = "b", .bytes = 64 + i * 37 % 400, .first = first, .last = first + static_cast<int>(i * 5 % 6)});
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
    auto g = graph(R"(graph "two"
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
