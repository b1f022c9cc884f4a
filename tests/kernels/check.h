// How kernel tests are written: a specification, inputs, and a reference in float64 for each
// element of an output.
#pragma once
#include "compiler/base/process.h"
#include "tests/kernels/kernel_call.h"
#include "tests/support/compared.h"
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace longwave::test {

using Reference = std::function<double(const std::vector<int> &at)>;

// A kernel and what to do with it once it is loaded.
struct Case {
    std::string spec;
    std::function<void(Kernel &)> check;
    bool gpu_only = false; // there is no schedule for a CPU
    bool prepares = false; // what a gpu leaves to the CPU: runs there, and does not count as compared
};

inline std::string spec(const std::string &kernel, const std::string &params,
                        const std::string &epilogue = "") {
    return "{\"kernel\":\"" + kernel + "\",\"params\":{" + params + "}" +
           (epilogue.empty() ? "" : ",\"epilogue\":[" + epilogue + "]") + "}";
}

// The same with some arguments channel by channel, by their numbers.
inline std::string with_channel_major(std::string spec, const std::vector<int> &arguments) {
    if (arguments.empty()) return spec;
    return spec.insert(1, fmt::format("\"channel_major\":[{}],", fmt::join(arguments, ",")));
}

// Relative L2 error a float32 sum of `terms` products may have; each further function of an
// epilogue adds a few units.
inline double limit(double terms, double functions = 0) {
    return 1.1920929e-7 * (1.5 + 0.25 * std::log2(terms + 1) + 2 * functions);
}

// Calls the kernel and compares one output.
inline void compare(Kernel &kernel, const std::string &output, const Reference &reference, double tolerance) {
    uint64_t left = 1;
    REQUIRE(kernel.call(&left) == 0);
    CHECK(left == 0);
    double difference = 0, size = 0;
    Tensor &found = kernel[output];
    found.for_each([&](const std::vector<int> &at) {
        const double expected = reference(at), value = found.get(at);
        difference += (value - expected) * (value - expected), size += expected * expected;
        if (expected == 0 && value != 0) FAIL_CHECK(output, " lane ", at[0], " must be zero, is ", value);
    });
    const double error = std::sqrt(difference / std::max(size, 1e-300));
    INFO(output, ": error ", error, ", limit ", tolerance);
    CHECK(error <= tolerance);
}

// What the kernel compiler does for these arguments.
Expected<compiler::ProcessResult> run_kgen(const std::vector<std::string> &arguments);

// The answers of `longwave-kgen --query` (schedules/halide/query.h).
struct Request {
    std::string spec, target;
};
nlohmann::json query_kernels(const std::vector<Request> &requests);

// The gpu that $LONGWAVE_KERNELS_ON names, "vulkan-32k"; null: kernels run on this CPU.
const targets::Target *gpu_under_test();
// On a gpu, without $LONGWAVE_EVERY_CASE: a list leaves out cases whose branches others take. A software
// device compiles each kernel for a second.
bool few_on_a_gpu();
// Every case on the gpu. Those whose kernel has no schedule for one are left out and listed: how many
// the others are stands in CMakeLists.txt.
void run_on_gpu(const std::vector<Case> &cases, const targets::Target &gpu);

struct Levels {
    bool named = false;  // also CPUs that users have to name
    size_t together = 1; // neighbours of the list that share data
};

// On the x86 levels that this machine runs, each level through one image; or on the gpu. The first and the
// last of the list run on every level, those between them on one each, one level after the other. With
// $LONGWAVE_EVERY_CASE set, as `tools/test --all` has it, all run on every level.
void run_everywhere(const std::vector<Case> &cases, const Levels &on = {});

// Kernels that depend on how many rows there were: on a gpu another one moves that count on before
// them.
inline std::string counts_param() { return gpu_under_test() ? R"(,"counts":0)" : ""; }
// It is an input there, a state elsewhere.
inline const char *count_argument() { return gpu_under_test() ? "count_so_far" : "count"; }
inline void rows_before(Kernel &k, double before, int rows) {
    k[count_argument()].set({0}, gpu_under_test() ? before + rows : before);
}

// Sets lanes [valid, end) of every group of `group` lanes of dimension 0 to zero, as the compiler
// pads weights and kernels pad rows.
inline void zero_padding(Tensor &tensor, int valid, int group) {
    tensor.for_each([&](const std::vector<int> &at) {
        if (at[0] % group >= valid) tensor.set(at, 0);
    });
}

inline int padded(int channels) { return static_cast<int>(schedules::pad(static_cast<uint32_t>(channels))); }
inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

} // namespace longwave::test
