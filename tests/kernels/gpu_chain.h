// Kernels of a GPU that run one after the other, each on what the one before wrote.
#pragma once
#include "tests/kernels/check.h"
#include "tests/kernels/vulkan.h"
#include <cstring>
#include <doctest/doctest.h>

namespace longwave::test {

inline Kernel loaded(const targets::Target &gpu, const std::string &text) {
    auto kernels = load_gpu_kernels(text, gpu, find_kgen());
    REQUIRE_MESSAGE(kernels, kernels.status().message());
    return kernels->front();
}

// Output `name` of one becomes an input of the other.
inline void hand_over(Kernel &from, const char *name, Kernel &to, const char *input) {
    Tensor &out = from[name], &in = to[input];
    REQUIRE(out.arg().dims.size() == in.arg().dims.size());
    size_t elements = 1;
    for (size_t d = 0; d < in.arg().dims.size(); d++) {
        REQUIRE(out.extent(d) == in.extent(d));
        elements *= static_cast<size_t>(in.extent(d));
    }
    std::memcpy(in.data(), out.data(), 4 * elements);
}

} // namespace longwave::test
