// Our side: the spectrum kernel once, then the convolution's for each tile of 16 channels, through
// a code image as the runtime calls it. Input and output are rows of all channels, the layout of
// activations in a plan.
#include "schedules/contract/twiddles.h"
#include "tests/bench/conv/problem.h"
#include "tests/kernels/kernel_call.h"
#include <cstring>
#include <fmt/format.h>

namespace longwave::bench {

namespace {

void fill(test::Tensor &twiddles, const std::vector<double> &table) {
    for (size_t i = 0; i < table.size(); i++) twiddles.set({static_cast<int>(i)}, table[i]);
}

class Ours : public Contestant {
public:
    // The kernel writes `rows`, up to the end of the last block.
    Ours(const Problem &problem, size_t block, size_t rows, test::Kernel spectrum, const test::Kernel &conv,
         const std::vector<double> &table)
        : row_(schedules::pad(static_cast<uint32_t>(problem.channels))), tile_(std::min<size_t>(row_, 16)),
          memory_(4 * row_ * rows + Memory::rounded(scratch_floats(conv))) {
        const size_t n = static_cast<size_t>(problem.length),
                     channels = static_cast<size_t>(problem.channels), tiles = row_ / tile_;
        float *u = memory_.take(n * row_), *spectra = memory_.take(2 * row_ * n),
              *scratch = memory_.take(scratch_floats(conv)); // of all tiles in turn, as in the runtime
        y_ = memory_.take(rows * row_);
        for (size_t c = 0; c < channels; c++)
            for (size_t t = 0; t < n; t++) u[t * row_ + c] = problem.input[c * n + t];
        fill(spectrum["twiddles"], table);
        for (size_t tile = 0; tile < tiles; tile++) {
            spectrum["k"].for_each([&](const std::vector<int> &at) {
                const size_t c = tile * tile_ + static_cast<size_t>(at[0]);
                spectrum["k"].set(at, c < channels ? problem.taps[c * n + static_cast<size_t>(at[2])] : 0);
            });
            spectrum.call();
            float *to = spectra + tile * 2 * tile_ * n;
            std::memcpy(to, spectrum["spectrum"].data(), 2 * tile_ * block * sizeof(float));
            kernels_.push_back(conv);
            fill(kernels_.back()["twiddles"], table);
            auto bytes = [](float *p) { return reinterpret_cast<uint8_t *>(p); };
            kernels_.back().prepare({{"u", bytes(u + tile * tile_)},
                                     {"y", bytes(y_ + tile * tile_)},
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

    size_t row_, tile_;
    Memory memory_;
    float *y_;
    std::vector<test::Kernel> kernels_;
};

struct Form {
    std::string name;
    int block = 0; // length of a transform
};

Expected<std::unique_ptr<Contestant>> one(const Problem &problem, const Form &form,
                                          const targets::Target &target, const std::string &kgen) {
    const bool phases = form.name != "right_angle";
    const std::string params = fmt::format(R"("channels":{},"length":{})", problem.channels, form.block);
    const std::vector<std::string> specs = {
        fmt::format(R"({{"kernel":"{}","params":{{{},"taps":{}}}}})",
                    phases ? "spectrum_of_phases" : "spectrum", params, problem.tap_count),
        fmt::format(R"({{"kernel":"long_conv_{}","params":{{{},"rows":{}}}}})", form.name, params,
                    problem.length),
    };
    const uint32_t block = static_cast<uint32_t>(form.block);
    if (phases && !schedules::has_polyphase(block))
        return Status::usage(fmt::format("{} rows are no multiple of 256", block));
    LW_ASSIGN(auto kernels, test::load_kernels(specs, target, kgen.empty() ? test::find_kgen() : kgen));
    const size_t blocks = static_cast<size_t>((problem.length + form.block - 1) / form.block);
    return std::unique_ptr<Contestant>(std::make_unique<Ours>(
        problem, block, blocks * block, kernels[0], kernels[1],
        phases ? schedules::polyphase_twiddles(block) : schedules::right_angle_twiddles(block)));
}

} // namespace

Expected<std::unique_ptr<Contestant>> ours(const Problem &problem, const std::string &form,
                                           const std::string &target_name, const std::string &kgen) {
    const targets::Target *target = targets::find(target_name);
    if (!target) return Status::usage("unknown target '" + target_name + "'");
    if (form != "overlap_add_phases") return one(problem, {form, problem.length}, *target, kgen);
    std::unique_ptr<Contestant> best;
    double least = 0;
    const int shortest =
        static_cast<int>(schedules::polyphase_length(static_cast<uint32_t>(problem.tap_count)));
    for (int block = shortest; block < problem.length && block <= 16 * shortest; block *= 2) {
        LW_ASSIGN(auto next, one(problem, {form, block}, *target, kgen));
        const double ns = best_ns(*next, 5, 1);
        if (!best || ns < least) best = std::move(next), least = ns;
    }
    if (!best) return Status::usage(form + " is for sequences longer than the taps");
    return best;
}

} // namespace longwave::bench
