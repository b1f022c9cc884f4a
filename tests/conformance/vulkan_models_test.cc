// Compiled models on a Vulkan device: equal to the CPU, one dispatch a kernel call, refusals by
// layer.
#include "formats/artifact/header.h"
#include "formats/artifact/schema.h"
#include "tests/support/every_case.h"
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_models.h"
#include <cstring>
#include <span>

namespace vulkan_models_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 5;

LayerPackage empty_package() { return LayerPackage(features_input(width)); }

Expected<compiler::Compiled> compile(const LayerPackage &package, uint32_t length,
                                     const std::vector<std::string> &gpus) {
    compiler::Options options = options_here();
    options.targets.insert(options.targets.end(), gpus.begin(), gpus.end());
    options.stream = compiler::StreamMode::none;
    options.length = length;
    return package.compile(options);
}
Expected<compiler::Compiled> compile_here(const LayerPackage &package, uint32_t length) {
    return compile(package, length, {vulkan_options_here().targets.back()});
}

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
            const std::string spec = plan.kernels()->Get(step->kernel())->spec()->str();
            for (const char *name : {"long_conv", "four_step"})
                calls.convolutions += spec.find(name) != std::string::npos;
        }
    return calls;
}

// Runs of several lengths through both; returns how many dispatches a run takes, and convolutions.
Calls compare(const LayerPackage &package, uint32_t length) {
    const auto made = compile_here(package, length);
    const Both models(made);
    double worst = 0;
    CHECK(lw_model_verify(models.gpu.handle.get(), &worst) == LW_OK);
    CHECK(worst > 0);
    uint64_t dispatches = 0;
    for (size_t rows : {size_t{length}, size_t{length} / 2 + 1, size_t{3}}) {
        const cli::Sequence in =
            sequence_of(random_numbers(rows * width, static_cast<uint32_t>(rows)), width);
        const uint64_t before = vulkan_stats().dispatches;
        const auto there = outputs_of_run(models.gpu, in), here = outputs_of_run(models.cpu, in);
        dispatches = vulkan_stats().dispatches - before;
        const double error = distance(there[0], here[0]);
        CHECK_MESSAGE(error <= 1e-5, rows, " rows: ", error);
        MESSAGE(rows, " rows: ", error, " of the peak, ", dispatches, " dispatches");
    }
    const Calls calls = calls_of(made->artifact);
    CHECK(dispatches == calls.all);
    return calls;
}

} // namespace

TEST_CASE("vulkan models: linear, GELU and layer norm as on the CPU, a dispatch for each fused region") {
    LayerPackage package = empty_package();
    package.linear("in", 5, 48);
    package.plain("gelu", "act");
    package.layer_norm("norm", 48);
    package.linear("out", 48, 7);
    CHECK(compare(package, 300).all == 3);
}

TEST_CASE("vulkan models: stacks of SGConv with GLU and layer norms, causal and two-sided, one dispatch a "
          "convolution") {
    struct {
        uint32_t channels, l_max, length;
        bool two_sided;
    } const cases[] = {{8, 256, 600, false}, {24, 64, 64, true}, {24, 64, 100, false}, {40, 512, 512, true}};
    for (const auto &c :
         std::span(cases).first(every_case() ? 4 : 2)) { // the others: the same with more channels
        LayerPackage package = empty_package();
        package.linear("in", 5, c.channels);
        for (const char *block : {"a", "b"}) {
            package.sgconv(std::string(block) + ".conv", c.channels, c.l_max, {.two_sided = c.two_sided});
            package.layer_norm(std::string(block) + ".norm", c.channels);
        }
        package.linear("out", c.channels, 7);
        CHECK(compare(package, c.length).convolutions == 2);
    }
}

// A convolution longer than shared memory, with its gate behind it, as many dispatches as expected.
// One side and two, one channel and several, and copies: each is in the first cases of a list at least
// once. The kernels of the others are those of kernels_registers and kernels_four_step, at these sizes.
struct LongCase {
    uint32_t channels, l_max, length;
    bool two_sided = false;
    uint64_t dispatches = 3; // by four_step: columns, rows, columns back
    uint32_t copies = 1;
};
void compare_long(std::span<const LongCase> cases) {
    for (const LongCase &c : cases) {
        LayerPackage package = empty_package();
        package.linear("in", 5, c.channels);
        package.sgconv("conv", c.channels, c.l_max,
                       {.two_sided = c.two_sided, .norm = 500, .copies = c.copies});
        MESSAGE(c.length, " rows, ", c.l_max, " taps, ", c.channels, " channels, ", c.copies, " copies",
                std::string(c.two_sided ? ", two-sided" : ""));
        CHECK(compare(package, c.length).convolutions == c.dispatches);
    }
}

bool with_16_kib() { return vulkan_options_here().targets.back() == "vulkan-16k"; }

TEST_CASE(
    "vulkan models: convolutions of up to 8,192 rows take one dispatch, with one side or two, any channels "
    "and copies; with 16 KiB up to 4,096") {
    const uint64_t dispatches = with_16_kib() ? 3 : 1;
    const LongCase cases[] = {{1, 4100, 4100, false, dispatches},    {17, 4100, 4100, true, dispatches},
                              {3, 4100, 4100, false, dispatches, 2}, {2, 129, 129, true, 1, 2},
                              {16, 4100, 4100, false, dispatches},   {2, 4100, 4101, true, dispatches},
                              {1, 5000, 5000, true, dispatches, 2},  {5, 2049, 2049, false, 1}};
    compare_long(std::span(cases).first(every_case() ? 8 : 4));
}

TEST_CASE("vulkan models: the device has no tables that only the CPU reads") {
    LayerPackage package = empty_package();
    package.linear("in", 5, 16);
    package.sgconv("conv", 16, 4000, {.norm = 500});
    const auto made = compile_here(package, 4000);
    const uint64_t before = vulkan_stats().uploaded_bytes;
    const Both models(made);
    const uint64_t uploaded = vulkan_stats().uploaded_bytes - before;
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(models.gpu.handle.get(), &info) == LW_OK);
    // The spectrum of either has 8 bytes per point and channel, in its own order.
    CHECK(info.derived_bytes >= uint64_t{2} * 16 * 4096 * 8);
    CHECK(uploaded < info.derived_bytes);
    CHECK(uploaded >= uint64_t{16} * 4096 * 8);
}

TEST_CASE("vulkan models: longer convolutions take three dispatches") {
    const LongCase cases[] = {
        {5, 8193, 8193}, {2, 8200, 8201, true}, {1, 8200, 8200}, {3, 8300, 8300, false, 3, 2}};
    compare_long(std::span(cases).first(every_case() ? 4 : 2));
}

// Points in registers take few instructions, so that a matrix costs less than blocks.
TEST_CASE("vulkan models: few taps over a long sequence go by blocks with 16 KiB, a dispatch each") {
    if (!with_16_kib() && !every_case()) return; // with more it takes three dispatches, like those above
    const LongCase cases[] = {{64, 512, 12200, false, with_16_kib() ? 12u : 3u}};
    compare_long(cases);
}

TEST_CASE("vulkan models: sequences of 16384 to 65536 rows" * doctest::skip()) {
    const LongCase cases[] = {{64, 16384, 16384},
                              {3, 16385, 16385, true},
                              {17, 65536, 65536},
                              {1, 65535, 65535, true},
                              {64, 1000, 65536, false, with_16_kib() ? 64u : 3u},
                              {64, 65536, 65536, true, 3, 2}};
    compare_long(cases);
}

TEST_CASE("vulkan models: what no GPU runs is refused by layer, with the reasons and the way out") {
    LayerPackage package = empty_package();
    package.linear("in", 5, 16);
    package.sgconv("conv", 16, 64, {.two_sided = true});
    const auto made = compile(package, 5000000, {"vulkan-16k"});
    REQUIRE_FALSE(made);
    CHECK(made.status().fault() == Fault::input);
    for (const char *part :
         {"layer conv", "5000000", "--length 2048", "a workgroup has shared memory for 2048", "two sides",
          "vulkan-16k", "compile without --target"})
        CHECK_MESSAGE(made.status().message().find(part) != std::string::npos, made.status().message());
}

TEST_CASE(
    "vulkan models: an artifact without a GPU's target has nothing of it, and one with it all that it had") {
    LayerPackage package = empty_package();
    package.linear("in", 5, 16);
    const auto plain = compile(package, 64, {}), gpu = compile(package, 64, {"vulkan-16k"});
    REQUIRE(plain);
    REQUIRE_MESSAGE(gpu, gpu.status().message());
    CHECK(plain->artifact[10] == 0); // the minor version of the format
    CHECK(gpu->artifact[10] == 1);
    const auto a = cli::Model::open(plain->artifact), b = cli::Model::open(gpu->artifact);
    REQUIRE(a);
    REQUIRE(b);
    const cli::Sequence in = sequence_of(random_numbers(64 * width, 1), width);
    CHECK(same_bits(outputs_of_run(*a, in)[0], outputs_of_run(*b, in)[0]));
}

TEST_CASE("vulkan models: targets that cannot be had together are refused") {
    LayerPackage package = empty_package();
    package.linear("in", 5, 16);
    const auto two = compile(package, 64, {"vulkan-16k", "vulkan-32k"});
    REQUIRE_FALSE(two);
    CHECK(two.status().fault() == Fault::usage);
    const auto none = compile(package, 64, {"vulkan-64k"});
    REQUIRE_FALSE(none);
    CHECK(none.status().message().find("vulkan-32k") != std::string::npos);
}

} // namespace vulkan_models_test
