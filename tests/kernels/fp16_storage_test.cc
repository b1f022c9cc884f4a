// Kernels that store float16: exactly the float32 kernel's results, rounded to the nearest, on a
// Vulkan device.
#include "compiler/base/process.h"
#include "compiler/spirv/rewrite_fp16.h"
#include "formats/base/half.h"
#include "formats/spirv/module.h"
#include "targets/target.h"
#include "tests/kernels/check.h"
#include "tests/kernels/vulkan.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace fp16_storage_test {

using namespace longwave;
using namespace longwave::test;
using Json = nlohmann::json;

namespace {

struct HalfCase {
    const char *spec;
    std::vector<size_t> halves; // arguments
};

const HalfCase cases[] = {
    {R"({"kernel":"pointwise","params":{"width":48,"rows":37},"epilogue":[{"op":"gelu"}]})", {0, 1}},
    {R"({"kernel":"pointwise","params":{"width":48,"rows":37},"epilogue":[{"op":"add"}]})", {0, 1, 2}},
    {R"({"kernel":"linear","params":{"bias":1,"in":72,"out":96,"rows":100}})", {0, 3}},
    {R"({"kernel":"linear","params":{"glu":1,"in":64,"out":48,"rows":33}})", {0}},
    {R"({"kernel":"linear","params":{"in":96,"out":48,"rows":1}})", {1, 2}},
    {R"({"kernel":"norm","params":{"channels":40,"eps":1e-5,"kind":"layer","rows":19}})", {0, 3}},
    {R"({"kernel":"long_conv_fused","params":{"channels":17,"length":256,"rows":200}})", {0, 3}},
    {R"({"kernel":"long_conv_registers","params":{"channels":17,"length":256,"rows":200}})", {0, 3}},
    {R"({"kernel":"long_conv_columns","params":{"channels":16,"length":4096,"points":64,"rows":4096}})",
     {0, 2}},
    {R"({"kernel":"four_step_columns","params":{"channels":16,"length":4096,"rows":4096}})", {0, 2}},
    {R"({"kernel":"softmax","params":{"channels":12,"rows":9}})", {1}},
};

struct Module {
    std::vector<uint32_t> words;
    Json args, gpu;

    size_t elements(size_t a) const {
        size_t last = 0;
        for (const Json &dim : args[a]["dims"]) last += (dim[0].get<size_t>() - 1) * dim[1].get<size_t>();
        return last + 1;
    }
    bool given(size_t a) const { return args[a]["kind"] == "output"; }
};

struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "longwave-halves-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()));
        path = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

Module load(const char *spec, const Folder &folder) {
    const std::string file = (folder.path / "kernel.spv").string();
    const auto made = run_kgen({"--spec", spec, "--target", "vulkan-32k", "-o", file});
    REQUIRE(made);
    REQUIRE_MESSAGE(made->exit_code == 0, made->output);
    const auto bytes = compiler::read_bytes(file);
    REQUIRE(bytes);
    Module module;
    module.words.resize(bytes->size() / 4);
    std::memcpy(module.words.data(), bytes->data(), bytes->size());
    std::ifstream in(folder.path / "kernel.json");
    const Json all = Json::parse(in);
    module.args = all["args"], module.gpu = all["gpu"];
    return module;
}

std::string validated(const std::vector<uint32_t> &words, const Folder &folder) {
    const std::string file = (folder.path / "halves.spv").string();
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char *>(words.data()), static_cast<std::streamsize>(words.size() * 4));
    const auto valid = compiler::run_process({"spirv-val", "--target-env", "vulkan1.1", file});
    return valid && valid->exit_code != 0 ? valid->output : "";
}

// Both forms on the same numbers, float16 as its bits.
using Bits = std::vector<std::vector<uint8_t>>; // of each argument
struct Ran {
    Bits wide, narrow;
    uint32_t overflow = 0;
};

void dispatch(VulkanDevice &device, const Module &module, std::span<const uint32_t> words, Bits &memory,
              uint32_t word_binding, uint32_t *word) {
    std::vector<VulkanDevice::Buffer> buffers;
    for (size_t a = 0; a < memory.size(); a++)
        if (const int binding = module.gpu["bindings"][a]; binding >= 0)
            buffers.push_back({static_cast<uint32_t>(binding), memory[a].data(), memory[a].size()});
    if (word) buffers.push_back({word_binding, word, sizeof *word});
    const Json &grid = module.gpu["grid"];
    CHECK(device.run({words, module.gpu["entry"], {grid[0], grid[1], grid[2]}, false}, buffers) == "");
}

Ran run(VulkanDevice &device, const HalfCase &c, float scale) {
    const Folder folder;
    const Module module = load(c.spec, folder);
    std::mt19937 random(7);
    Ran ran;
    std::set<uint32_t> bindings;
    for (size_t a = 0; a < module.args.size(); a++) {
        const size_t n = module.elements(a);
        const bool half = std::find(c.halves.begin(), c.halves.end(), a) != c.halves.end();
        std::vector<float> wide(n);
        std::vector<_Float16> narrow(n);
        for (size_t i = 0; i < n && !module.given(a); i++) {
            const double x = scale * (static_cast<double>(random() >> 8) / (1 << 24) - 0.5);
            narrow[i] = static_cast<_Float16>(x);
            wide[i] = half ? static_cast<float>(narrow[i]) : static_cast<float>(x);
        }
        const auto *w = reinterpret_cast<const uint8_t *>(wide.data());
        const auto *h = reinterpret_cast<const uint8_t *>(narrow.data());
        ran.wide.emplace_back(w, w + 4 * n);
        if (half) ran.narrow.emplace_back(h, h + 2 * n);
        else ran.narrow.push_back(ran.wide.back());
        if (half) bindings.insert(module.gpu["bindings"][a].get<uint32_t>());
    }
    const spirv::Fp16Module made = spirv::rewrite_fp16(module.words, bindings);
    CHECK(validated(made.words, folder) == "");
    dispatch(device, module, module.words, ran.wide, 0, nullptr);
    dispatch(device, module, made.words, ran.narrow, made.overflow, &ran.overflow);
    return ran;
}

VulkanDevice *device_of_halves() {
    std::string why;
    VulkanDevice *device = VulkanDevice::get(why);
    if (device && device->has_storage_16()) return device;
    fmt::print("SKIPPED: no Vulkan device with 16-bit storage {}\n", why);
    std::fflush(stdout);
    std::_Exit(77);
}

} // namespace

TEST_CASE("halves: a kernel that stores float16 gives its float32 results rounded to the nearest") {
    VulkanDevice *device = device_of_halves();
    for (const HalfCase &c : cases) {
        INFO(c.spec);
        const Ran ran = run(*device, c, 2);
        CHECK(ran.overflow == 0);
        size_t equal = 0, changed = 0;
        for (size_t a = 0; a < ran.wide.size(); a++) {
            const bool half = ran.narrow[a].size() != ran.wide[a].size();
            if (!half) {
                CHECK(ran.narrow[a] == ran.wide[a]);
                continue;
            }
            for (size_t i = 0; i < ran.wide[a].size() / 4; i++) {
                float wide;
                _Float16 narrow;
                std::memcpy(&wide, ran.wide[a].data() + 4 * i, 4);
                std::memcpy(&narrow, ran.narrow[a].data() + 2 * i, 2);
                equal += static_cast<double>(narrow) == to_half(wide);
                changed += static_cast<double>(narrow) != to_half(wide);
            }
        }
        CHECK(equal > 0);
        CHECK(changed == 0);
        compared(c.spec);
    }
}

TEST_CASE("halves: what is beyond float16 is told, and what is not is not") {
    VulkanDevice *device = device_of_halves();
    const HalfCase squares{
        R"({"kernel":"pointwise","params":{"width":48,"rows":37},"epilogue":[{"op":"mul"}]})", {0, 2}};
    CHECK(run(*device, squares, 500).overflow == 0);  // at most 62,500
    CHECK(run(*device, squares, 1000).overflow == 1); // up to 250,000
    const HalfCase fours{R"({"kernel":"linear","params":{"in":72,"out":96,"rows":100}})", {0, 2}};
    CHECK(run(*device, fours, 1).overflow == 0);
    CHECK(run(*device, fours, 1000).overflow == 1); // sums of 72 products of up to 250,000
}

TEST_CASE("halves: rounding as IEEE 754 has it") {
    for (const double x : {0.0, 1.0, -1.5, 65504.0, 65519.0, 6.1e-5, 5.96e-8, 2.9e-8, 2.98023224e-8, 1e-3,
                           -0.3333, 2049.0, 2051.0})
        CHECK(to_half(static_cast<float>(x)) ==
              static_cast<double>(static_cast<_Float16>(static_cast<float>(x))));
    CHECK(to_half(65520) == INFINITY);
    CHECK(to_half(-1e9) == -INFINITY);
    std::mt19937 random(3);
    for (int i = 0; i < 100000; i++) {
        uint32_t bits = random();
        float x;
        std::memcpy(&x, &bits, 4);
        if (!std::isfinite(x)) continue;
        CHECK(to_half(x) == static_cast<double>(static_cast<_Float16>(x)));
    }
}

TEST_CASE("fp16 storage: modules of other forms are rejected") {
    CHECK_THROWS_AS(spirv::rewrite_fp16({}, {0}), spirv::Fault);
    const Folder folder;
    Module module = load(cases[0].spec, folder);
    CHECK_THROWS_AS(spirv::rewrite_fp16(module.words, {7}), spirv::Fault); // no such binding
    module.words.resize(module.words.size() - 3);                          // within the last store
    CHECK_THROWS_AS(spirv::rewrite_fp16(module.words, {0}), spirv::Fault);
}

TEST_CASE("fp16 storage: a kernel reports the arguments that it declares, and none on a CPU") {
    const auto fp16 = [](const char *spec, const char *target) {
        const Json answer = query_kernels({{spec, target}}).at(0);
        REQUIRE_MESSAGE(answer.at("supported"), answer.dump());
        return answer.at("signature").value("fp16", Json());
    };
    const char *linear = R"({"kernel":"linear","params":{"bias":1,"in":72,"out":96,"rows":100}})";
    CHECK(fp16(linear, "vulkan-16k") == Json{0, 1, 2, 3});
    CHECK(fp16(linear, "x86-64-v2").is_null());
    // The output of a softmax may be float16, its input may not.
    CHECK(fp16(R"({"kernel":"softmax","params":{"channels":12,"rows":9}})", "vulkan-16k") == Json{1});
    // In-out arguments and integers never are.
    const char *counter = R"({"kernel":"count_rows","params":{"rows":4}})";
    CHECK(fp16(counter, "vulkan-16k") == Json::array());
}

} // namespace fp16_storage_test
