// Images of real kernels: the bytes that ld.lld makes of the same objects, for every processor that
// loads code.
#include "compiler/codegen/kernel_cache.h"
#include "tests/kernels/check.h"
#include "tests/support/lld_image.h"
#include <cstdlib>

namespace images_test {

using namespace longwave;
using namespace longwave::test;

TEST_CASE("images: real kernels have the bytes of ld.lld") {
    const std::string build = std::getenv("LONGWAVE_BUILD");
    // With calls of the allocator, memset and memcpy, and with constants of every size.
    const std::vector<std::string> specs = {
        R"({"kernel":"decaying_attention_chunk","params":{"dk":40,"dv":40,"heads":4,"rows":16,"parts":1}})",
        R"({"kernel":"frame_power","params":{"hop":160,"n_fft":512,"ring":640,"rows":2,"window":400}})",
        R"({"kernel":"spectrum","params":{"channels":160,"copies":1,"lanes":0,"length":1024,"partitions":1,"taps":64,"two_sided":0}})",
        R"({"epilogue":[{"op":"gelu"}],"kernel":"long_conv_direct","params":{"channels":96,"copies":1,"ring":64,"rows":1,"taps":64}})",
    };
    for (const targets::Target &target : targets::all()) {
        if (target.objects != targets::ObjectFormat::elf || !target.loads_code) continue;
        CAPTURE(target.name);
        std::vector<compiler::KernelRequest> requests;
        for (const std::string &spec : specs) requests.push_back({spec, target.name});
        auto compiled = compiler::compile_kernels(requests, {.kgen = find_kgen()});
        if (!compiled && !target.clang.empty() && compiled.status().fault() == Fault::device) {
            MESSAGE(target.name, " is left out: ", compiled.status().message());
            continue;
        }
        REQUIRE_MESSAGE(compiled, compiled.status().message());
        std::vector<compiler::LinkedKernel> kernels;
        for (size_t i = 0; i < specs.size(); i++)
            kernels.push_back(
                {&(*compiled)[i].object, compiler::kernel_symbol(specs[i]) + "_argv", 64 * (i + 1)});
        const auto merged = compiler::link_image(kernels, target);
        REQUIRE_MESSAGE(merged, merged.status().message());
        for (auto &kernel : *compiled) do_not_merge(kernel.object);
        const auto ours = compiler::link_image(kernels, target);
        REQUIRE_MESSAGE(ours, ours.status().message());
        const auto theirs = lld_image(kernels, target);
        REQUIRE_MESSAGE(theirs, theirs.status().message());
        CHECK(first_difference(*ours, *theirs) == "");
        CHECK(merged->bytes.size() <= ours->bytes.size());
        CHECK(merged->entries == ours->entries);
    }
}

} // namespace images_test
