// Compiled models on a Vulkan device: equal to the processor, one dispatch a kernel call, refusals by layer.
#include "compiler/compile.h"
#include "formats/artifact/header.h"
#include "formats/artifact/schema.h"
#include "formats/package/package.h"
#include "tests/support/compiled_model.h"
#include "tools/cli/artifact_file.h"
#include "tools/cli/device.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace longwave;
using namespace longwave::test;
using nlohmann::json;

namespace {

// The device, or the end of the test where there is none.
std::shared_ptr<lw_device> device() {
    static const auto found = cli::open_device("vulkan");
    if (found) return *found;
    std::printf("SKIPPED: %s\n", found.status().message().c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

lw_vulkan_stats stats() {
    lw_vulkan_stats now{};
    now.struct_size = sizeof now;
    CHECK(lw_vulkan_get_stats(device().get(), &now) == LW_OK);
    return now;
}

class Package {
public:
    explicit Package(uint32_t width) : width_(width) {}

    std::vector<float> noise(size_t n, float scale) {
        std::normal_distribution<float> normal(0, scale);
        std::vector<float> values(n);
        for (float &value : values) value = normal(random_);
        return values;
    }
    void tensor(const std::string &name, std::vector<uint64_t> shape, float scale, float mean = 0) {
        uint64_t n = 1;
        for (uint64_t extent : shape) n *= extent;
        std::vector<float> values = noise(n, scale);
        for (float &value : values) value += mean;
        weights_[name] = {std::move(shape), std::move(values)};
    }
    void linear(const std::string &name, uint64_t in, uint64_t out) {
        layers_.push_back({{"type", "linear"}, {"name", name}, {"out_features", out}});
        tensor(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
        tensor(name + ".bias", {out}, 0.1f);
    }
    void layer_norm(const std::string &name, uint64_t width) {
        layers_.push_back({{"type", "layer_norm"}, {"name", name}});
        tensor(name + ".weight", {width}, 0.1f, 1);
        tensor(name + ".bias", {width}, 0.1f);
    }
    void plain(const std::string &type, const std::string &name) {
        layers_.push_back({{"type", type}, {"name", name}});
    }
    // The norm divides the kernel, whose first scales are the largest.
    void sgconv(const std::string &name, uint64_t channels, uint32_t l_max, bool two_sided, float norm = 2,
                uint64_t copies = 1) {
        json layer = {
            {"type", "sgconv"}, {"name", name}, {"kernel_dim", 16}, {"l_max", l_max}, {"postact", "glu"}};
        if (two_sided) layer["bidirectional"] = true;
        if (copies > 1) layer["channels"] = copies;
        layers_.push_back(layer);
        const uint64_t sides = (two_sided ? 2 : 1) * copies;
        for (int scale = 0; 16u << scale < 2 * l_max; ++scale)
            tensor(name + ".kernel_list." + std::to_string(scale), {sides, channels, 16}, 0.3f);
        tensor(name + ".kernel_norm", {sides, channels, 1}, 0, norm);
        weights_[name + ".kernel_norm_initialized"] = {{}, {1.0f}};
        tensor(name + ".multiplier", {1, channels, 1}, 0, 2);
        tensor(name + ".D", {copies, channels}, 0.3f);
        tensor(name + ".output_linear.0.weight", {2 * channels, copies * channels},
               1 / std::sqrt(static_cast<float>(copies * channels)));
        tensor(name + ".output_linear.0.bias", {2 * channels}, 0.1f);
    }

    Expected<compiler::Compiled> compile(uint32_t length, std::vector<std::string> gpus) const {
        const json model = {
            {"format", "longwave-model"},
            {"version", 1},
            {"name", "stack"},
            {"inputs", json::array({{{"name", "x"}, {"kind", "features"}, {"width", width_}}})},
            {"layers", layers_},
            {"outputs", json::array({{{"name", "y"}, {"from", layers_.back()["name"]}}})}};
        compiler::Options options = options_here();
        options.targets.insert(options.targets.end(), gpus.begin(), gpus.end());
        options.stream = compiler::StreamMode::none;
        options.length = length;
        return compiled(model.dump(), weights_, options);
    }

private:
    uint32_t width_;
    json layers_ = json::array();
    Tensors weights_;
    std::mt19937 random_{7};
};

std::string gpu_target() { return *cli::target_of(device().get()); }

// Calls of the GPU's entry, and how many of them are long convolutions.
struct Calls {
    uint64_t all = 0, convolutions = 0;
};
Calls calls_of(const std::vector<uint8_t> &bytes) {
    artifact::Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const fb::Plan &plan = *fb::GetPlan(bytes.data() + header.plan_offset);
    Calls calls;
    for (const fb::Entry *entry : *plan.entries())
        for (const fb::Step *step : *entry->steps()) {
            if (entry->device() != fb::DeviceKind::gpu || step->kind() != fb::StepKind::call) continue;
            calls.all++;
            calls.convolutions +=
                plan.kernels()->Get(step->kernel())->spec()->str().find("long_conv") != std::string::npos;
        }
    return calls;
}

// Runs of several lengths through both; returns how many dispatches a run takes.
uint64_t compare(Package &package, uint32_t width, uint32_t length) {
    const auto made = package.compile(length, {gpu_target()});
    REQUIRE_MESSAGE(made, made.status().message());
    const auto cpu = cli::Model::open(made->artifact), gpu = cli::Model::open(made->artifact, device());
    REQUIRE(cpu);
    REQUIRE_MESSAGE(gpu, gpu.status().message());
    double worst = 0;
    CHECK(lw_model_verify(gpu->handle.get(), &worst) == LW_OK);
    CHECK(worst > 0);
    uint64_t dispatches = 0;
    for (size_t rows : {size_t{length}, size_t{length} / 2 + 1, size_t{3}}) {
        const cli::Sequence in = sequence_of(package.noise(rows * width, 1), width);
        const uint64_t before = stats().dispatches;
        const auto there = outputs_of_run(*gpu, in), here = outputs_of_run(*cpu, in);
        dispatches = stats().dispatches - before;
        REQUIRE(there[0].size() == here[0].size());
        double peak = 0, apart = 0;
        for (size_t i = 0; i < here[0].size(); ++i) {
            peak = std::fmax(peak, std::fabs(here[0][i]));
            apart = std::fmax(apart, std::fabs(double{here[0][i]} - there[0][i]));
        }
        CHECK(peak > 0);
        CHECK_MESSAGE(apart <= 1e-5 * peak, rows, " rows: ", apart / peak);
        MESSAGE(rows, " rows: ", apart / peak, " of the peak, ", dispatches, " dispatches");
    }
    CHECK(dispatches == calls_of(made->artifact).all);
    return dispatches;
}

} // namespace

TEST_CASE(
    "vulkan models: linear, GELU and layer norm as on the processor, a dispatch for each fused region") {
    Package package(5);
    package.linear("in", 5, 48);
    package.plain("gelu", "act");
    package.layer_norm("norm", 48);
    package.linear("out", 48, 7);
    CHECK(compare(package, 5, 300) == 3);
}

TEST_CASE("vulkan models: stacks of SGConv with GLU and layer norms, causal and two-sided, one dispatch a "
          "convolution") {
    struct {
        uint32_t channels, l_max, length;
        bool two_sided;
    } const cases[] = {{24, 64, 100, false}, {24, 64, 64, true}, {8, 256, 600, false}, {40, 512, 512, true}};
    for (const auto &c : cases) {
        Package package(5);
        package.linear("in", 5, c.channels);
        for (const char *block : {"a", "b"}) {
            package.sgconv(std::string(block) + ".conv", c.channels, c.l_max, c.two_sided);
            package.layer_norm(std::string(block) + ".norm", c.channels);
        }
        package.linear("out", c.channels, 7);
        compare(package, 5, c.length);
        const auto made = package.compile(c.length, {gpu_target()});
        REQUIRE(made);
        CHECK(calls_of(made->artifact).convolutions == 2);
    }
}

// A convolution longer than shared memory, with its gate behind it, as many dispatches as expected.
struct LongCase {
    uint32_t channels, l_max, length;
    bool two_sided = false;
    uint64_t dispatches = 3; // by four_step: columns, rows, columns back
    uint32_t copies = 1;
};
void compare_long(const std::vector<LongCase> &cases) {
    for (const LongCase &c : cases) {
        Package package(5);
        package.linear("in", 5, c.channels);
        package.sgconv("conv", c.channels, c.l_max, c.two_sided, 500, c.copies);
        MESSAGE(c.length, " rows, ", c.l_max, " taps, ", c.channels, " channels, ", c.copies, " copies",
                std::string(c.two_sided ? ", two-sided" : ""));
        compare(package, 5, c.length);
        const auto made = package.compile(c.length, {gpu_target()});
        REQUIRE(made);
        CHECK(calls_of(made->artifact).convolutions == c.dispatches);
    }
}

TEST_CASE(
    "vulkan models: convolutions longer than shared memory take three dispatches, with one side or two, any "
    "channels and copies") {
    compare_long({{16, 5000, 5000},
                  {1, 5000, 5000},
                  {2, 4100, 4101, true},
                  {17, 4500, 4500, true},
                  {3, 6000, 6000, false, 3, 2},
                  {1, 5000, 5000, true, 3, 2}});
}

TEST_CASE("vulkan models: few taps over a long sequence go by blocks, a dispatch each") {
    compare_long({{64, 512, 6100, false, gpu_target() == "vulkan-16k" ? 6u : 3u}});
}

TEST_CASE("vulkan models: sequences of 16384 to 65536 rows" * doctest::skip()) {
    compare_long({{64, 16384, 16384},
                  {3, 16385, 16385, true},
                  {17, 65536, 65536},
                  {1, 65535, 65535, true},
                  {64, 1000, 65536, false, gpu_target() == "vulkan-16k" ? 64u : 32u},
                  {64, 65536, 65536, true, 3, 2}});
}

TEST_CASE("vulkan models: what no GPU runs is refused by layer, with the reasons and the way out") {
    Package package(5);
    package.linear("in", 5, 16);
    package.sgconv("conv", 16, 64, true);
    const auto made = package.compile(5000000, {"vulkan-16k"});
    REQUIRE_FALSE(made);
    CHECK(made.status().fault() == Fault::input);
    for (const char *part :
         {"layer conv", "5000000", "--length 2048", "a workgroup has shared memory for 2048", "two sides",
          "vulkan-16k", "leave that target out"})
        CHECK_MESSAGE(made.status().message().find(part) != std::string::npos, made.status().message());
}

TEST_CASE(
    "vulkan models: an artifact without a GPU's target has nothing of it, and one with it all that it had") {
    Package package(5);
    package.linear("in", 5, 16);
    const auto plain = package.compile(64, {}), gpu = package.compile(64, {"vulkan-16k"});
    REQUIRE(plain);
    REQUIRE_MESSAGE(gpu, gpu.status().message());
    CHECK(plain->artifact[10] == 0); // the minor version of the format
    CHECK(gpu->artifact[10] == 1);
    const auto a = cli::Model::open(plain->artifact), b = cli::Model::open(gpu->artifact);
    REQUIRE(a);
    REQUIRE(b);
    const cli::Sequence in = sequence_of(package.noise(64 * 5, 1), 5);
    CHECK(same_bits(outputs_of_run(*a, in)[0], outputs_of_run(*b, in)[0]));
}

TEST_CASE("vulkan models: targets that cannot be had together are refused") {
    Package package(5);
    package.linear("in", 5, 16);
    const auto two = package.compile(64, {"vulkan-16k", "vulkan-32k"});
    REQUIRE_FALSE(two);
    CHECK(two.status().fault() == Fault::usage);
    const auto none = package.compile(64, {"vulkan-64k"});
    REQUIRE_FALSE(none);
    CHECK(none.status().message().find("vulkan-32k") != std::string::npos);
}
