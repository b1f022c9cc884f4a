#include "tests/support/vulkan_models.h"
#include "tools/cli/model/device.h"
#include <cstdio>
#include <cstdlib>

namespace longwave::test {

std::shared_ptr<lw_device> vulkan_device() {
    static const auto found = cli::open_device("vulkan", {.share_dispatches = true});
    if (found) return *found;
    std::printf("SKIPPED: %s\n", found.status().message().c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

lw_vulkan_stats vulkan_stats() {
    lw_vulkan_stats now{};
    now.struct_size = sizeof now;
    CHECK(lw_vulkan_get_stats(vulkan_device().get(), &now) == LW_OK);
    return now;
}

compiler::Options vulkan_options_here() {
    compiler::Options options = options_here();
    const auto target = cli::target_of(vulkan_device().get());
    REQUIRE_MESSAGE(target, target.status().message());
    options.targets.push_back(*target);
    return options;
}

Both::Both(const Expected<compiler::Compiled> &made) : cpu(opened(made)) {
    auto there = cli::Model::open(made->artifact, vulkan_device());
    REQUIRE_MESSAGE(there, there.status().message());
    gpu = *std::move(there);
}

} // namespace longwave::test
