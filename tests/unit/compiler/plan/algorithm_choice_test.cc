// Which algorithm a long convolution gets, and what cannot be forced.
#include "compiler/ops/costs.h"
#include "compiler/plan/entry_planner.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <doctest/doctest.h>

namespace algorithm_choice_test {

using namespace longwave;
using namespace longwave::compiler;
using ir::graph_of;

namespace {

// A long convolution in a plan: rows of the sequence, or of a block.
struct Problem {
    uint32_t taps, rows;
    bool streaming = false, two_sided = false;
    uint32_t channels = 64;
    const devices::Traits *device = &devices::host();
    const costs::Tables *costs = &costs::shipped();
    uint32_t alike = 1; // convolutions of the model
};

Expected<Choice> choose_for(const Problem &problem, const std::string &force = "") {
    const std::string channels = std::to_string(problem.channels);
    const auto g =
        graph_of("graph \"one\"\n%0 = input \"x\" features : f32[" + channels +
                 "] @1/1\n%1 = const \"k\" : [" + std::string(problem.two_sided ? "2" : "1") + "," +
                 channels + "," + std::to_string(problem.taps) + "]\n%2 = const \"D\" : [1," + channels +
                 "]\n%3 = long_conv(%0, %1, %2) {channels=1, two_sided=" + (problem.two_sided ? "1" : "0") +
                 "} ; layer conv\noutput \"y\" %3\n");
    return choose({.graph = g,
                   .node = g.nodes[0],
                   .rows = problem.rows,
                   .streaming = problem.streaming,
                   .alike = problem.alike,
                   .costs = problem.costs,
                   .device = *problem.device},
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
    CHECK(name_of(choose_for({64, 1, true})) == "direct");
    CHECK_FALSE(choose_for({4096, 4096})->runner_up.empty());
}

TEST_CASE("convolution: few channels that are much longer than their taps go in blocks over phases") {
    const auto chosen = choose_for({.taps = 4096, .rows = 1 << 20, .channels = 1});
    CHECK(name_of(chosen) == "overlap_add_phases");
    CHECK(chosen->decisions.at("length") >= 4096);
    CHECK(chosen->decisions.at("length") <= 65536);
    CHECK(name_of(choose_for({.taps = 4096, .rows = 4096, .channels = 1})) == "polyphase");
    CHECK(name_of(choose_for({4096, 1 << 20}, "overlap_add_phases")).find("16 channels") !=
          std::string::npos);
    for (const uint32_t channels : {2, 7}) { // one transform of a million rows would have tables of 134 MB
        const auto blocks = choose_for({.taps = 64, .rows = 1000000, .channels = channels});
        CHECK(name_of(blocks) == "overlap_add_phases");
        CHECK(blocks->decisions.at("length") <= 65536);
    }
}

TEST_CASE("convolution: a room of six seconds has transforms in blocks of one sample too") {
    const auto chosen = [](uint32_t taps, uint32_t channels, uint32_t alike) {
        return name_of(
            choose_for({.taps = taps, .rows = 1, .streaming = true, .channels = channels, .alike = alike}));
    };
    for (const uint32_t channels : {1, 2, 16}) CHECK(chosen(300'000, channels, 1) == "nonuniform");
    CHECK(chosen(300'000, 1, 9) == "nonuniform");
    // A rebuild of more steps would go back over more blocks than a file may say.
    CHECK(chosen(300'000, 1, 24) == "direct");
    CHECK(chosen(300'000, 32, 1) == "direct");
    CHECK(chosen(400'000, 1, 1) == "direct");
    CHECK(chosen(100'000, 32, 1) == "nonuniform");
}

TEST_CASE("convolution: what cannot be forced is refused with the reason") {
    const Problem two_sided{64, 64, false, true};
    CHECK(name_of(choose_for(two_sided, "direct")).find("two sides") != std::string::npos);
    CHECK(choose_for({64, 7, true}, "partitioned")->decisions.at("transform") == 8);
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
    return choose({.graph = g,
                   .node = *g.producer(4),
                   .rows = rows,
                   .streaming = true,
                   .costs = &costs::shipped(),
                   .device = devices::host()},
                  force);
}

} // namespace

TEST_CASE("convolution: the planner prefers transforms for kernels of many scales, in blocks of any length") {
    for (const uint32_t rows : {1, 10, 16, 64}) CHECK(name_of(choose_for_scales(1, rows)) == "nonuniform");
    for (const uint32_t rows : {1, 64}) CHECK(name_of(choose_for_scales(128, rows)) == "nonuniform");
    const auto tiled = choose_for_scales(1, 160, "dyadic");
    REQUIRE(tiled);
    CHECK(tiled->decisions.at("rows") == 40); // of a call: 64 at most, and they divide the block
}

TEST_CASE("convolution: dyadic is refused where a kernel is given tap by tap, or has two sides") {
    CHECK(name_of(choose_for({4096, 64, true}, "dyadic")).find("not kept as its scales") !=
          std::string::npos);
    CHECK(name_of(choose_for({64, 64, true, true}, "dyadic")).find("two sides") != std::string::npos);
}

TEST_CASE(
    "convolution: on a GPU the choice follows what a device takes for a dispatch, and what keeps it busy") {
    targets::Target few_registers = *targets::find_gpu("vulkan-32k");
    few_registers.registers = 64;
    const devices::Traits gpu = devices::vulkan(few_registers),
                          with_registers = devices::vulkan(*targets::find_gpu("vulkan-32k"));
    costs::Tables costs = costs::shipped();
    const Problem few_taps{.taps = 64, .rows = 100000, .device = &gpu, .costs = &costs};
    const auto assumed = choose_for(few_taps);
    REQUIRE(name_of(assumed) == "blocks");
    CHECK(assumed->decisions.at("dispatches") > 3);
    // Dispatches that take a millisecond.
    costs.device.ns_per_dispatch = 1e6;
    const auto dear = choose_for(few_taps);
    REQUIRE(name_of(dear) == "four_step");
    CHECK(dear->decisions.at("dispatches") == 3);
    CHECK(dear->cost > assumed->cost);
    // A device that 64 workgroups leave idle.
    costs.device = costs::assumed_device;
    costs.device.busy_workgroups = 2048;
    CHECK(name_of(choose_for(few_taps)) == "four_step");
    // One that is slower throughout makes the same choice.
    costs.device = costs::assumed_device;
    costs.device.bytes_per_ns /= 10;
    costs.device.ns_per_dispatch *= 10;
    const auto slow = choose_for(few_taps);
    CHECK(name_of(slow) == "blocks");
    CHECK(slow->cost == doctest::Approx(10 * assumed->cost));
    // Whoever fits into one dispatch takes one. Three with points in registers cost less than blocks.
    costs.device = costs::assumed_device;
    for (const auto &[rows, name] :
         std::map<uint32_t, std::string>{{4096, "registers"}, {100000, "four_step"}})
        CHECK(name_of(choose_for({.taps = 64, .rows = rows, .device = &with_registers, .costs = &costs})) ==
              name);
}

} // namespace algorithm_choice_test
