// Kernels that know where a row stands: lrpe, rotary, exponential_scan; and sequence_softmax, which
// sees all rows.
#include "tests/kernels/check.h"

namespace positions_test {

using namespace longwave::test;

namespace {

// Θ in 2^-64 turns, as the compiler packs it.
void set_rates(Kernel &k, const std::function<double(int i, int h)> &theta) {
    k["theta_high"].for_each([&](const std::vector<int> &at) {
        const auto turns = static_cast<uint64_t>(std::ldexp(
            static_cast<long double>(theta(at[0], at[1])) * 0.15915494309189533576888376337251436L, 64));
        k["theta_high"].set(at, static_cast<int32_t>(static_cast<uint32_t>(turns >> 32)));
        k["theta_low"].set(at, static_cast<int32_t>(static_cast<uint32_t>(turns)));
    });
}

// From each of the rows `firsts` on; `position` of feature i in a row.
Case rotated(int heads, int dk, const std::string &axes, const std::vector<double> &firsts,
             const std::function<double(double row, int i)> &position) {
    return {spec("lrpe", fmt::format(R"("heads":{},"dk":{},"rows":30{})", heads, dk, axes) + counts_param()),
            [=](Kernel &k) {
                const auto theta = [](int i, int h) {
                    return double{static_cast<float>(std::pow(10000.0, -2.0 * i / 9) / (1 + h))};
                };
                set_rates(k, theta);
                const bool flat = k["y"].arg().dims.size() == 2;
                for (const double first : firsts) {
                    // Phases are reduced in long double, which itself is off by 1e-7 after 10^12
                    // rows.
                    const auto expected = [&](int lane, int t) {
                        const int h = lane / (2 * dk), part = lane / dk % 2, i = lane % dk;
                        if (h >= heads) return 0.0;
                        const long double phase =
                            static_cast<long double>(position(first + t, i)) * theta(i, h);
                        const auto angle =
                            static_cast<double>(std::fmod(phase, 6.283185307179586476925286766559L));
                        return k["x"].get({i, h, t}) * (part ? std::sin(angle) : std::cos(angle));
                    };
                    rows_before(k, first, 30);
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) {
                            return flat ? expected(at[0], at[1])
                                        : expected((at[2] * 2 + at[1]) * dk + at[0], at[3]);
                        },
                        3e-7); // two roundings, and sine or cosine within 1e-7
                    CHECK(k[count_argument()].get({0}) == first + 30);
                }
            }};
}

Case scan(int channels, int modes, int rows, int stride, int length, double first) {
    return {
        spec("exponential_scan", fmt::format(R"("channels":{},"modes":{},"rows":{},"stride":{},"length":{})",
                                             channels, modes, rows, stride, length) +
                                     (length ? counts_param() : "")),
        [=](Kernel &k) {
            zero_padding(k["x"], channels, padded(channels));
            for (const char *name : {"lambda", "c"}) zero_padding(k[name], channels, padded(channels));
            k["sums"].for_each([&](const std::vector<int> &at) { k["sums"].set(at, 0); });
            if (length) rows_before(k, first, rows);
            std::vector<double> x; // [channels, rows]: the sums read each value many times
            for (int c = 0; c < channels; c++)
                for (int t = 0; t < rows; t++) x.push_back(k["x"].get({c, t}));
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    if (at[0] >= channels) return 0.0;
                    double total = 0;
                    for (int m = 0; m < modes; m++) {
                        const double scale = k["c"].get({at[0], m}), lambda = k["lambda"].get({at[0], m});
                        double power = 1;
                        for (int t = at.back(); t >= 0; t -= stride) {
                            total += scale * power * x[size_t(at[0]) * rows + t];
                            power *= lambda;
                            if (length && int(first + t) / stride % length == 0) break;
                        }
                    }
                    return total;
                },
                limit(2, 1));
        },
        stride > 1 && rows > stride};
}

} // namespace

TEST_CASE("lrpe: phases at the first row, after 10^9 and after 10^12 rows, and along the axes of an image") {
    std::vector<Case> cases;
    for (const int dk : {8, 16, 5})
        cases.push_back(rotated(2, dk, "", {0, 1e9, 1e12}, [](double row, int) { return row; }));
    // Two conditions, then 4 lines of 7; features 0 to 4 of 9 rotate with the line.
    cases.push_back(rotated(2, 9, R"(,"sizes":[4,7],"conditions":2)", {0}, [](double row, int i) {
        const int t = static_cast<int>(row) - 2;
        return t < 0 ? 0.0 : i < 5 ? t / 7 % 4 : t % 7;
    }));
    run_everywhere(cases);
}

TEST_CASE(
    "rotary: pairs of each head rotated, neighbours or halves, after any number of rows; the rest passes") {
    std::vector<Case> cases;
    for (const auto &[heads, pairs, width] : {std::tuple(2, 4, 16), {2, 16, 70}, {3, 5, 31}, {1, 1, 2}})
        for (const int interleaved : {0, 1})
            cases.push_back(
                {spec("rotary", fmt::format(R"("heads":{},"pairs":{},"width":{},"interleaved":{},"rows":9)",
                                            heads, pairs, width, interleaved) +
                                    counts_param()),
                 [=](Kernel &k) {
                     const auto theta = [](int p) {
                         return double{static_cast<float>(std::pow(10000.0, -p / 16.0))};
                     };
                     zero_padding(k["x"], width, padded(width));
                     k["theta_high"].for_each([&](const std::vector<int> &at) {
                         const auto turns = static_cast<uint64_t>(std::ldexp(
                             static_cast<long double>(theta(at[0])) * 0.15915494309189533576888376337251436L,
                             64));
                         k["theta_high"].set(at, static_cast<int32_t>(static_cast<uint32_t>(turns >> 32)));
                         k["theta_low"].set(at, static_cast<int32_t>(static_cast<uint32_t>(turns)));
                     });
                     for (const double first : {0.0, 1e9}) {
                         rows_before(k, first, 9);
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const int c = at[0], i = c % (2 * pairs);
                                 const double x = k["x"].get(at);
                                 if (c >= 2 * pairs * heads) return x;
                                 const int pair = interleaved ? i / 2 : i % pairs, other = interleaved ? c ^ 1
                                                                                           : i < pairs
                                                                                               ? c + pairs
                                                                                               : c - pairs;
                                 const bool second = interleaved ? i % 2 : i >= pairs;
                                 const long double phase =
                                     static_cast<long double>(first + at[1]) * theta(pair);
                                 const auto angle =
                                     static_cast<double>(std::fmod(phase, 6.283185307179586476925286766559L));
                                 return x * std::cos(angle) +
                                        (second ? 1 : -1) * k["x"].get({other, at[1]}) * std::sin(angle);
                             },
                             3e-7); // two roundings, and sine or cosine within 1e-7
                         CHECK(k[count_argument()].get({0}) == first + 9);
                     }
                 }});
    run_everywhere(cases);
}

TEST_CASE("exponential_scan: a sequence, lines that begin anew, and lines side by side") {
    run_everywhere({scan(40, 3, 30, 1, 0, 0), scan(1, 2, 5, 1, 0, 0), scan(8, 16, 30, 1, 14, 0),
                    scan(8, 2, 30, 1, 14, 28), scan(24, 1, 7, 14, 9, 0), scan(5, 2, 13, 13, 10, 0),
                    scan(8, 2, 3000, 1, 0, 0)});
}

TEST_CASE("exponential_scan: an image of several lines in one call of a gpu") {
    if (!gpu_under_test()) return;
    run_everywhere({scan(24, 2, 65, 13, 4, 0), scan(5, 3, 40, 7, 9, 0)});
}

TEST_CASE("sequence_softmax: proportions over the rows before the end, nothing behind it") {
    std::vector<Case> cases;
    for (const auto &[channels, length] : {std::pair(16, 50), {5, 33}, {48, 1}, {3, 0}})
        cases.push_back(
            {spec("sequence_softmax", fmt::format(R"("channels":{},"rows":50)", channels)), [=](Kernel &k) {
                 Tensor &key = k["k"];
                 zero_padding(key, channels, padded(channels));
                 key.for_each([&](const std::vector<int> &at) { key.set(at, 80 * key.get(at)); });
                 k.scalar("length") = length;
                 compare(
                     k, "y",
                     [&](const std::vector<int> &at) {
                         if (at[0] >= channels || at[1] >= length) return 0.0;
                         double sum = 0;
                         for (int t = 0; t < length; t++) sum += std::exp(key.get({at[0], t}) - key.get(at));
                         return 1 / sum;
                     },
                     limit(50, 2));
             }});
    run_everywhere(cases);
}

} // namespace positions_test
