// The cheapest side for each layer of a mixed run, and what is moved for it.
#include "compiler/placement/assignment.h"
#include "compiler/plan/transfers.h"
#include <doctest/doctest.h>
#include <random>

namespace assignment_test {

using namespace longwave::compiler;

namespace {

// A run of so many layers: each call reads the value before it, and sometimes older ones; some
// layers have several calls, far from each other, and some take scratch or write in place.
EntryPlan made_up(uint32_t layers, std::mt19937 &random, bool chain) {
    const auto up_to = [&](uint32_t n) { return random() % (n + 1); };
    EntryPlan plan;
    const auto buffer = [&](const char *name) {
        plan.buffers.push_back({.name = name, .bytes = 4 * (1 + up_to(999))});
        return static_cast<BufferId>(plan.buffers.size() - 1);
    };
    BufferId newest = buffer("input x");
    plan.inputs.push_back({.place = {.buffer = newest}});
    std::vector<BufferId> values{newest};
    const uint32_t calls = layers + (chain ? 0 : up_to(layers));
    for (uint32_t i = 0; i < calls; i++) {
        const uint32_t layer = i < layers ? i : up_to(layers - 1);
        Step step{.name = "call", .layer = "layer " + std::to_string(layer), .writes = 1};
        step.args.push_back(Place{.buffer = newest});
        for (uint32_t n = chain ? 0 : up_to(2); n > 0; n--)
            step.args.push_back(Place{.buffer = values[up_to(static_cast<uint32_t>(values.size()) - 1)]});
        newest = !chain && up_to(5) == 0 ? newest : buffer("value");
        if (up_to(2) == 0) {
            Step clear{.kind = Step::Kind::zero, .name = "clear"};
            clear.args.push_back(Place{.buffer = newest});
            plan.steps.push_back(clear);
        }
        step.args.push_back(Place{.buffer = newest});
        values.push_back(newest);
        plan.steps.push_back(step);
    }
    for (uint32_t n = 1 + up_to(1); n > 0; n--)
        plan.outputs.push_back(
            {.place = {.buffer = n == 1 ? newest : values[up_to(static_cast<uint32_t>(values.size()) - 1)]}});
    return plan;
}

TransferGraph with_times(const EntryPlan &plan, std::mt19937 &random, std::vector<std::string> &names) {
    TransferGraph graph = transfer_graph_of(plan, names);
    std::uniform_real_distribution<double> time(1, 100);
    for (LayerTimes &times : graph.layers) {
        times = {time(random), time(random)};
        if (random() % 8 == 0) times.device = never;
    }
    return graph;
}

std::vector<bool> bits(uint32_t mask, size_t layers) {
    std::vector<bool> on(layers);
    for (size_t i = 0; i < layers; i++) on[i] = mask >> i & 1;
    return on;
}

} // namespace

TEST_CASE(
    "assignment: no other way to place up to ten layers is cheaper, in chains and in graphs with branches") {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> cost(0, 40);
    size_t mixed = 0;
    for (int problem = 0; problem < 120; problem++) {
        const EntryPlan plan = made_up(1 + random() % 10, random, problem % 2 == 0);
        std::vector<std::string> names;
        const TransferGraph graph = with_times(plan, random, names);
        const TransferTimes times{cost(random), cost(random) / 2000, cost(random) / 10};
        const Assignment found = cheapest(graph, times, 1 << 20);
        double best = never;
        for (uint32_t mask = 0; mask < 1u << names.size(); mask++)
            best = std::min(best, time_of(graph, times, bits(mask, names.size())));
        CHECK(found.exact);
        CHECK(found.time == doctest::Approx(best));
        CHECK(time_of(graph, times, found.cpu_layers) == doctest::Approx(best));
        const auto there = std::count(found.cpu_layers.begin(), found.cpu_layers.end(), true);
        mixed += there > 0 && there < static_cast<ptrdiff_t>(names.size());
    }
    CHECK(mixed > 20);
}

TEST_CASE("assignment: the transfers that it counts are those of the plan") {
    std::mt19937 random(6);
    uint64_t all = 0;
    for (int problem = 0; problem < 200; problem++) {
        EntryPlan plan = made_up(1 + random() % 10, random, problem % 4 == 0);
        std::vector<std::string> names;
        TransferGraph graph = transfer_graph_of(plan, names);
        std::vector<bool> on = bits(static_cast<uint32_t>(random()), names.size());
        on[random() % on.size()] = true; // else it is no mixed run
        size_t next = 0;
        for (size_t i = 0; i < plan.steps.size(); i++) { // a clear goes with the call behind it
            for (next = i; plan.steps[next].kind != Step::Kind::call;) next++;
            const auto layer = std::find(names.begin(), names.end(), plan.steps[next].layer) - names.begin();
            plan.steps[i].cpu = on[static_cast<size_t>(layer)];
        }
        add_transfers(plan);
        uint64_t bytes = 0, moves = 0;
        for (const Step &step : plan.steps)
            if (step.kind == Step::Kind::to_device || step.kind == Step::Kind::to_cpu)
                bytes += step.bytes, moves++;
        const auto segments = device_segments(plan.steps);
        const auto submissions = std::count_if(segments.begin(), segments.end(),
                                               [](const DeviceSegment &segment) { return !segment.cpu; });
        CHECK(time_of(graph, {.byte = 1}, on) == doctest::Approx(static_cast<double>(bytes)));
        CHECK(time_of(graph, {.transfer = 1}, on) == doctest::Approx(static_cast<double>(moves)));
        CHECK(time_of(graph, {.submission = 1}, on) == doctest::Approx(static_cast<double>(submissions)));
        all += moves;
    }
    CHECK(all > 300);
}

TEST_CASE("assignment: with more states than it may keep, the search is no longer exact") {
    std::mt19937 random(7);
    const EntryPlan plan = made_up(24, random, false);
    std::vector<std::string> names;
    const TransferGraph graph = with_times(plan, random, names);
    const TransferTimes times{1, 0.01, 0.1};
    const Assignment few = cheapest(graph, times, 4), many = cheapest(graph, times, 1 << 16);
    CHECK_FALSE(few.exact);
    CHECK(few.time >= many.time);
    CHECK(few.time < never);
    CHECK(time_of(graph, times, few.cpu_layers) == doctest::Approx(few.time));
}

} // namespace assignment_test
