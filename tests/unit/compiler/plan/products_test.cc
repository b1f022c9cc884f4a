// Products in plans: which kernel computes them, and where their weights lie.
#include "compiler/plan/stream_family.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <numbers>

namespace products_test {

using namespace longwave;
using namespace longwave::compiler;
using ir::graph_of;

namespace {

// Of a whole run of so many rows.
EntryPlan plan_run(const ir::Graph &g, uint32_t rows, Storage &storage) {
    StateRecord record;
    EntryPlanner planner(g, {.block = rows}, storage, record);
    REQUIRE(planner.survey());
    auto plan = planner.plan({});
    INFO(plan.status().message());
    REQUIRE(plan);
    return *plan;
}

// The one step of a plan whose spec names this kernel.
const Step &step_of(const EntryPlan &plan, const std::string &kernel) {
    const Step *found = nullptr;
    for (const Step &step : plan.steps)
        if (step.spec.find("\"kernel\":\"" + kernel + "\"") != std::string::npos) {
            REQUIRE(!found);
            found = &step;
        }
    REQUIRE(found);
    return *found;
}

} // namespace

TEST_CASE("products: runs of any number of rows read the same weights, which are stored once") {
    const auto g = graph_of(R"(graph "product"
%0 = input "x" features : f32[20] @1/1
%1 = const "w" : [40,20]
%2 = const "b" : [40]
%3 = linear(%0, %1, %2) {bias=1} ; layer out
output "y" %3
)");
    Storage storage;
    std::vector<Place> weights;
    for (uint32_t rows : {1u, 3u, 50u, 1000u}) {
        const EntryPlan plan = plan_run(g, rows, storage);
        weights.push_back(std::get<Place>(step_of(plan, "linear").args[1]));
        CHECK(weights.back().buffer == weights.front().buffer);
    }
    // Three panels of 24 inputs, of which 20 are there, by 16 outputs; the bias of 48.
    CHECK(storage.buffer(weights[0].buffer).bytes == 3 * 24 * 16 * 4);
    CHECK(storage.weight_bytes() == (3 * 24 * 16 + 48) * 4);
}

TEST_CASE("products: a matrix of bands is stored by its bands, unless they are wide") {
    const char *text = R"(graph "bands"
%0 = input "x" features : f32[64] @1/1
%1 = const "w" : [20,64]
%2 = linear(%0, %1) {bias=0} ; layer out
output "y" %2
)";
    // Output o reads so many inputs from 2·o on. Bands are whole vectors of 8.
    for (const auto &[wide, band] :
         {std::pair(5u, 8u), std::pair(16u, 16u), std::pair(17u, 0u), std::pair(0u, 0u)}) {
        std::vector<double> matrix(size_t{20} * 64, 0.0);
        for (uint32_t o = 0; o < 20; o++)
            for (uint32_t i = 0; i < wide; i++) matrix[size_t{o} * 64 + 2 * o + i] = o + i + 1;
        const auto g = graph_of(text, {{"w", matrix}});
        Storage storage;
        const EntryPlan plan = plan_run(g, 3, storage);
        const Step &step = step_of(plan, band ? "banded_linear" : "linear");
        if (band) CHECK(storage.buffer(std::get<Place>(step.args[1]).buffer).bytes == size_t{20} * band * 4);
    }
}

TEST_CASE("products: a matrix that is a Fourier transform, or its inverse, is computed as one") {
    constexpr uint32_t n = 128, bins = n / 2 + 1;
    const auto angle = [](uint32_t bin, uint32_t i) { return 2 * std::numbers::pi * (bin * i % n) / n; };
    const auto plan = [](uint32_t out, uint32_t in, const std::vector<double> &matrix, Storage &storage) {
        const auto g = graph_of(fmt::format(R"(graph "transform"
%0 = input "x" features : f32[{1}] @1/1
%1 = const "w" : [{0},{1}]
%2 = linear(%0, %1) {{bias=0}} ; layer out
output "y" %2
)",
                                            out, in),
                                {{"w", matrix}});
        return plan_run(g, 3, storage);
    };
    // The real parts of every bin, then the imaginary ones, backwards; frames of 100 samples, too.
    for (const uint32_t in : {n, 100u})
        for (const double change : {0.0, 1e-8, 1e-5}) {
            std::vector<double> matrix;
            for (uint32_t o = 0; o < 2 * bins; o++)
                for (uint32_t i = 0; i < in; i++)
                    matrix.push_back(o < bins ? std::cos(angle(o, i))
                                              : -std::sin(angle(2 * bins - 1 - o, i)));
            matrix[77] += change;
            Storage storage;
            const EntryPlan made = plan(2 * bins, in, matrix, storage);
            step_of(made, change > 1e-6 ? "linear" : "row_dft");
        }
    for (const double change : {0.0, 1e-5}) {
        std::vector<double> matrix;
        for (uint32_t o = 0; o < n; o++)
            for (uint32_t i = 0; i < 2 * bins; i++) {
                const uint32_t bin = i % bins;
                const double twice = bin == 0 || bin == n / 2 ? 1 : 2, scale = 0.01 * o;
                matrix.push_back(scale * (i < bins     ? twice * std::cos(angle(bin, o))
                                          : twice == 1 ? 0
                                                       : -2 * std::sin(angle(bin, o))));
            }
        matrix[5 * 2 * bins + 9] += change;
        Storage storage;
        const EntryPlan made = plan(n, 2 * bins, matrix, storage);
        step_of(made, change > 0 ? "linear" : "row_inverse_dft");
    }
    // A bias counts, unless it is zeros.
    for (const double last : {0.0, 0.5}) {
        std::vector<double> matrix, bias(2 * bins, 0.0);
        for (uint32_t o = 0; o < 2 * bins; o++)
            for (uint32_t i = 0; i < n; i++)
                matrix.push_back(o < bins ? std::cos(angle(o, i)) : -std::sin(angle(o - bins, i)));
        bias.back() = last;
        const auto g = graph_of(fmt::format(R"(graph "transform"
%0 = input "x" features : f32[{1}] @1/1
%1 = const "w" : [{0},{1}]
%2 = const "b" : [{0}]
%3 = linear(%0, %1, %2) {{bias=1}} ; layer out
output "y" %3
)",
                                            2 * bins, n),
                                {{"w", matrix}, {"b", bias}});
        Storage storage;
        step_of(plan_run(g, 3, storage), last != 0 ? "linear" : "row_dft");
    }
    // Rows that repeat are another kind of matrix, and few outputs take less by themselves.
    std::vector<double> few;
    for (uint32_t o = 0; o < 31; o++)
        for (uint32_t i = 0; i < n; i++) few.push_back(std::cos(angle(o, i)));
    Storage storage, other;
    step_of(plan(31, n, few, storage), "linear");
    step_of(plan(40, n, std::vector<double>(40 * n, 1.0), other), "linear");
}

// [outputs, n] of a Hann window times the parts of a spectrum, backwards if `backwards`; float32 numbers.
static std::vector<double> windowed_transform(uint32_t n, uint32_t outputs, bool backwards, double sign) {
    const uint32_t bins = n / 2 + 1;
    std::vector<double> matrix;
    for (uint32_t o = 0; o < outputs; o++)
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t part = backwards ? outputs - 1 - o : o;
            const double phase = 2 * std::numbers::pi * (part % bins * i % n) / n,
                         hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / n);
            matrix.push_back(
                static_cast<float>(sign * hann * (part < bins ? std::cos(phase) : -std::sin(phase))));
        }
    return matrix;
}

TEST_CASE("products: transforms of windowed frames, in a matrix or a convolution of each frame") {
    constexpr uint32_t n = 64, bins = n / 2 + 1;
    const auto kernel = [](const std::string &node, const std::string &dims, const std::string &shape,
                           const std::vector<double> &matrix) {
        const auto g = graph_of(fmt::format(R"(graph "transform"
%0 = input "x" features : f32[{}] @1/1
%1 = const "w" : [{}]
%2 = {} ; layer out
output "y" %2
)",
                                            dims, shape, node),
                                {{"w", matrix}});
        Storage storage;
        return plan_run(g, 3, storage).steps.back().spec;
    };
    const std::string linear = "linear(%0, %1) {bias=0}",
                      conv = "conv2d(%0, %1) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1}",
                      apart = "conv2d(%0, %1) {bias=0, frequency=0, groups=1, stride_f=2, stride_t=1}";
    const auto has = [](const std::string &spec, const std::string &part) {
        return spec.find(part) != std::string::npos;
    };
    for (const double sign : {1.0, -0.3}) {
        const std::vector<double> all = windowed_transform(n, 2 * bins, false, sign);
        const std::string frames = kernel(conv, "4,64", "66,64,1,1", all);
        CHECK(has(frames, R"("kernel":"row_dft")"));
        CHECK(has(frames, R"("rows":12)"));
        CHECK(has(frames, R"("window":1)"));
        CHECK(has(frames, R"("first":0)"));
        CHECK(has(kernel(linear, "64", "66,64", all), R"("kernel":"row_dft")"));
        const std::string backwards =
            kernel(linear, "64", "66,64", windowed_transform(n, 2 * bins, true, sign));
        CHECK(has(backwards, R"("kernel":"row_dft")"));
        CHECK(!has(backwards, "first"));
        // Frames that a stride leaves out, and one number of the window that does not fit.
        CHECK(has(kernel(apart, "4,64", "66,64,1,1", all), R"("kernel":"conv2d")"));
        std::vector<double> other = all;
        other[5 * n + 20] += 1e-5;
        CHECK(has(kernel(conv, "4,64", "66,64,1,1", other), R"("kernel":"conv2d")"));
    }
}

TEST_CASE("products: a convolution of one row and one frequency is one") {
    const char *convolution = R"(graph "conv"
%0 = input "x" features : f32[32] @1/1
%1 = const "w" : [48,32,TAPS,1]
%2 = conv2d(%0, %1) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} ; layer conv
output "y" %2
)";
    for (const auto &[taps, kernel] : {std::pair("1", "linear"), std::pair("2", "conv2d")}) {
        std::string text = convolution;
        text.replace(text.find("TAPS"), 4, taps);
        Storage storage;
        CHECK(step_of(plan_run(graph_of(text), 100, storage), kernel).tiles == 1);
    }
}

TEST_CASE("products: a dilated convolution computes only the taps that are not between others") {
    const char *text = R"(graph "conv"
%0 = input "x" features : f32[16] @1/1
%1 = const "w" : [16,16,9,1]
%2 = conv2d(%0, %1) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} ; layer conv
output "y" %2
)";
    struct Expected {
        std::vector<uint32_t> lags;
        uint32_t time, dilation;
    };
    for (const Expected &e : {Expected{{0, 4, 8}, 3, 4}, Expected{{4}, 3, 4}, Expected{{0, 3}, 3, 3},
                              Expected{{0, 4, 6}, 5, 2}, Expected{{1, 4}, 9, 1}, Expected{{0}, 9, 1}}) {
        std::vector<double> w(size_t{16} * 16 * 9, 0.0);
        for (const uint32_t lag : e.lags) w[size_t{5 * 16 + 3} * 9 + 8 - lag] = 1; // of one pair of channels
        Storage storage;
        const EntryPlan plan = plan_run(graph_of(text, {{"w", w}}), 100, storage);
        const Step &step = step_of(plan, "conv2d");
        INFO(step.spec);
        CHECK(step.spec.find("\"time\":" + std::to_string(e.time)) != std::string::npos);
        const std::string dilation = "\"dilation_t\":" + std::to_string(e.dilation);
        CHECK((step.spec.find(dilation) != std::string::npos) == (e.dilation > 1));
        CHECK(storage.buffer(std::get<Place>(step.args[1]).buffer).bytes == size_t{16} * 16 * e.time * 4);
    }
}

} // namespace products_test
