// The plan of a run as a stream over a sliding window: its steps, ring and ports, and which windows
// fit.
#include "compiler/plan/entry_planner.h"
#include "compiler/plan/windowed_stream.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <tuple>

namespace windowed_stream_test {

using namespace longwave;
using namespace longwave::compiler;
using ir::graph_of;

namespace {

// A convolution that looks ahead, and its mean, which asks a run for its length.
const char *two_sided = R"(graph "two"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [2,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=1} ; layer conv
%4 = mean(%3) {mode="mean"} ; layer pool
output "each" %3
output "pooled" %4
)";

bool asks_for_length(const Step &step) {
    return step.kind == Step::Kind::zero_tail ||
           std::any_of(step.args.begin(), step.args.end(), [](const Argument &argument) {
               const auto *scalar = std::get_if<Scalar>(&argument);
               return scalar && scalar->kind == Scalar::Kind::length;
           });
}

} // namespace

TEST_CASE(
    "windowed stream: a ring of the last ticks is copied in order, then the run's steps follow, of full "
    "length") {
    const auto g = graph_of(two_sided);
    Storage storage;
    StateRecord record;
    EntryPlanner planner(g, {.block = 48}, storage, record);
    REQUIRE(planner.survey());
    const auto run = planner.plan({});
    REQUIRE(run);
    REQUIRE(std::any_of(run->steps.begin(), run->steps.end(), asks_for_length));
    const EntryPlan plan = windowed_stream(*run, g, 12, record, storage);
    CHECK(plan.kind == EntryPlan::Kind::stream);
    CHECK(plan.name() == "stream 12");
    CHECK(plan.window == 48);
    CHECK(plan.period == 1);
    CHECK(plan.rebuild.empty());
    REQUIRE(record.fields().size() == 1);
    CHECK(record.fields()[0]->name == "window");
    CHECK(record.fields()[0]->dims == std::vector<uint32_t>{48, 16});
    CHECK(record.fields()[0]->needs == 36);

    CHECK(plan.inputs[0].place.slots == 4);
    CHECK(plan.inputs[0].rows == 12);
    for (uint32_t slot = 0; slot < 4; slot++) {
        const auto &from = std::get<Place>(plan.steps[slot].args[0]),
                   &to = std::get<Place>(plan.steps[slot].args[1]);
        CHECK(from.buffer == plan.inputs[0].place.buffer);
        CHECK(from.slot_add == (slot + 1) % 4); // of firing f the newest is f mod 4: it comes last
        CHECK(to.buffer == run->inputs[0].place.buffer);
        CHECK(to.offset == run->inputs[0].place.offset + slot * 12 * 16 * 4);
    }
    const auto calls = [](const EntryPlan &of) {
        return std::count_if(of.steps.begin(), of.steps.end(),
                             [](const Step &step) { return step.kind == Step::Kind::call; });
    };
    CHECK(calls(plan) == 4 + calls(*run));
    CHECK(std::none_of(plan.steps.begin(), plan.steps.end(), asks_for_length));

    CHECK(plan.outputs[0].delay == 18);
    CHECK(plan.outputs[0].rows == 12);
    CHECK(plan.outputs[0].place.offset == run->outputs[0].place.offset + 18 * run->outputs[0].row_bytes);
    CHECK(plan.outputs[1].delay == 0);
    CHECK(plan.outputs[1].rows == 1);
    CHECK(plan.outputs[1].clock_num == 1);
    CHECK(plan.outputs[1].clock_den == 12);
}

TEST_CASE("windowed stream: rows in the middle, and an odd one more of the past") {
    const WindowRows even = rows_in_window({1, 160}, 8000, 1600), odd = rows_in_window({1, 320}, 16000, 1600),
                     pooled = rows_in_window({0, 1}, 8000, 1600);
    CHECK(std::tuple(even.first, even.rows, even.delay) == std::tuple(20u, 10u, 3200u));
    CHECK(std::tuple(odd.first, odd.rows, odd.delay) == std::tuple(23u, 5u, 22 * 320u)); // 45 around the hop
    CHECK(std::tuple(pooled.first, pooled.rows, pooled.delay) == std::tuple(0u, 1u, 0u));
}

TEST_CASE("windowed stream: what does not fit is refused in one line") {
    const auto g = graph_of(two_sided), slow = graph_of(R"(graph "slow"
%0 = input "a" audio rate=16000 : f32[1] @1/1
%1 = const "w" : [400]
%2 = frame(%0, %1) {window=400, hop=160} ; layer frames
output "y" %2
)"),
               pair = graph_of(R"(graph "pair"
%0 = input "x" features : f32[16] @1/1
%1 = input "z" features : f32[16] @1/1
%2 = add(%0, %1) ; layer sum
output "y" %2
)");
    const auto refused = [](const ir::Graph &of, uint32_t window, uint32_t hop, const char *words) {
        const Status status = check_window(of, window, hop);
        INFO(status.message());
        CHECK(status.fault() == Fault::usage);
        CHECK(status.message().find(words) != std::string::npos);
        CHECK(status.message().find('\n') == std::string::npos);
    };
    CHECK(check_window(g, 64, 1));
    CHECK(check_window(slow, 8000, 1600));
    refused(g, 50, 8, "expected 1 to 64 whole hops");
    refused(g, 65, 1, "expected 1 to 64 whole hops");
    refused(g, 8, 16, "expected 1 to 64 whole hops");
    refused(g, 1u << 25, 1u << 20, "at most 16777216 ticks");
    refused(g, 3u << 20, 3u << 20, "expected 1 to 1048576 input ticks");
    refused(g, 1u << 24, 1u << 20, "a delay of 7864320 ticks; expected at most 1048576");
    refused(slow, 8000, 1000, "--hop 1000: it cuts a row of output y, which has 1 for every 160 ticks");
    refused(pair, 64, 16, "--window slides over one input; this model has 2");
}

} // namespace windowed_stream_test
