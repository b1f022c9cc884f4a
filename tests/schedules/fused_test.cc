// long_conv_fused: one dispatch of a gpu against convolution by its definition in float64. The spectra are made here, in
// float64, by evaluating the definition of the right-angle transform level by level (schedules/twiddles.h).
#include "schedules/twiddles.h"
#include "tests/schedules/check.h"
#include <complex>
#include <numbers>
#include <random>

using namespace longwave::test;
namespace schedules = longwave::schedules;

namespace {

using Points = std::vector<std::complex<double>>;

Points right_angle_spectrum(Points x) {
    const auto radices = schedules::right_angle_radices(static_cast<uint32_t>(x.size()));
    size_t blocks = 1, size = x.size();
    for (size_t level = 0; level < radices.size(); level++) {
        const auto radix = static_cast<size_t>(radices[level]), apart = size / radix;
        Points next(x.size());
        for (size_t q = 0; q < blocks; q++) {
            const double phase =
                schedules::phase(radices, 0.25, static_cast<int>(level), static_cast<int64_t>(q));
            for (size_t j = 0; j < radix; j++)
                for (size_t m = 0; m < radix; m++) {
                    const double turns =
                        (phase + static_cast<double>(j)) * static_cast<double>(m) / radices[level];
                    const auto root = std::polar(1.0, 2 * std::numbers::pi * turns);
                    for (size_t n = 0; n < apart; n++)
                        next[q * size + j * apart + n] += x[q * size + m * apart + n] * root;
                }
        }
        x = std::move(next);
        blocks *= radix, size = apart;
    }
    return x;
}

struct Shape {
    int length, rows, channels, copies = 1;
    bool two_sided = false;
};

// forward[channel][copy][lag] and, two-sided, backward; of as many taps as there are rows.
class Filters {
public:
    explicit Filters(const Shape &s) : s_(s), taps_(static_cast<size_t>(s.channels) * s.copies * 2 * s.rows) {
        std::mt19937 random(7);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (size_t i = 0; i < taps_.size(); i++)
            taps_[i] = uniform(random) *
                       std::exp(-4.0f * static_cast<float>(i % s.rows) / static_cast<float>(s.rows));
    }
    double tap(int channel, int copy, int side, int lag) const {
        return taps_[((static_cast<size_t>(channel) * s_.copies + copy) * 2 + side) * s_.rows + lag];
    }
    Points spectrum(int channel, int copy) const {
        Points x(static_cast<size_t>(s_.length));
        for (int n = 0; n < s_.rows; n++) {
            x[static_cast<size_t>(n)] += tap(channel, copy, 0, n);
            if (s_.two_sided && n < s_.rows - 1)
                x[static_cast<size_t>(s_.length - 1 - n)] -=
                    std::complex<double>(0, tap(channel, copy, 1, n));
        }
        Points made = right_angle_spectrum(x);
        for (auto &value : made) value /= s_.length;
        return made;
    }

private:
    Shape s_;
    std::vector<float> taps_;
};

void set_weights(Kernel &k, const Shape &s, const Filters &filters) {
    const auto table = schedules::right_angle_twiddles(static_cast<uint32_t>(s.length));
    for (size_t i = 0; i < table.size(); i++) k["twiddles"].set({static_cast<int>(i)}, table[i]);
    Tensor &spectrum = k["spectrum"];
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

double convolved(Kernel &k, const Shape &s, const Filters &filters, int c, int m, int t) {
    double sum = 0;
    for (int j = 0; j <= t; j++) sum += filters.tap(c, m, 0, j) * k["u"].get({c, t - j});
    for (int j = 0; s.two_sided && t + 1 + j < s.rows; j++)
        sum += filters.tap(c, m, 1, j) * k["u"].get({c, t + 1 + j});
    return sum;
}

// `finish`: what the epilogue makes of a sum. A long output is looked at in some rows.
Case fused(const Shape &s, const std::string &epilogue = "",
           const std::function<double(Kernel &, double, int, int, int)> &finish = {}) {
    const auto filters = std::make_shared<Filters>(s);
    return {spec("long_conv_fused",
                 fmt::format(R"("length":{},"rows":{},"channels":{},"copies":{})", s.length, s.rows,
                             s.channels, s.copies),
                 epilogue),
            [=](Kernel &k) {
                set_weights(k, s, *filters);
                zero_padding(k["u"], s.channels, padded(s.channels));
                REQUIRE(k.call() == 0);
                double difference = 0, size = 0;
                const int stride = std::max(1, s.rows / 97);
                for (int c = 0; c < padded(s.channels); c++)
                    for (int m = 0; m < s.copies; m++)
                        for (int t = s.rows - 1; t >= 0; t -= stride) {
                            const double found = k["y"].get({c, m, t});
                            if (c >= s.channels) {
                                CHECK(found == 0);
                                continue;
                            }
                            double expected = convolved(k, s, *filters, c, m, t);
                            if (finish) expected = finish(k, expected, c, m, t);
                            difference += std::pow(found - expected, 2), size += expected * expected;
                        }
                const double error = std::sqrt(difference / size);
                INFO("relative L2 error ", error);
                CHECK(error <= 5e-7);
            },
            true};
}

} // namespace

TEST_CASE("long_conv_fused: every radix, sequences as long as the transform and shorter, odd channels") {
    if (!gpu_under_test()) return;
    run_everywhere({fused({4, 3, 1}), fused({64, 64, 16}), fused({60, 57, 5}), fused({100, 100, 1}),
                    fused({256, 200, 24}), fused({512, 512, 3})});
}

TEST_CASE("long_conv_fused: as long as 16 KiB hold in place") {
    if (!gpu_under_test()) return;
    run_everywhere({fused({1024, 1000, 3}), fused({2048, 2048, 3})});
}

TEST_CASE("long_conv_fused: two-sided and in copies") {
    if (!gpu_under_test()) return;
    run_everywhere({fused({128, 128, 17, 1, true}), fused({256, 250, 6, 2, true}), fused({320, 300, 20, 3})});
}

TEST_CASE("long_conv_fused: bias, gate and activation in the same dispatch; padding stays zero") {
    if (!gpu_under_test()) return;
    const auto finish = [](Kernel &k, double sum, int c, int m, int t) {
        const double moved = sum * k["scale_0"].get({c, m}) + k["shift_0"].get({c, m});
        return logistic(moved) * k["mul_2"].get({c, m, t});
    };
    run_everywhere({fused({256, 256, 20}, R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"})", finish)});
}

TEST_CASE("long_conv_fused: as long as 32 KiB hold in place") {
    const auto *gpu = gpu_under_test();
    if (!gpu || gpu->shared_bytes < 32 << 10) return;
    run_everywhere({fused({4096, 4096, 2})});
}
