// The runtime library of the mock device (mock_traits.h): each function of the device interface
// computes on the CPU and counts its calls.
#pragma once
#include "runtime/core/device.h"
#include <memory>

namespace longwave::test {

struct MockCalls {
    int opened = 0, closed = 0, runs = 0;
};

// Lives until the last model on it is closed. One such device at a time.
std::shared_ptr<lw_device> mock_device();
MockCalls &mock_calls();

} // namespace longwave::test
