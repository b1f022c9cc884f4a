#include "tests/bench/vulkan/problem.h"
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace longwave::bench {

Problem Problem::made_up(uint32_t length, uint32_t channels, uint32_t batch) {
    Problem made{length, channels, batch, {}, {}};
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    made.taps.resize(size_t{length} * channels);
    for (size_t i = 0; i < made.taps.size(); i++)
        made.taps[i] =
            uniform(random) * std::exp(-4.0f * static_cast<float>(i % length) / static_cast<float>(length));
    made.inputs.resize(made.samples());
    for (float &value : made.inputs) value = uniform(random);
    return made;
}

double Problem::error_of(const std::vector<float> &outputs) const {
    double difference = 0, size = 0;
    const size_t rows = size_t{batch} * channels, step = std::max<size_t>(1, rows / 5);
    const uint32_t stride = std::max(1u, length / 61);
    for (size_t row = 0; row < rows; row += step) {
        const float *x = &inputs[row * length], *h = &taps[row % channels * length];
        for (uint32_t t = length; t-- > 0; t = t < stride ? 0 : t - stride + 1) {
            double sum = 0;
            for (uint32_t j = 0; j <= t; j++) sum += double{h[j]} * x[t - j];
            difference += std::pow(sum - outputs[row * length + t], 2), size += sum * sum;
        }
    }
    return std::sqrt(difference / size);
}

namespace {

class Copy : public Contestant {
public:
    std::string name() const override { return "copy"; }
    Status record(VkCommandBuffer commands) override {
        Gpu::record(commands, dispatch);
        return {};
    }
    Status reset() override { return {}; }
    Expected<std::vector<float>> outputs() override {
        std::vector<float> values(problem->samples());
        LW_TRY(gpu->download(to, values));
        return values;
    }
    int dispatches() const override { return 1; }
    Gpu *gpu;
    const Problem *problem;
    Gpu::Buffer from, to;
    Gpu::Dispatch dispatch;
};

} // namespace

Expected<std::unique_ptr<Contestant>> copy(Gpu &gpu, const Problem &problem) {
    auto made = std::make_unique<Copy>();
    made->gpu = &gpu;
    made->problem = &problem;
    const uint64_t vectors = problem.samples() / 4;
    const auto across = static_cast<uint32_t>(std::min<uint64_t>((vectors + 255) / 256, 32768));
    const auto down = static_cast<uint32_t>((vectors + 256ull * across - 1) / (256ull * across));
    LW_ASSIGN(
        const Gpu::Kernel kernel,
        gpu.kernel_of_glsl(fmt::format("#version 450\nlayout(local_size_x = 256) in;\n"
                                       "layout(std430, binding = 0) readonly buffer X {{ vec4 x[]; }};\n"
                                       "layout(std430, binding = 1) writeonly buffer Y {{ vec4 y[]; }};\n"
                                       "void main() {{ uint i = gl_GlobalInvocationID.y * {}u + "
                                       "gl_GlobalInvocationID.x; if (i < {}u) y[i] = x[i]; }}\n",
                                       256 * across, vectors),
                           2));
    LW_ASSIGN(made->from, gpu.buffer(problem.samples() * 4));
    LW_ASSIGN(made->to, gpu.buffer(problem.samples() * 4));
    LW_TRY(gpu.upload(made->from, problem.inputs));
    const Gpu::Bound bound[] = {{made->from}, {made->to}};
    LW_ASSIGN(made->dispatch, gpu.bind(kernel, bound, across, down, 1));
    return std::unique_ptr<Contestant>(std::move(made));
}

} // namespace longwave::bench
