// A Vulkan device for compiled models, and one model on it and on the CPU.
#pragma once
#include "tests/support/compiled_model.h"
#include <doctest/doctest.h>
#include <longwave/vulkan.h>

namespace longwave::test {

// One for all tests of a program. Where there is none, the program ends here as a skipped test.
std::shared_ptr<lw_device> vulkan_device();
lw_vulkan_stats vulkan_stats();
// options_here() and the target with most shared memory that the device runs.
compiler::Options vulkan_options_here();

struct Both {
    cli::Model cpu, gpu;
    explicit Both(const Expected<compiler::Compiled> &made); // a failure fails the test, with its message
};

} // namespace longwave::test
