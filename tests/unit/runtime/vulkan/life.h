// A device, a model and a runner from the first call to the last, whatever fails in between.
#pragma once
#include "tests/unit/runtime/vulkan/device.h"

namespace longwave::test {

struct LifeOptions {
    const char *cache_folder = nullptr;
    bool fall_back = false, prove = false;
};

struct Life {
    lw_status status = LW_OK; // the first failure
    bool made = false;        // a runner was there
    Results results[2];       // of runs of 64 and 31 rows; only those before a failure
    lw_vulkan_stats stats{};
};

// Opens a device and the model, runs it twice, and closes all. Memory comes from `counting`.
Life whole_life(const std::vector<uint8_t> &bytes, const LifeOptions &with = {});

// gpu_model with a golden vector of its run, what the CPU gives, of that limit. `wrong`: added to
// one value.
std::vector<uint8_t> model_with_golden(float limit = 1e-5f, float wrong = 0);

} // namespace longwave::test
