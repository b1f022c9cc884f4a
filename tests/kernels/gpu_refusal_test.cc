// What no kernel of a gpu can be made from, and code of Halide that is not what it should be.
#include "compiler/base/process.h"
#include "formats/spirv/module.h"
#include "schedules/halide/module_blob.h"
#include "schedules/halide/params.h"
#include "tests/kernels/check.h"
#include <cstring>

namespace gpu_refusal_test {

using namespace longwave::test;
namespace schedules = longwave::schedules;
namespace spirv = longwave::spirv;

namespace {

// Exit code and text of the kernel compiler.
std::pair<int, std::string> compiled(const std::string &text, const std::string &target,
                                     const std::string &out = "/dev/null/kernel.spv") {
    const auto result = run_kgen({"--spec", text, "--target", target, "-o", out});
    REQUIRE(result);
    return {result->exit_code, result->output};
}

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

// A module of one multiplication, with one buffer and a workgroup of 8. Only what is read matters.
std::vector<uint32_t> small_module() {
    std::vector<uint32_t> words = {longwave::spirv_magic, 0x00010000, 0, 9, 0};
    std::vector<uint32_t> name = spirv::words_of("k1_x");
    name.insert(name.begin(), 5u);
    spirv::put(words, spv::OpExecutionMode, {1, spv::ExecutionModeLocalSize, 8, 1, 1});
    spirv::put(words, spv::OpName, name);
    spirv::put(words, spv::OpDecorate, {5, spv::DecorationBinding, 3});
    spirv::put(words, spv::OpTypeVoid, {2});
    spirv::put(words, spv::OpFunction, {2, 4, 0, 8});
    spirv::put(words, spv::OpFMul, {3, 7, 6, 6});
    return words;
}
// The blob of that module.
std::vector<uint32_t> small_blob() {
    std::vector<uint32_t> header = {1}; // sets
    for (const uint32_t word : {2u, spirv::words_of("main")[0], 0u, 0u, 1u, 0u, 0u, 0u, 0u, 0u})
        header.push_back(word);
    header.insert(header.begin(), static_cast<uint32_t>(header.size() + 1));
    const std::vector<uint32_t> module = small_module();
    std::vector<uint32_t> blob = {1, static_cast<uint32_t>(4 * (header.size() + module.size())), 2,
                                  spirv::words_of("main")[0], 0};
    blob.insert(blob.end(), header.begin(), header.end());
    blob.insert(blob.end(), module.begin(), module.end());
    return blob;
}
schedules::SpirvKernel read(const std::vector<uint32_t> &blob) {
    return schedules::read_blob(reinterpret_cast<const uint8_t *>(blob.data()), blob.size() * 4);
}

} // namespace

TEST_CASE("gpu: a kernel without a schedule, a transform that is too long and a wrong file name are refused "
          "by name") {
    const auto [none, no_schedule] = compiled(R"({"kernel":"expand_scales","params":{}})", "vulkan-16k");
    CHECK(none == 1);
    CHECK(contains(no_schedule,
                   "kernel 'expand_scales' has no schedule for a GPU: leave target vulkan-16k out"));
    const auto [only, no_processor] =
        compiled(R"({"kernel":"long_conv_fused","params":{}})", "x86-64-v2", "/dev/null/k.o");
    CHECK(only == 1);
    CHECK(contains(no_processor, "kernel 'long_conv_fused' has no schedule for a CPU"));
    const auto [longer, too_long] = compiled(
        R"({"kernel":"long_conv_fused","params":{"length":4096,"rows":4096,"channels":1}})", "vulkan-16k");
    CHECK(longer == 1);
    CHECK(contains(too_long, "'length' is at most 2048 on vulkan-16k"));
    const auto [named, wrong_name] =
        compiled(R"({"kernel":"pointwise","params":{"width":1,"rows":1}})", "vulkan-16k", "/dev/null/k.o");
    CHECK(named == 2);
    CHECK(contains(wrong_name, "the output must be named *.spv"));
}

TEST_CASE("gpu: a blob of one kernel is read, and what it says of itself must hold") {
    const schedules::SpirvKernel kernel = read(small_blob());
    CHECK(kernel.entry == "main");
    CHECK(kernel.storage_buffers == 1);
    CHECK(kernel.uniform_buffers == 0);
    const schedules::SpirvFacts facts = schedules::read_facts(kernel.words);
    CHECK(facts.local[0] == 8);
    CHECK(facts.binding.at("x") == 3);
    const auto exact = schedules::without_contraction(kernel.words);
    CHECK(exact.size() == kernel.words.size() + 3);
    CHECK(schedules::without_contraction(exact).size() == exact.size() + 3);
}

TEST_CASE("gpu: a blob that ends anywhere, and one with any word of its header changed, is refused or read, "
          "no more") {
    const std::vector<uint32_t> whole = small_blob();
    for (size_t end = 0; end < whole.size(); end++)
        CHECK_THROWS_AS(read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end)}),
                        schedules::SpecError);
    for (size_t at = 0; at < whole.size(); at++)
        for (const uint32_t value : {0u, 2u, 0xffffffffu, 0x7fffffffu}) {
            std::vector<uint32_t> changed = whole;
            changed[at] = value;
            try {
                const auto kernel = read(changed);
                schedules::read_facts(kernel.words);
                schedules::without_contraction(kernel.words);
            } catch (const schedules::SpecError &) {
            }
        }
}

} // namespace gpu_refusal_test
