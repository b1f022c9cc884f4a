// Our side: the spectrum kernel once, then the right-angle kernel for each tile of 16 channels, through a
// code image as the runtime calls it. Input and output are rows of all channels, the layout of activations in
// a plan.
#include "schedules/twiddles.h"
#include "tests/bench/conv/problem.h"
#include "tests/schedules/kernel_call.h"
#include <cstring>
#include <fmt/format.h>

namespace longwave::bench {

namespace {

class Ours : public Contestant {
public:
    Ours(const Problem &problem, test::Kernel spectrum, const test::Kernel &conv)
        : row_(static_cast<size_t>(problem.channels)),
          memory_(4 * row_ * static_cast<size_t>(problem.length) + Memory::rounded(scratch_floats(conv))) {
        const size_t n = static_cast<size_t>(problem.length), tiles = row_ / 16;
        float *u = memory_.take(n * row_), *spectra = memory_.take(tiles * 2 * 16 * n),
              *scratch = memory_.take(scratch_floats(conv)); // of all tiles in turn, as in the runtime
        y_ = memory_.take(n * row_);
        for (size_t c = 0; c < row_; c++)
            for (size_t t = 0; t < n; t++) u[t * row_ + c] = problem.input[c * n + t];
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
            float *to = spectra + tile * 2 * 16 * n;
            std::memcpy(to, spectrum["spectrum"].data(), 2 * 16 * n * sizeof(float));
            kernels_.push_back(conv);
            for (size_t i = 0; i < table.size(); i++)
                kernels_.back()["twiddles"].set({static_cast<int>(i)}, table[i]);
            auto bytes = [](float *p) { return reinterpret_cast<uint8_t *>(p); };
            kernels_.back().prepare({{"u", bytes(u + tile * 16)},
                                     {"y", bytes(y_ + tile * 16)},
                                     {"scratch", bytes(scratch)},
                                     {"spectrum", bytes(to)}});
        }
    }
    void run() override {
        for (test::Kernel &kernel : kernels_) kernel.call_prepared();
    }
    float output(int channel, int t) const override {
        return y_[static_cast<size_t>(t) * row_ + static_cast<size_t>(channel)];
    }

private:
    static size_t scratch_floats(const test::Kernel &kernel) {
        return kernel.signature().scratch_bytes / sizeof(float);
    }

    size_t row_;
    Memory memory_;
    float *y_;
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
