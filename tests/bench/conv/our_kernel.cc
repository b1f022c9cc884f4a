// Our side: the spectrum kernel once, then the right-angle kernel for each tile of 16 channels, through a
// code image as the runtime calls it. Input and output are rows of all channels, the layout of activations in
// a plan.
#include "schedules/twiddles.h"
#include "tests/bench/conv/problem.h"
#include "tests/schedules/kernel_call.h"
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace longwave::bench {

namespace {

// The first element on a 64-byte line.
const float *aligned(const std::vector<float> &memory) {
    return memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 / sizeof(float);
}
float *aligned(std::vector<float> &memory) { return const_cast<float *>(aligned(std::as_const(memory))); }

class Ours : public Contestant {
public:
    Ours(const Problem &problem, test::Kernel spectrum, const test::Kernel &conv)
        : row_(static_cast<size_t>(problem.channels)) {
        const size_t n = static_cast<size_t>(problem.length), tiles = row_ / 16;
        scratch_.resize(conv.signature().scratch_bytes / sizeof(float) + 16);
        u_.resize(n * row_ + 16), y_.resize(n * row_ + 16), spectra_.resize(tiles * 2 * 16 * n + 16);
        for (size_t c = 0; c < row_; c++)
            for (size_t t = 0; t < n; t++) aligned(u_)[t * row_ + c] = problem.input[c * n + t];
        const std::vector<double> table =
            schedules::right_angle_twiddles(static_cast<uint32_t>(problem.length));
        for (size_t i = 0; i < table.size(); i++) spectrum["twiddles"].set({static_cast<int>(i)}, table[i]);
        for (size_t tile = 0; tile < tiles; tile++) {
            spectrum["k"].for_each([&](const std::vector<int> &at) {
                spectrum["k"].set(
                    at,
                    problem.taps[(tile * 16 + static_cast<size_t>(at[0])) * n + static_cast<size_t>(at[2])]);
            });
            spectrum.call();
            float *to = aligned(spectra_) + tile * 2 * 16 * n;
            std::memcpy(to, spectrum["spectrum"].data(), 2 * 16 * n * sizeof(float));
            kernels_.push_back(conv);
            for (size_t i = 0; i < table.size(); i++)
                kernels_.back()["twiddles"].set({static_cast<int>(i)}, table[i]);
            auto bytes = [](float *p) { return reinterpret_cast<uint8_t *>(p); };
            kernels_.back().prepare({{"u", bytes(aligned(u_) + tile * 16)},
                                     {"y", bytes(aligned(y_) + tile * 16)},
                                     {"scratch", bytes(aligned(scratch_))},
                                     {"spectrum", bytes(to)}});
        }
    }
    void run() override {
        for (test::Kernel &kernel : kernels_) kernel.call_prepared();
    }
    float output(int channel, int t) const override {
        return aligned(y_)[static_cast<size_t>(t) * row_ + static_cast<size_t>(channel)];
    }

private:
    size_t row_;
    std::vector<float> u_, y_, spectra_, scratch_; // scratch of all tiles in turn, as in the runtime
    std::vector<test::Kernel> kernels_;
};

} // namespace

Expected<std::unique_ptr<Contestant>> ours(const Problem &problem, const std::string &target_name,
                                           const std::string &kgen) {
    const targets::Target *target = targets::find(target_name);
    if (!target) return Status::usage("unknown target '" + target_name + "'");
    const std::vector<std::string> specs = {
        fmt::format(R"({{"kernel":"spectrum","params":{{"channels":16,"length":{0},"taps":{0}}}}})",
                    problem.length),
        fmt::format(
            R"({{"kernel":"long_conv_right_angle","params":{{"channels":{1},"length":{0},"rows":{0}}}}})",
            problem.length, problem.channels),
    };
    LW_ASSIGN(auto kernels, test::load_kernels(specs, *target, kgen.empty() ? test::find_kgen() : kgen));
    return std::unique_ptr<Contestant>(std::make_unique<Ours>(problem, kernels[0], kernels[1]));
}

} // namespace longwave::bench
