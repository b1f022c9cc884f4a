// Functions of one, two and three values that `pointwise` and all epilogues share, against float64.
// rows_test.cc has the activations.
#include "tests/kernels/check.h"
#include <algorithm>
#include <bit>

namespace functions_test {

using namespace longwave::test;

namespace {

struct Range {
    double most, tolerance;
};

// The largest error of f over 13 x 40 values of padded rows, for each range ± `most`.
Case function(const std::string &op, const std::vector<Range> &ranges, double (*f)(double)) {
    return {spec("pointwise", R"("width":16,"channels":13,"rows":40)", R"({"op":")" + op + R"("})"),
            [=](Kernel &k) {
                Tensor &x = k["x"];
                for (const auto &[most, tolerance] : ranges) {
                    x.for_each([&](const std::vector<int> &at) {
                        const double even = (at[0] + 13 * at[1] - 260) / 260.0; // 0 among them
                        x.set(at, at[0] < 13 ? most * even : 0);
                    });
                    REQUIRE(k.call() == 0);
                    double worst = 0;
                    k["y"].for_each([&](const std::vector<int> &at) {
                        const double expected = at[0] < 13 ? f(x.get(at)) : 0;
                        worst = std::max(worst, std::fabs(k["y"].get(at) - expected));
                    });
                    INFO(op, " up to ", most, ": error ", worst, ", limit ", tolerance);
                    CHECK(worst <= tolerance);
                }
            }};
}

double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double error_function(double x) { return std::erf(x); }
double below(double x) { return std::floor(x); }
double nearest(double x) { return std::nearbyint(x); } // halves to the even neighbour
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// Rows {0, 1, -1, 2, ...} / 2 beside random operands, so that both sides meet equal values too.
Case of_values(const std::string &op, const std::vector<std::string> &operands,
               const std::function<double(const std::vector<double> &)> &f) {
    return {spec("pointwise", R"("width":32,"channels":20,"rows":9)", R"({"op":")" + op + R"("})"),
            [=](Kernel &k) {
                k["x"].for_each([&](const std::vector<int> &at) {
                    k["x"].set(at, at[0] < 20 ? (at[0] % 3 - 1) / 2.0 : 0);
                });
                for (const std::string &name : operands) {
                    zero_padding(k[name + "_0"], 20, 32);
                    k[name + "_0"].set({0, 0}, -0.5);
                }
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        std::vector<double> values{k["x"].get(at)};
                        for (const std::string &name : operands) values.push_back(k[name + "_0"].get(at));
                        return f(values);
                    },
                    0);
            }};
}

} // namespace

TEST_CASE("functions: sine and cosine to 2e-7 up to 8,192; beyond, to what a last digit of x changes") {
    std::vector<Range> ranges;
    for (const double most : {1e-3, 1.0, 10.0, 500.0, 8192.0}) ranges.push_back({most, 2e-7});
    for (const double most : {1e5, 1e7}) ranges.push_back({most, 1.2e-7 * most});
    ranges.push_back({1e30, 2}); // stays in ±1
    run_everywhere({function("sin", ranges, sine), function("cos", ranges, cosine)});
}

TEST_CASE("functions: erf to 2.4e-7, and near 0 relative to x") {
    run_everywhere({function("erf", {{5, 2.4e-7}, {100, 2.4e-7}, {1e-6, 2.4e-13}}, error_function)});
}

TEST_CASE("functions: floor, round and sign are exact") {
    // 260 gives whole numbers, 130 halves, 2^25 numbers without fractions.
    const std::vector<Range> ranges{{0.4, 0},  {1, 0},        {130, 0}, {260, 0},
                                    {1000, 0}, {33554432, 0}, {1e20, 0}};
    run_everywhere({function("floor", ranges, below), function("round", ranges, nearest),
                    function("sign", ranges, sign)});
}

TEST_CASE("functions: the larger, the smaller and the chosen of values are exact") {
    run_everywhere(
        {of_values("maximum", {"maximum"}, [](const std::vector<double> &v) { return std::max(v[0], v[1]); }),
         of_values("minimum", {"minimum"}, [](const std::vector<double> &v) { return std::min(v[0], v[1]); }),
         of_values("where", {"where", "otherwise"},
                   [](const std::vector<double> &v) { return v[0] > 0 ? v[1] : v[2]; })});
}

// One of 1,009 float32 numbers from -10 to 10, on their bits: 1,009 has no factor of a power of two.
TEST_CASE("functions: tanh to 2e-7, near 0 relative to x, and never beyond 1") {
    constexpr int channels = 13, rows = 4000, step = 1009;
    const Case tanh{spec("pointwise", fmt::format(R"("width":16,"channels":{},"rows":{})", channels, rows),
                         R"({"op":"tanh"})"),
                    [](Kernel &k) {
                        const uint32_t end = std::bit_cast<uint32_t>(10.0f);
                        double worst = 0, relative = 0, largest = 0;
                        for (uint32_t bits = 0; bits < end;) {
                            k["x"].for_each([&](const std::vector<int> &at) {
                                const float x =
                                    std::bit_cast<float>(std::min(bits, end) | uint32_t(at[1] % 2) << 31);
                                k["x"].set(at, at[0] < channels ? x : 0);
                                bits += at[0] < channels ? step : 0;
                            });
                            REQUIRE(k.call() == 0);
                            k["y"].for_each([&](const std::vector<int> &at) {
                                const double x = k["x"].get(at), y = k["y"].get(at), error = y - std::tanh(x);
                                worst = std::max(worst, std::fabs(error));
                                if (std::fabs(x) > 1e-30)
                                    relative = std::max(relative, std::fabs(error / std::tanh(x)));
                                largest = std::max(largest, std::fabs(y));
                            });
                        }
                        CHECK(worst <= 2e-7);
                        CHECK(relative <= 4e-7); // six roundings of up to 6e-8
                        CHECK(largest == 1);
                    }};
    run_everywhere({tanh});
}

// The kernels of products are written out for a GPU, and so are their epilogues.
TEST_CASE("functions: behind a matrix") {
    std::vector<Case> cases;
    for (const auto &[op, f] :
         std::vector<std::pair<std::string, double (*)(double)>>{{"sin", sine},
                                                                 {"cos", cosine},
                                                                 {"erf", error_function},
                                                                 {"floor", below},
                                                                 {"round", nearest},
                                                                 {"sign", sign}})
        cases.push_back({spec("linear", R"("in":16,"out":32,"rows":64)", R"({"op":")" + op + R"("})"),
                         [f = f](Kernel &k) {
                             // Sums of quarters have no rounding.
                             k["w"].for_each([&](const std::vector<int> &at) { k["w"].set(at, 1); });
                             k["x"].for_each([&](const std::vector<int> &at) {
                                 k["x"].set(at, (at[0] * 7 % 5 - 2 + at[1] % 17) / 4.0);
                             });
                             REQUIRE(k.call() == 0);
                             k["y"].for_each([&](const std::vector<int> &at) {
                                 double sum = 0;
                                 for (int i = 0; i < 16; i++) sum += k["x"].get({i, at[1]});
                                 CHECK(std::fabs(k["y"].get(at) - f(sum)) <= 2e-7);
                             });
                         }});
    run_everywhere(cases);
}

} // namespace functions_test
