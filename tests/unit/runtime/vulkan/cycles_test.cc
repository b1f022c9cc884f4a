// A thousand lives of a device, every other one with a call that fails: for the sanitizers, and for
// what they miss.
#include "tests/unit/runtime/vulkan/life.h"

namespace cycles_test {

using namespace longwave;
using namespace longwave::test;

TEST_CASE(
    "vulkan: after 1,000 devices opened, run and closed, half of them with a failure, nothing is left") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = model_with_golden();
    const CacheFolder folder;
    const std::string path = folder.path;
    VulkanShim::reset();
    REQUIRE(whole_life(bytes, {path.c_str(), true, true}).status == LW_OK);
    const uint64_t calls = VulkanShim::calls();
    for (uint64_t cycle = 0; cycle < 1000; ++cycle) {
        CAPTURE(cycle);
        const LifeOptions with{cycle & 2 ? path.c_str() : nullptr, (cycle & 4) != 0, (cycle & 8) != 0};
        const int64_t before = VulkanShim::alive();
        VulkanShim::reset();
        if (cycle & 1) VulkanShim::fail(1 + cycle * 7919 % calls, VK_ERROR_DEVICE_LOST);
        const lw_status status = whole_life(bytes, with).status;
        if (!(cycle & 1)) CHECK(status == LW_OK);
        const std::string name = VulkanShim::failed_name();
        const bool lost_way = name == "vkDestroyInstance" || name == "vkDestroyDevice";
        CHECK(VulkanShim::alive() - before <= (lost_way ? 1 : 0));
        CHECK(taken == 0);
    }
    VulkanShim::reset();
}

} // namespace cycles_test
