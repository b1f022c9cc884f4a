// Transforms of rows and the way back, against float64 sums.
#include "schedules/contract/twiddles.h"
#include "tests/kernels/check.h"
#include <algorithm>
#include <numbers>

namespace row_dft_test {

using namespace longwave::test;

namespace {

void set_twiddles(Kernel &k, int n_fft) {
    const std::vector<float> table = longwave::schedules::frame_twiddles(static_cast<uint32_t>(n_fft));
    for (size_t i = 0; i < table.size(); i++) k["twiddles"].set({static_cast<int>(i)}, table[i]);
}

double angle(int64_t bin, int64_t sample, int n_fft) {
    return 2 * std::numbers::pi * static_cast<double>(bin * sample % n_fft) / n_fft;
}

// `which(o)`: as the weight says and not as the kernel clamps it. `more`: other params.
Case forward(int n_fft, int in, int out, int rows, const std::function<int(int)> &which,
             const std::string &epilogue = "", double (*after)(double) = nullptr,
             const std::string &more = "") {
    const bool in_order = more.find("first") != std::string::npos,
               windowed = more.find("window") != std::string::npos;
    return {spec("row_dft",
                 fmt::format(R"("n_fft":{},"in":{},"out":{},"rows":{}{})", n_fft, in, out, rows, more),
                 epilogue),
            [=](Kernel &k) {
                set_twiddles(k, n_fft);
                for (int o = 0; !in_order && o < padded(out); o++)
                    k["which"].set({o}, o < out ? which(o) : 0);
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= out) return 0.0;
                        const int bins = n_fft / 2 + 1, part = std::clamp(which(at[0]), 0, 2 * bins - 1);
                        double sum = 0;
                        for (int i = 0; i < in; i++) {
                            const double phase = angle(part % bins, i, n_fft);
                            const double x = k["x"].get({i, at[1]}) * (windowed ? k["window"].get({i}) : 1.0);
                            sum += x * (part < bins ? std::cos(phase) : -std::sin(phase));
                        }
                        return after ? after(sum) : sum;
                    },
                    limit(n_fft, after ? 1 : 0));
            }};
}

Case inverse(int n_fft, int rows, const std::string &epilogue = "", double (*after)(double) = nullptr) {
    return {spec("row_inverse_dft", fmt::format(R"("n_fft":{},"rows":{})", n_fft, rows), epilogue),
            [=](Kernel &k) {
                set_twiddles(k, n_fft);
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        const int bins = n_fft / 2 + 1;
                        double sum = 0;
                        for (int bin = 0; bin < bins; bin++) {
                            const bool alone = bin == 0 || bin == n_fft / 2;
                            const double phase = angle(bin, at[0], n_fft);
                            sum += (alone ? 1 : 2) * k["x"].get({bin, at[1]}) * std::cos(phase);
                            if (!alone) sum -= 2 * k["x"].get({bins + bin, at[1]}) * std::sin(phase);
                        }
                        sum *= k["scale"].get({at[0]});
                        return after ? after(sum) : sum;
                    },
                    limit(n_fft, after ? 1 : 0));
            }};
}

const auto in_order = [](int o) { return o; };
double square(double x) { return x * x; }

} // namespace

TEST_CASE("row_dft: rows, sizes and outputs of any number agree with float64 sums") {
    run_everywhere({
        forward(512, 512, 514, 1, in_order),
        forward(64, 64, 66, 3, in_order),
        forward(128, 100, 65, 2, in_order),
        forward(
            512, 400, 257, 9, [](int o) { return 257 + o; }, R"({"op":"square"})", square),
        forward(1024, 1024, 33, 1, [](int o) { return 31 * o; }),
        forward(2048, 1, 2050, 1, in_order),
        forward(4096, 4096, 4098, 2, in_order),
        forward(256, 256, 2, 1, [](int o) { return 3 + o; }),
    });
}

TEST_CASE("row_dft: a window, and numbers of the spectrum in their order") {
    const auto from = [](int first) { return [=](int o) { return first + o; }; };
    const std::string window = R"(,"window":1)";
    run_everywhere({
        forward(256, 256, 258, 4, in_order, R"({"op":"square"})", square, window + R"(,"first":0)"),
        forward(512, 400, 257, 3, from(257), "", nullptr, window + R"(,"first":257)"),
        forward(64, 64, 33, 1, from(5), "", nullptr, R"(,"first":5)"),
        forward(128, 100, 65, 2, in_order, "", nullptr, window),
    });
}

TEST_CASE("row_dft: numbers outside of the spectrum are moved inside") {
    run_everywhere({forward(64, 64, 32, 1, [](int o) { return o % 2 ? 1 << 30 : -(1 << 30); })});
}

TEST_CASE("row_inverse_dft: rows and sizes of any number agree with float64 sums") {
    run_everywhere({inverse(512, 1), inverse(64, 3), inverse(128, 2),
                    inverse(256, 5, R"({"op":"square"})", square), inverse(1024, 1), inverse(2048, 1),
                    inverse(4096, 2)});
}

} // namespace row_dft_test
