// What a device is asked when it is opened: each wrong answer, planted in what the host reads.
#include "formats/artifact/modules.h"
#include "tests/unit/runtime/vulkan/device.h"
#include <cstring>

namespace self_test_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// The results begin at byte 256 of the memory of the self-test, which begins with 0.1f. The three
// words of float16 have untouched memory behind them.
constexpr uint32_t first_given = 0x3dcccccd, untouched = 0xaaaaaaaa;
constexpr uint64_t found_at = 64;

bool of_self_test(const uint32_t *words, uint64_t count) { return count >= 128 && words[0] == first_given; }
bool is_float16(const uint32_t *words) { return words[found_at + 3] == untouched; }

// Which result is wrong, and what it is; at most one at a time.
uint64_t wrong_word = 0;
uint32_t wrong_bits = 0;
bool wrong_float16 = false;

void plant(uint32_t *words, uint64_t count) {
    if (!of_self_test(words, count) || is_float16(words) != wrong_float16) return;
    words[found_at + wrong_word] = wrong_bits;
}

// Another version of the driver: what the process knows does not count.
uint32_t version = 1000; // far from those of other tests
void new_driver() { ++version; }
void other_version(VkPhysicalDeviceProperties *properties) { properties->driverVersion += version; }

lw_status open_again(lw_device **device) {
    VulkanShim::properties = other_version;
    const lw_vulkan_options options = through_shim();
    const lw_status status = lw_vulkan_open(&options, device);
    VulkanShim::properties = nullptr;
    return status;
}

lw_status open_planted(lw_device **device) {
    VulkanShim::reset();
    VulkanShim::plant = plant;
    new_driver();
    const lw_status status = open_again(device);
    VulkanShim::plant = nullptr;
    return status;
}

struct Wrong {
    const char *what;
    uint64_t word;
    uint32_t bits;
};

constexpr uint32_t infinity = 0x7f800000, nan = 0x7fc00000, one = 0x3f800000;
constexpr Wrong wrong[] = {
    {"loses what it rounds off", 1, 0}, // no low part
    {"loses what it rounds off", 0, nan},
    {"a product below 2^-126", 2, one},
    {"a number below 2^-126 is neither", 3, 0x00800000},
    {"do not add to 1", 4, one + 1},
    {"beyond float32 is not infinite", 5, 0x7f7fffff}, // the largest number
    {"difference of infinities", 6, 0},
    {"a product with NaN", 7, infinity},
    {"NaN is equal to itself", 8, 1},
};

} // namespace

TEST_CASE("vulkan self-test: each wrong answer rejects the device by name") {
    if (!has_device()) return;
    wrong_float16 = false;
    for (const Wrong &one_wrong : wrong) {
        CAPTURE(one_wrong.what);
        wrong_word = one_wrong.word, wrong_bits = one_wrong.bits;
        lw_device *device = nullptr;
        const int64_t before = VulkanShim::alive();
        CHECK(open_planted(&device) == LW_DEVICE_WRONG);
        CHECK(device == nullptr);
        const std::string message = lw_last_error();
        CHECK_MESSAGE(message.find(one_wrong.what) != std::string::npos, message);
        CHECK(message.find(" computes wrongly: ") > 0); // behind the name
        CHECK(VulkanShim::alive() == before);
    }
}

TEST_CASE("vulkan self-test: a device that takes numbers below 2^-126 as zero is sound") {
    if (!has_device()) return;
    wrong_float16 = false;
    wrong_bits = 0;
    for (const uint64_t word : {2, 3}) {
        wrong_word = word;
        lw_device *device = nullptr;
        CHECK(open_planted(&device) == LW_OK);
        lw_vulkan_close(device);
    }
}

TEST_CASE("vulkan self-test: where float16 is rounded otherwise, only models with float16 are rejected") {
    if (!has_device()) return;
    wrong_float16 = true;
    wrong_word = 0, wrong_bits = 0x3c023c01; // the tie of 1 is rounded up
    lw_device *device = nullptr;
    REQUIRE(open_planted(&device) == LW_OK);
    fb::ModulesT manifest = gpu_manifest();
    const lw_open_options options = on(device);
    lw_model *model = nullptr;
    const std::vector<uint8_t> plain = gpu_model(manifest).bytes();
    CHECK(lw_model_open_memory(plain.data(), plain.size(), &options, &model) == LW_OK);
    lw_model_close(model);
    manifest.features = artifact::gpu_storage_16;
    const std::vector<uint8_t> bytes = gpu_model(manifest).bytes();
    CHECK(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_UNSUPPORTED);
    CHECK(std::string(lw_last_error()).find("float16") != std::string::npos);
    lw_vulkan_close(device);
}

TEST_CASE("vulkan self-test: a success is remembered by the process, a failure is not") {
    if (!has_device()) return;
    wrong_float16 = false, wrong_word = 8, wrong_bits = 1;
    lw_device *device = nullptr;
    CHECK(open_planted(&device) == LW_DEVICE_WRONG);
    uint64_t calls[2] = {};
    for (uint64_t &of : calls) {
        VulkanShim::reset();
        REQUIRE(open_again(&device) == LW_OK);
        of = VulkanShim::calls();
        lw_vulkan_close(device);
    }
    CHECK(calls[1] < calls[0]);
}

TEST_CASE("vulkan self-test: whichever of its calls fails, there is a named status and nothing is kept") {
    if (!has_device()) return;
    lw_device *device = nullptr;
    VulkanShim::reset();
    new_driver();
    REQUIRE(open_again(&device) == LW_OK);
    lw_vulkan_close(device);
    const uint64_t calls = VulkanShim::calls();
    for (uint64_t k = 1; k <= calls; ++k) {
        const int64_t before = VulkanShim::alive();
        new_driver();
        VulkanShim::fail(k);
        const lw_status status = open_again(&device);
        const std::string name = VulkanShim::failed_name();
        CAPTURE(name);
        CHECK(status != LW_OK);
        if (status == LW_OK) lw_vulkan_close(device);
        // Without these functions an instance or a device cannot be given back.
        const bool lost_way = name == "vkDestroyInstance" || name == "vkDestroyDevice";
        CHECK(VulkanShim::alive() - before <= (lost_way ? 1 : 0));
    }
    VulkanShim::reset();
}

} // namespace self_test_test
