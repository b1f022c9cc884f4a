#include "tests/bench/vulkan/limits.h"
#include "tools/cli/output/json_line.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace longwave::bench {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t threads = 256;

const char *const copy_source = R"(#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer From { vec4 from[]; };
layout(std430, binding = 1) writeonly buffer To { vec4 to[]; };
void main() {
    const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < from.length(); i += step) to[i] = from[i];
}
)";

const char *const idle_source = R"(#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Any { float any[]; };
void main() { if (gl_WorkGroupID.x > 0) any[0] = 1; }
)";

void print(const ordered_json &line) {
    std::printf("%s\n", cli::json_line(line).c_str());
    std::fflush(stdout);
}

// As fast as a kernel can read and write so many bytes each.
Status copies(Gpu &gpu, uint64_t most_bytes, unsigned repeats) {
    LW_ASSIGN(const Gpu::Kernel kernel, gpu.kernel_of_glsl(copy_source, 2));
    for (uint64_t bytes = 64 << 10; bytes <= most_bytes; bytes *= 4) {
        const Expected<Gpu::Buffer> from = gpu.buffer(bytes), to = gpu.buffer(bytes);
        if (!from || !to) {
            print({{"what", "gpu-copy"}, {"device", gpu.name()}, {"bytes", bytes}, {"failed", "no memory"}});
            return {};
        }
        const Gpu::Bound bound[] = {{*from}, {*to}};
        const auto groups = static_cast<uint32_t>(std::clamp<uint64_t>(bytes / 16 / threads, 1, 16384));
        LW_ASSIGN(const Gpu::Dispatch dispatch, gpu.bind(kernel, bound, groups, 1, 1));
        const auto calls = static_cast<unsigned>(std::clamp<uint64_t>((64u << 20) / bytes, 1, 64));
        LW_ASSIGN(const Gpu::Times times, gpu.time(
                                              [&](VkCommandBuffer commands) {
                                                  Gpu::record(commands, dispatch);
                                                  return Status();
                                              },
                                              calls, repeats));
        print({{"what", "gpu-copy"},
               {"device", gpu.name()},
               {"bytes", bytes},
               {"gb_per_s", 2e-9 * static_cast<double>(bytes) / times.median},
               {"us", 1e6 * times.median},
               {"us_least", 1e6 * times.least},
               {"us_most", 1e6 * times.most}});
    }
    return {};
}

// Seconds of a dispatch that does nothing, from the difference between many and one.
Expected<double> of_a_dispatch(Gpu &gpu, const Gpu::Dispatch &idle, bool barriers, unsigned repeats) {
    constexpr unsigned many = 257;
    double seconds[2];
    for (const unsigned n : {1u, many}) {
        const auto record = [&](VkCommandBuffer commands) {
            for (unsigned i = 0; i < n; i++) {
                Gpu::record(commands, idle);
                if (barriers) Gpu::barrier(commands);
            }
            return Status();
        };
        LW_ASSIGN(const Gpu::Times times, gpu.time(record, 1, repeats));
        seconds[n == many] = times.median;
    }
    return std::max(0.0, seconds[1] - seconds[0]) / (many - 1);
}

// By the clock of the host, until the fence is seen.
Expected<double> of_a_submission(Gpu &gpu, unsigned repeats) {
    std::vector<double> seconds;
    for (unsigned repeat = 0; repeat < repeats + 1; repeat++) { // the first warms
        const auto start = std::chrono::steady_clock::now();
        LW_TRY(gpu.run([](VkCommandBuffer) { return Status(); }));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (repeat > 0) seconds.push_back(took.count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

} // namespace

Status measure_limits(Gpu &gpu, uint64_t most_bytes, unsigned repeats) {
    LW_TRY(copies(gpu, most_bytes, repeats));
    LW_ASSIGN(const Gpu::Kernel kernel, gpu.kernel_of_glsl(idle_source, 1));
    LW_ASSIGN(const Gpu::Buffer any, gpu.buffer(256));
    const Gpu::Bound bound[] = {{any}};
    LW_ASSIGN(const Gpu::Dispatch idle, gpu.bind(kernel, bound, 1, 1, 1));
    LW_ASSIGN(const double alone, of_a_dispatch(gpu, idle, false, repeats));
    LW_ASSIGN(const double ordered, of_a_dispatch(gpu, idle, true, repeats));
    LW_ASSIGN(const double submission, of_a_submission(gpu, repeats));
    print({{"what", "gpu-costs"},
           {"device", gpu.name()},
           {"software", gpu.software()},
           {"dispatch_us", 1e6 * alone},
           {"barrier_us", 1e6 * std::max(0.0, ordered - alone)},
           {"submission_us", 1e6 * submission}});
    return {};
}

} // namespace longwave::bench
