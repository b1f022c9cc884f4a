// What `length` means on a Vulkan device, for every op that reads other rows.
#include "tests/conformance/length_cases.h"
#include "tests/support/vulkan_models.h"

namespace vulkan_lengths_test {

using namespace longwave::test;

TEST_CASE("vulkan: length ends pooling, and every other op runs on all rows") {
    check_lengths(vulkan_options_here(), vulkan_device());
}

} // namespace vulkan_lengths_test
