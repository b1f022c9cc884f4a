// A device, a model on it and a run of it, for tests whose subject lies elsewhere.
#pragma once
#include "tests/support/session.h"
#include "tests/support/tiny_gpu.h"
#include "tests/support/vulkan_shim.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <string>

namespace longwave::test {

// Whether this machine has a Vulkan device: else the test says so and does nothing.
bool has_device();

class Device {
public:
    explicit Device(const char *wanted = nullptr, bool fall_back = false);
    ~Device() { lw_vulkan_close(device_); }
    Device(const Device &) = delete;
    operator lw_device *() const { return device_; }
    lw_vulkan_stats stats() const;

private:
    lw_device *device_ = nullptr;
};

// A model on a device of its own.
struct OpenedModel {
    explicit OpenedModel(const std::vector<uint8_t> &bytes, bool fall_back = false);
    ~OpenedModel() { lw_model_close(model); }
    OpenedModel(const OpenedModel &) = delete;
    Device device;
    lw_model *model = nullptr;
};

// What is taken from `counting` and not given back.
extern int64_t taken;
extern const lw_allocator counting;

// A folder of its own for pipelines and proofs; removed at the end.
struct CacheFolder {
    CacheFolder();
    ~CacheFolder();
    std::vector<std::filesystem::path> files() const;
    void clear() const;
    std::filesystem::path above, path;
};

lw_vulkan_options through_shim();
lw_open_options on(const lw_device *device);

// What each output of the run of audio_model and its like is.
struct Results {
    std::vector<float> y, mean;
};
lw_status run_audio(lw_runner *runner, const std::vector<float> &x, Results *results, size_t length = 0);
// Sequences of n lengths at once on `threads` give the same bits as one after the other on `one`.
void check_batch(lw_runner *one, lw_runner *threads, size_t n);

} // namespace longwave::test
