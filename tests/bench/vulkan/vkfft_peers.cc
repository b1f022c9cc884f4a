// VkFFT (MIT, header-only): its transforms with a product between them, and its merged convolution
// in the one form that is right in version 1.2.26: complex, one batch, the kernel as often as there
// are sequences.
#include "tests/bench/vulkan/problem.h"
#include <fmt/format.h>
#define VKFFT_BACKEND 0
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#include <vkFFT.h>
#pragma GCC diagnostic pop

namespace longwave::bench {
namespace {

// An application keeps the addresses of its buffers and sizes: so it never moves.
struct App {
    VkFFTApplication app{};
    VkFFTConfiguration configuration{};
    VkBuffer buffer = VK_NULL_HANDLE, kernel = VK_NULL_HANDLE;
    uint64_t bytes = 0, kernel_bytes = 0;
    bool made = false;

    App() = default;
    App(const App &) = delete;
    ~App() {
        if (made) deleteVkFFT(&app);
    }
    Status make(Gpu &gpu, const Gpu::Buffer &on, uint64_t points) {
        buffer = on.buffer;
        bytes = on.bytes;
        configuration.FFTdim = 1;
        configuration.size[0] = points;
        configuration.physicalDevice = gpu.physical();
        configuration.device = gpu.device();
        configuration.queue = gpu.queue();
        configuration.commandPool = gpu.pool();
        configuration.fence = gpu.fence();
        configuration.isCompilerInitialized = 1;
        configuration.buffer = &buffer;
        configuration.bufferSize = &bytes;
        const VkFFTResult result = initializeVkFFT(&app, configuration);
        made = result == VKFFT_SUCCESS;
        return made ? Status()
                    : Status::device(fmt::format("initializeVkFFT of {} points: {}", points, int(result)));
    }
    Status append(VkCommandBuffer commands, int inverse) {
        VkFFTLaunchParams launch{};
        launch.commandBuffer = &commands;
        launch.buffer = &buffer;
        const VkFFTResult result = VkFFTAppend(&app, inverse, &launch);
        return result == VKFFT_SUCCESS ? Status()
                                       : Status::device(fmt::format("VkFFTAppend: {}", int(result)));
    }
};

// Rows of 2 L real points, in place: each has room for L + 1 complex ones.
class ThreeSteps : public Contestant {
public:
    std::string name() const override { return "vkfft-three-steps"; }
    Status record(VkCommandBuffer commands) override {
        LW_TRY(transforms.append(commands, -1));
        Gpu::barrier(commands);
        Gpu::record(commands, product);
        Gpu::barrier(commands);
        return transforms.append(commands, 1);
    }
    Status reset() override { return gpu->upload(data, padded); }
    Expected<std::vector<float>> outputs() override {
        std::vector<float> all(padded.size()), rows(problem->samples());
        LW_TRY(gpu->download(data, all));
        for (size_t row = 0; row < rows.size() / problem->length; row++)
            std::copy_n(&all[row * row_floats], problem->length, &rows[row * problem->length]);
        return rows;
    }
    int dispatches() const override { return 3; } // where a transform is one
    Gpu *gpu;
    const Problem *problem;
    size_t row_floats = 0;
    std::vector<float> padded;
    App transforms;
    Gpu::Buffer data;
    Gpu::Dispatch product;
};

std::vector<float> in_rows(const std::vector<float> &values, uint32_t length, size_t row_floats) {
    std::vector<float> rows(values.size() / length * row_floats);
    for (size_t row = 0; row < values.size() / length; row++)
        std::copy_n(&values[row * length], length, &rows[row * row_floats]);
    return rows;
}

void pad_with_zeros(App &app, uint32_t length) {
    app.configuration.performZeropadding[0] = 1;
    app.configuration.fft_zeropad_left[0] = length;
    app.configuration.fft_zeropad_right[0] = 2 * uint64_t{length};
}

// Complex rows of 2 L points: sequences 2 p and 2 p + 1 of a channel are the real and the imaginary
// part.
class Packed : public Contestant {
public:
    std::string name() const override { return "vkfft-packed"; }
    Status record(VkCommandBuffer commands) override { return convolution.append(commands, -1); }
    Status reset() override { return gpu->upload(data, packed); }
    Expected<std::vector<float>> outputs() override {
        const Problem &p = *problem;
        std::vector<float> all(packed.size()), rows(p.samples());
        LW_TRY(gpu->download(data, all));
        for (size_t s = 0; s < p.batch; s++)
            for (size_t c = 0; c < p.channels; c++)
                for (size_t t = 0; t < p.length; t++)
                    rows[(s * p.channels + c) * p.length + t] =
                        all[(((s / 2) * p.channels + c) * 2 * p.length + t) * 2 + s % 2];
        return rows;
    }
    int dispatches() const override { return 1; } // where the merged convolution is one
    Gpu *gpu;
    const Problem *problem;
    std::vector<float> packed;
    App convolution;
    Gpu::Buffer data;
};

} // namespace

Expected<std::unique_ptr<Contestant>> vkfft_three_steps(Gpu &gpu, const Problem &p) {
    auto made = std::make_unique<ThreeSteps>();
    made->gpu = &gpu;
    made->problem = &p;
    made->row_floats = 2 * (size_t{p.length} + 1);
    made->padded = in_rows(p.inputs, p.length, made->row_floats);
    std::vector<float> taps = p.taps;
    for (float &tap : taps) tap /= 2 * static_cast<float>(p.length); // the inverse is not scaled
    const std::vector<float> taps_in_rows = in_rows(taps, p.length, made->row_floats);
    LW_ASSIGN(made->data, gpu.buffer(made->padded.size() * 4));
    LW_ASSIGN(const Gpu::Buffer kernel, gpu.buffer(taps_in_rows.size() * 4));
    LW_TRY(gpu.upload(made->data, made->padded));
    LW_TRY(gpu.upload(kernel, taps_in_rows));

    App of_kernel;
    of_kernel.configuration.performR2C = made->transforms.configuration.performR2C = 1;
    of_kernel.configuration.numberBatches = p.channels;
    made->transforms.configuration.numberBatches = uint64_t{p.channels} * p.batch;
    pad_with_zeros(made->transforms, p.length);
    LW_TRY(of_kernel.make(gpu, kernel, 2 * uint64_t{p.length}));
    LW_TRY(made->transforms.make(gpu, made->data, 2 * uint64_t{p.length}));
    LW_TRY(gpu.run([&](VkCommandBuffer commands) { return of_kernel.append(commands, -1); }));

    const uint64_t of_channels = uint64_t{p.channels} * (p.length + 1), points = of_channels * p.batch;
    const auto across = static_cast<uint32_t>(std::min<uint64_t>((points + 255) / 256, 32768));
    const auto down = static_cast<uint32_t>((points + 256ull * across - 1) / (256ull * across));
    LW_ASSIGN(
        const Gpu::Kernel product,
        gpu.kernel_of_glsl(
            fmt::format("#version 450\nlayout(local_size_x = 256) in;\n"
                        "layout(std430, binding = 0) buffer X {{ vec2 x[]; }};\n"
                        "layout(std430, binding = 1) readonly buffer H {{ vec2 h[]; }};\n"
                        "void main() {{ uint i = gl_GlobalInvocationID.y * {}u + gl_GlobalInvocationID.x;\n"
                        "  if (i >= {}u) return;\n"
                        "  vec2 a = x[i], b = h[i % {}u];\n"
                        "  x[i] = vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }}\n",
                        256 * across, points, of_channels),
            2));
    const Gpu::Bound bound[] = {{made->data}, {kernel}};
    LW_ASSIGN(made->product, gpu.bind(product, bound, across, down, 1));
    return std::unique_ptr<Contestant>(std::move(made));
}

Expected<std::unique_ptr<Contestant>> vkfft_packed(Gpu &gpu, const Problem &p) {
    auto made = std::make_unique<Packed>();
    made->gpu = &gpu;
    made->problem = &p;
    const size_t pairs = (p.batch + 1) / 2, points = 2 * size_t{p.length};
    std::vector<float> taps(pairs * p.channels * points * 2);
    made->packed.resize(taps.size());
    for (size_t pair = 0; pair < pairs; pair++)
        for (size_t c = 0; c < p.channels; c++)
            for (size_t t = 0; t < p.length; t++) {
                const size_t at = ((pair * p.channels + c) * points + t) * 2;
                taps[at] = p.taps[c * p.length + t];
                for (size_t part = 0; part < 2 && 2 * pair + part < p.batch; part++)
                    made->packed[at + part] = p.inputs[((2 * pair + part) * p.channels + c) * p.length + t];
            }
    LW_ASSIGN(made->data, gpu.buffer(taps.size() * 4));
    LW_ASSIGN(const Gpu::Buffer kernel, gpu.buffer(taps.size() * 4));
    LW_TRY(gpu.upload(made->data, made->packed));
    LW_TRY(gpu.upload(kernel, taps));

    App of_kernel;
    for (App *app : {&of_kernel, &made->convolution}) {
        app->configuration.coordinateFeatures = pairs * p.channels;
        app->configuration.normalize = 1;
    }
    of_kernel.configuration.kernelConvolution = 1;
    LW_TRY(of_kernel.make(gpu, kernel, points));
    LW_TRY(gpu.run([&](VkCommandBuffer commands) { return of_kernel.append(commands, -1); }));
    App &app = made->convolution;
    app.kernel = kernel.buffer;
    app.kernel_bytes = kernel.bytes;
    app.configuration.performConvolution = 1;
    app.configuration.kernel = &app.kernel;
    app.configuration.kernelSize = &app.kernel_bytes;
    app.configuration.matrixConvolution = app.configuration.numberKernels = 1;
    pad_with_zeros(app, p.length);
    LW_TRY(app.make(gpu, made->data, points));
    return std::unique_ptr<Contestant>(std::move(made));
}

} // namespace longwave::bench
