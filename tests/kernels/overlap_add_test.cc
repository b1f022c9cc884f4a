// Long convolutions of whole sequences in blocks, against their definition.
#include "tests/kernels/check.h"
#include "tests/support/right_angle.h"

namespace overlap_add_test {

using namespace longwave::test;

namespace {

struct Problem {
    int length, rows, taps, channels, copies = 1;
};

// Numbers between -1 and 1 without a pattern.
double tap(const Problem &p, int c, int m, int j) {
    return std::sin(1.7 * j * j + 3 * m + c) / std::sqrt(p.taps);
}

// In float64, with 1/length folded in.
void set_spectrum(Tensor &spectrum, const Problem &p) {
    for (int c = 0; c < spectrum.extent(0); c++)
        for (int m = 0; m < p.copies; m++) {
            Points x(static_cast<size_t>(p.length));
            for (int j = 0; j < p.taps; j++) x[static_cast<size_t>(j)] = tap(p, c, m, j);
            x = right_angle_spectrum(x);
            for (int q = 0; q < p.length; q++) {
                const auto value = x[static_cast<size_t>(q)] / double(p.length);
                spectrum.set({c, 0, q, m}, value.real());
                spectrum.set({c, 1, q, m}, value.imag());
            }
        }
}

Case overlap_add(const Problem &p, const std::string &epilogue = "") {
    const std::string params = fmt::format(R"("length":{},"rows":{},"channels":{},"copies":{})", p.length,
                                           p.rows, p.channels, p.copies);
    return {spec("long_conv_overlap_add", params, epilogue), [=](Kernel &k) {
                const auto table = longwave::schedules::right_angle_twiddles(static_cast<uint32_t>(p.length));
                for (size_t i = 0; i < table.size(); i++) k["twiddles"].set({static_cast<int>(i)}, table[i]);
                const int lanes = k["u"].extent(0);
                set_spectrum(k["spectrum"], p);
                uint64_t left = 1;
                REQUIRE(k.call(&left) == 0);
                CHECK(left == 0);
                double difference = 0, size = 0;
                const Tensor &u = k["u"];
                for (int c = 0; c < std::min(lanes, p.channels); c += 5)
                    for (int m = 0; m < p.copies; m++) {
                        std::vector<double> taps;
                        for (int j = 0; j < p.taps; j++) taps.push_back(tap(p, c, m, j));
                        for (int t = p.rows - 1; t >= 0; t -= std::max(1, p.rows / 97)) {
                            double sum = 0;
                            for (int j = 0; j <= t && j < p.taps; j++)
                                sum += taps[static_cast<size_t>(j)] * u.get({c, t - j});
                            if (!epilogue.empty()) sum = std::max(sum, 0.0);
                            difference += std::pow(sum - k["y"].get({c, m, t}), 2), size += sum * sum;
                        }
                    }
                const double error = std::sqrt(difference / size);
                INFO("error ", error);
                CHECK(error <= 3e-7); // as long_conv_right_angle
            }};
}

} // namespace

TEST_CASE("long_conv_overlap_add: two blocks and many, a last block that ends early, taps up to a block") {
    run_everywhere({overlap_add({64, 128, 64, 16}), overlap_add({64, 1000, 40, 20}),
                    overlap_add({240, 2399, 240, 128}), overlap_add({1024, 5000, 1000, 5}),
                    overlap_add({75, 76, 75, 1}), overlap_add({16, 2049, 3, 2048}),
                    overlap_add({4096, 20000, 4000, 16})});
}

TEST_CASE("long_conv_overlap_add: several copies, an epilogue, one channel") {
    run_everywhere({overlap_add({128, 700, 100, 16, 2}), overlap_add({2048, 9000, 2048, 33, 3}),
                    overlap_add({256, 1024, 256, 1, 16}),
                    overlap_add({160, 333, 150, 40}, R"({"op":"relu"})")});
}

} // namespace overlap_add_test
