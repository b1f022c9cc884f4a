// Long convolutions of GPUs against their definition in float64: one dispatch, or several in a row.
// Spectra are made in float64 by the definition of the right-angle transform
// (tests/support/right_angle.h).
#pragma once
#include "tests/kernels/check.h"
#include "tests/support/right_angle.h"
#include <random>

namespace longwave::test {

struct LongConv {
    int length, rows, channels, copies = 1;
    bool two_sided = false;
};

// Of the kernels that compute it in one dispatch. `channel_major`: the numbers of u, the operands with
// rows and y, which lie [channel][row].
inline std::string long_conv_spec(const char *kernel, const LongConv &s, const std::string &epilogue,
                                  const std::vector<int> &channel_major) {
    return with_channel_major(spec(kernel,
                                   fmt::format(R"("length":{},"rows":{},"channels":{},"copies":{})", s.length,
                                               s.rows, s.channels, s.copies),
                                   epilogue),
                              channel_major);
}

// What the epilogue makes of a sum: the kernel that has it, sum, channel, copy, row.
using Finish = std::function<double(Kernel &, double, int, int, int)>;

// taps[channel][copy][lag] and, two-sided, backward; as many as there are rows.
class Filters {
public:
    explicit Filters(const LongConv &s) : s_(s), taps_(size_t(s.channels) * s.copies * 2 * s.rows) {
        std::mt19937 random(7);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (size_t i = 0; i < taps_.size(); i++)
            taps_[i] = uniform(random) *
                       std::exp(-4.0f * static_cast<float>(i % s.rows) / static_cast<float>(s.rows));
    }
    const float *taps(int channel, int copy, int side) const {
        return &taps_[((size_t(channel) * s_.copies + copy) * 2 + side) * s_.rows];
    }
    Points spectrum(int channel, int copy) const {
        Points x(static_cast<size_t>(s_.length));
        const float *causal = taps(channel, copy, 0), *ahead = taps(channel, copy, 1);
        for (int n = 0; n < s_.rows; n++) {
            x[static_cast<size_t>(n)] += causal[n];
            if (s_.two_sided && n < s_.rows - 1)
                x[static_cast<size_t>(s_.length - 1 - n)] -= std::complex<double>(0, ahead[n]);
        }
        Points made = right_angle_spectrum(x);
        for (auto &value : made) value /= s_.length;
        return made;
    }
    double convolved(const std::vector<double> &u, int channel, int copy, int t) const {
        double sum = 0;
        const float *causal = taps(channel, copy, 0), *ahead = taps(channel, copy, 1);
        for (int j = 0; j <= t; j++) sum += causal[j] * u[static_cast<size_t>(t - j)];
        for (int j = 0; s_.two_sided && t + 1 + j < s_.rows; j++)
            sum += ahead[j] * u[static_cast<size_t>(t + 1 + j)];
        return sum;
    }

private:
    LongConv s_;
    std::vector<float> taps_;
};

inline void set_twiddles(Tensor &twiddles, int length,
                         schedules::TwiddleOrder order = schedules::TwiddleOrder::by_block) {
    const auto table = schedules::right_angle_twiddles(static_cast<uint32_t>(length), order);
    for (size_t i = 0; i < table.size(); i++) twiddles.set({static_cast<int>(i)}, table[i]);
}

inline void set_spectrum(Tensor &spectrum, const LongConv &s, const Filters &filters) {
    spectrum.for_each([&](const std::vector<int> &at) { spectrum.set(at, 0); });
    const int tile = spectrum.extent(0);
    for (int c = 0; c < s.channels; c++)
        for (int m = 0; m < s.copies; m++) {
            const Points made = filters.spectrum(c, m);
            for (int q = 0; q < s.length; q++) {
                spectrum.set({c % tile, 0, q, m, c / tile}, made[static_cast<size_t>(q)].real());
                spectrum.set({c % tile, 1, q, m, c / tile}, made[static_cast<size_t>(q)].imag());
            }
        }
}

// The spectrum as GPU kernels with points in registers have it, in fours of [threads, slots / 2, copies,
// tiles]. `order` [slots][workers]: where the spectrum has the point. With one channel the copies are
// the lanes.
inline std::vector<float> spectrum_by_threads(const LongConv &s, const Filters &filters,
                                              const std::vector<int32_t> &order, uint32_t workers,
                                              uint32_t lanes) {
    const bool copies_are_lanes = s.channels == 1;
    const auto row = static_cast<uint32_t>(copies_are_lanes ? s.copies : padded(s.channels)),
               copies = copies_are_lanes ? 1 : static_cast<uint32_t>(s.copies);
    const size_t slots = order.size() / workers;
    std::vector<float> all(size_t{row} * copies * order.size() * 2, 0.0f);
    for (int c = 0; c < s.channels; c++)
        for (int m = 0; m < s.copies; m++) {
            const Points made = filters.spectrum(c, m);
            const auto lane = static_cast<uint32_t>(copies_are_lanes ? m : c),
                       copy = copies_are_lanes ? 0 : static_cast<uint32_t>(m);
            for (size_t slot = 0; slot < slots; slot++)
                for (uint32_t worker = 0; worker < workers; worker++) {
                    const auto value = made[static_cast<size_t>(order[slot * workers + worker])];
                    const size_t thread = worker * lanes + lane % lanes,
                                 pair = (size_t{lane / lanes} * copies + copy) * (slots / 2) + slot / 2,
                                 at = 4 * (pair * workers * lanes + thread) + 2 * (slot % 2);
                    all[at] = static_cast<float>(value.real());
                    all[at + 1] = static_cast<float>(value.imag());
                }
        }
    return all;
}

// The same as [channel][copy][part][digit of the last radix, position without it].
inline void set_spectrum_by_channel(Tensor &spectrum, const LongConv &s, const Filters &filters) {
    spectrum.for_each([&](const std::vector<int> &at) { spectrum.set(at, 0); });
    const int last = schedules::right_angle_radices(static_cast<uint32_t>(s.length)).back();
    for (int c = 0; c < s.channels; c++)
        for (int m = 0; m < s.copies; m++) {
            const Points made = filters.spectrum(c, m);
            for (int q = 0; q < s.length; q++) {
                const int at = q % last * (s.length / last) + q / last;
                spectrum.set({at, 0, m, c}, made[static_cast<size_t>(q)].real());
                spectrum.set({at, 1, m, c}, made[static_cast<size_t>(q)].imag());
            }
        }
}

// Relative L2 error of y, the output of `last`; a long one is looked at in some rows. Padding must
// be zero.
inline double error_of(Tensor &u, Kernel &last, const LongConv &s, const Filters &filters,
                       const Finish &finish = {}) {
    double difference = 0, size = 0;
    const int stride = std::max(1, s.rows / 97);
    Tensor &y = last["y"];
    for (int c = 0; c < padded(s.channels); c++) {
        std::vector<double> x;
        for (int t = 0; t < s.rows; t++) x.push_back(u.get({c, t}));
        for (int m = 0; m < s.copies; m++)
            for (int t = s.rows - 1; t >= 0; t -= stride) {
                const double found = y.get({c, m, t});
                if (c >= s.channels) {
                    CHECK(found == 0);
                    continue;
                }
                double expected = filters.convolved(x, c, m, t);
                if (finish) expected = finish(last, expected, c, m, t);
                difference += std::pow(found - expected, 2), size += expected * expected;
            }
    }
    return std::sqrt(difference / size);
}

} // namespace longwave::test
