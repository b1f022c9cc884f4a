// Scans of a gpu: however rows are cut into calls, states and outputs have the same bits.
#include "tests/kernels/check.h"
#include "tests/kernels/vulkan.h"
#include <cstring>
#include <random>

namespace cuts_test {

using namespace longwave::test;

namespace {

constexpr int all_rows = 24;

struct Scan {
    std::string kernel, step, params;           // step: of one row, where it is a kernel of its own
    std::map<std::string, int> inputs;          // floats of a row
    std::pair<std::string, int> output;         // floats of a row
    std::map<std::string, size_t> states;       // bytes
    std::map<std::string, size_t> weights = {}; // float64 each
};

Kernel load(const Scan &scan, int rows) {
    const bool step = rows == 1 && !scan.step.empty();
    const std::string params = scan.params + (step ? "" : fmt::format(R"(,"rows":{})", rows));
    auto kernels =
        load_gpu_kernels(spec(step ? scan.step : scan.kernel, params), *gpu_under_test(), find_kgen());
    REQUIRE_MESSAGE(kernels, kernels.status().message());
    return std::move(kernels->front());
}

using Bytes = std::vector<uint8_t>;

struct Result {
    Bytes output;
    std::map<std::string, Bytes> states;
};

// The same rows in every cut.
Result run(const Scan &scan, const std::vector<int> &cut) {
    std::mt19937 random(7);
    std::map<std::string, std::vector<float>> inputs;
    std::map<std::string, std::vector<double>> weights;
    for (const auto &[name, lanes] : scan.inputs)
        for (int i = 0; i < lanes * all_rows; i++) {
            const float value = std::uniform_real_distribution<float>(-1, 1)(random);
            inputs[name].push_back(name == "w" ? std::fabs(value) : value); // the part of a row in a mean
        }
    for (const auto &[name, count] : scan.weights)
        for (size_t i = 0; i < count; i++)
            weights[name].push_back(1 - 0.1 * std::generate_canonical<double, 53>(random));
    Result result{Bytes(static_cast<size_t>(scan.output.second) * all_rows * 4), {}};
    for (const auto &[name, bytes] : scan.states) result.states[name] = Bytes(bytes);
    int first = 0;
    for (const int rows : cut) {
        double count = first + rows;
        std::map<std::string, uint8_t *> places = {{"count_so_far", reinterpret_cast<uint8_t *>(&count)}};
        for (auto &[name, values] : inputs)
            places[name] = reinterpret_cast<uint8_t *>(values.data() + first * scan.inputs.at(name));
        for (auto &[name, values] : weights) places[name] = reinterpret_cast<uint8_t *>(values.data());
        for (auto &[name, bytes] : result.states) places[name] = bytes.data();
        places[scan.output.first] = result.output.data() + first * scan.output.second * 4;
        Kernel kernel = load(scan, rows);
        kernel.prepare(places);
        REQUIRE(kernel.call_prepared() == 0);
        first += rows;
    }
    REQUIRE(first == all_rows);
    return result;
}

} // namespace

TEST_CASE("scans of a gpu: bits do not depend on how rows are cut into calls") {
    if (!gpu_under_test()) return;
    const std::string one_head = R"("heads":3,"dk":20,"dv":16)", gathered = R"("heads":3,"dk":5,"dv":7)";
    const size_t of_one_head = 48 * 20 * 4, of_gathered = 32 * 5 * 4;
    const std::vector<Scan> scans = {
        {"linear_attention_chunk",
         "linear_attention_step",
         one_head,
         {{"q", 64}, {"k", 64}, {"v", 48}},
         {"o", 48},
         {{"S_high", of_one_head}, {"S_low", of_one_head}}},
        {"linear_attention_chunk",
         "linear_attention_step",
         gathered,
         {{"q", 16}, {"k", 16}, {"v", 32}},
         {"o", 32},
         {{"S_high", of_gathered}, {"S_low", of_gathered}}},
        {"decaying_attention_chunk",
         "decaying_attention_step",
         one_head,
         {{"q", 64}, {"w", 64}, {"v", 48}},
         {"o", 48},
         {{"S_high", of_one_head}, {"S_low", of_one_head}}},
        {"exponential_scan",
         "",
         R"("channels":20,"modes":5)",
         {{"x", 32}},
         {"y", 32},
         {{"sums", 32 * 5 * 8}},
         {{"lambda", 32 * 5}, {"c", 32 * 5}}},
        {"cumulative_softmax", "", R"("channels":20,"counts":0)", {{"k", 32}}, {"w", 32}, {{"z", 32 * 8}}},
        {"mean_stream",
         "",
         R"("channels":20,"mode":"mean","counts":0)",
         {{"x", 32}},
         {"y", 32},
         {{"sums", 32 * 8}}}};
    for (const Scan &scan : scans) {
        INFO(scan.kernel, " ", scan.params);
        const Result whole = run(scan, {all_rows}), parts = run(scan, {1, 7, 1, 1, 11, 3});
        CHECK(whole.output == parts.output);
        CHECK(whole.states == parts.states);
        for (const auto &[name, bytes] : whole.states) CHECK(bytes != Bytes(bytes.size()));
    }
}

} // namespace cuts_test
