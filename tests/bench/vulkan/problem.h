// Causal convolutions of `batch` sequences of `channels` channels with a kernel for each channel,
// all of `length`.
#pragma once
#include "formats/base/expected.h"
#include "tests/bench/vulkan/gpu.h"
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace longwave::bench {

struct Problem {
    uint32_t length = 0, channels = 0, batch = 0;
    std::vector<float> taps;   // [channel][lag]
    std::vector<float> inputs; // [sequence][channel][row]

    static Problem made_up(uint32_t length, uint32_t channels, uint32_t batch);
    uint64_t samples() const { return uint64_t{length} * channels * batch; }
    // Relative L2 distance of outputs [sequence][channel][row] from the definition in float64, in
    // some channels.
    double error_of(const std::vector<float> &outputs) const;
};

// One way to compute it, its buffers filled.
class Contestant {
public:
    virtual ~Contestant() = default;
    virtual std::string name() const = 0;
    virtual Status record(VkCommandBuffer commands) = 0; // all sequences once
    virtual Status reset() = 0; // the inputs as they were: what computes in place has overwritten them
    virtual Expected<std::vector<float>> outputs() = 0; // as Problem::error_of takes them
    virtual int dispatches() const = 0;                 // in one recording
};

// fused.cc: our kernel of `folder`, one dispatch a sequence: long_conv_registers or
// long_conv_fused.
enum class Points { in_registers, in_shared_memory };
Expected<std::unique_ptr<Contestant>> fused(Gpu &gpu, const Problem &problem, const std::string &folder,
                                            Points points);
// Whether the length has the first of them.
bool has_registers(const Problem &problem);
// Compiles the kernels of such lengths into the folder. Fault::device: there is no longwave-kgen
// beside this program.
Status write_kernels(const std::string &folder, std::span<const uint32_t> lengths, uint32_t channels);
// vkfft_peers.cc: transform to 2 L points, product, inverse; all with zero padding that is neither
// read nor written.
Expected<std::unique_ptr<Contestant>> vkfft_three_steps(Gpu &gpu, const Problem &problem);
// VkFFT's merged convolution, two sequences as the real and imaginary part of one.
Expected<std::unique_ptr<Contestant>> vkfft_packed(Gpu &gpu, const Problem &problem);
// As many bytes read and written as inputs and outputs have: the roofline.
Expected<std::unique_ptr<Contestant>> copy(Gpu &gpu, const Problem &problem);

} // namespace longwave::bench
