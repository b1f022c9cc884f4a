// long_conv: lags, edges and the two-sided convention.
#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <array>

namespace convolution_test {

using namespace longwave::ir;

namespace {

Graph convolution(const std::string &shape, int copies, int two_sided, size_t heads, std::vector<double> k,
                  std::vector<double> d) {
    return graph_of("%u = input \"u\" features : f32[" + std::to_string(heads) +
                        "] @1/1\n%k = const \"k\" : " + shape + "\n%d = const \"D\" : [" +
                        std::to_string(copies) + "," + std::to_string(heads) +
                        "]\n%y = long_conv(%u, %k, %d) {channels=" + std::to_string(copies) +
                        ", two_sided=" + std::to_string(two_sided) + "}\noutput \"y\" %y",
                    {{"k", std::move(k)}, {"D", std::move(d)}});
}

} // namespace

TEST_CASE("long_conv: an impulse shows the kernel, D at lag 0") {
    const Graph graph = convolution("[1,1,3]", 1, 0, 1, {1, 2, 3}, {10});
    check_close(run(graph, rows_of(1, {0, 1, 0, 0, 0, 0})).data, {0, 11, 2, 3, 0, 0});
}

TEST_CASE("long_conv: the kernel meets zeros before the start and is cut at the end") {
    const Graph graph = convolution("[1,1,4]", 1, 0, 1, {1, 10, 100, 1000}, {0});
    check_close(run(graph, rows_of(1, {1, 2})).data, {1, 12});
    check_close(run(graph, rows_of(1, {3})).data, {3});
    CHECK(run(graph, rows_of(1, {})).rows == 0);
}

TEST_CASE("long_conv: each channel has its own kernel and D") {
    const Graph graph = convolution("[1,2,2]", 1, 0, 2, {1, 2, 3, 4}, {0, 100});
    check_close(run(graph, rows_of(2, {1, 1, 0, 0})).data, {1, 103, 2, 4});
}

TEST_CASE("long_conv: the backward kernel starts at the next row, so lag 0 is not counted twice") {
    const Graph graph = convolution("[2,1,3]", 1, 1, 1, {1, 2, 3, 10, 20, 30}, {0});
    // impulse at row 4: k0 to its right, k1 to its left
    check_close(run(graph, rows_of(1, {0, 0, 0, 0, 1, 0, 0, 0})).data, {0, 30, 20, 10, 1, 2, 3, 0});
    CHECK_FALSE(graph.type(3).causal);
}

TEST_CASE("long_conv: two-sided kernels are cut at both edges") {
    const Graph graph = convolution("[2,1,3]", 1, 1, 1, {1, 2, 3, 10, 20, 30}, {0});
    check_close(run(graph, rows_of(1, {1, 0})).data, {1, 2});
    check_close(run(graph, rows_of(1, {0, 1})).data, {10, 1});
}

TEST_CASE("long_conv: copies lie one after the other, two-sided pairs are copy c and copy C + c") {
    const Graph one_sided = convolution("[2,1,2]", 2, 0, 1, {1, 2, 3, 4}, {10, 20});
    CHECK(one_sided.type(3).dims == std::vector<uint32_t>{2}); // copies of one channel are a row of their own
    check_close(run(one_sided, rows_of(1, {1, 0})).data, {11, 23, 2, 4});
    CHECK(convolution("[2,3,1]", 2, 0, 3, {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}).type(3).dims ==
          std::vector<uint32_t>{2, 3});
    const Graph two_sided = convolution("[4,1,1]", 2, 1, 1, {1, 2, 30, 40}, {0, 0});
    check_close(run(two_sided, rows_of(1, {0, 1})).data, {30, 40, 1, 2});
}

TEST_CASE("long_conv: equals the sum of its definition on random numbers") {
    constexpr size_t heads = 3, copies = 2, taps = 5, rows = 11;
    const auto k = random_numbers(2 * copies * heads * taps, 1), d = random_numbers(copies * heads, 2),
               u = random_numbers(rows * heads, 3);
    const Graph graph = convolution("[4,3,5]", copies, 1, heads, k, d);
    std::vector<double> expected;
    for (size_t t = 0; t < rows; ++t)
        for (size_t c = 0; c < copies; ++c)
            for (size_t h = 0; h < heads; ++h) {
                double y = d[c * heads + h] * u[t * heads + h];
                for (size_t j = 0; j < taps; ++j) {
                    if (j <= t) y += k[(c * heads + h) * taps + j] * u[(t - j) * heads + h];
                    if (t + 1 + j < rows)
                        y += k[((copies + c) * heads + h) * taps + j] * u[(t + 1 + j) * heads + h];
                }
                expected.push_back(y);
            }
    check_close(run(graph, rows_of(heads, u)).data, expected);
}

TEST_CASE("long_conv: thousands of rows and taps give the same sums, whole and cut kernels alike") {
    for (const auto &[rows, taps, sides] :
         {std::array<size_t, 3>{4096, 4096, 2}, std::array<size_t, 3>{4100, 6000, 2},
          std::array<size_t, 3>{9000, 1000, 1}}) {
        const auto k = random_numbers(sides * taps, 1), u = random_numbers(rows, 3);
        const Graph graph = convolution("[" + std::to_string(sides) + ",1," + std::to_string(taps) + "]", 1,
                                        static_cast<int>(sides) - 1, 1, k, {0.5});
        const Array y = run(graph, rows_of(1, u));
        for (size_t t : {size_t{0}, size_t{1}, rows / 3, rows - 2, rows - 1}) {
            double expected = 0.5 * u[t];
            for (size_t j = 0; j < taps && j <= t; ++j) expected += k[j] * u[t - j];
            for (size_t j = 0; sides == 2 && j < taps && t + 1 + j < rows; ++j)
                expected += k[taps + j] * u[t + 1 + j];
            CHECK(y.data[t] == doctest::Approx(expected).epsilon(1e-11));
        }
    }
}

TEST_CASE("long_conv: two-sided, every row reads all rows, whatever the length for pooling") {
    const Graph graph = convolution("[2,1,3]", 1, 1, 1, {1, 2, 3, 10, 20, 30}, {0});
    const auto u = random_numbers(9, 4);
    check_close(run(graph, rows_of(1, u), 6).data, run(graph, rows_of(1, u)).data, 0);
}

TEST_CASE("long_conv: only the two-sided form reads rows after the end") {
    const Graph causal = convolution("[1,1,3]", 1, 0, 1, {1, 2, 3}, {0}),
                two_sided = convolution("[2,1,3]", 1, 1, 1, {1, 2, 3, 4, 5, 6}, {0});
    const auto rule = [](const Graph &graph) {
        const std::vector<Type> types{graph.type(0), graph.type(1), graph.type(2)};
        return end_rule(graph.nodes[0], types);
    };
    CHECK(rule(causal) == EndRule::exact);
    CHECK(rule(two_sided) == EndRule::clear);
}

namespace {

// Sums of the definition of torch, of two channels: tap `newest` weighs the row itself.
std::vector<double> sums_of_torch(const std::vector<double> &x, const std::vector<double> &w, size_t taps,
                                  size_t newest, double bias) {
    const auto rows = static_cast<ptrdiff_t>(x.size() / 2);
    std::vector<double> y(x.size(), bias);
    for (ptrdiff_t t = 0; t < rows; ++t)
        for (size_t c = 0; c < 2; ++c)
            for (size_t a = 0; a < taps; ++a) {
                const ptrdiff_t from = t + static_cast<ptrdiff_t>(a) - static_cast<ptrdiff_t>(newest);
                if (from >= 0 && from < rows)
                    y[static_cast<size_t>(2 * t) + c] +=
                        w[c * taps + a] * x[static_cast<size_t>(2 * from) + c];
            }
    return y;
}

double peak_of(const std::vector<double> &x) {
    double peak = 0;
    for (const double value : x) peak = std::max(peak, std::abs(value));
    return peak;
}

} // namespace

TEST_CASE("conv2d and centred_conv: filters of many taps, also ahead of the row, are the sums of torch") {
    for (const size_t taps : {63u, 64u, 65u, 4097u})
        for (const size_t ahead : {0u, 1u, 60u}) {
            const size_t rows = taps == 4097 ? 4200 : 150;
            const std::vector<double> w = random_numbers(2 * taps, 3), x = random_numbers(2 * rows, 4);
            const Graph graph = graph_of("%x = input \"x\" features : f32[2] @1/1\n%k = const \"k\" : [2,1," +
                                             std::to_string(taps) +
                                             ",1]\n%b = const \"b\" : [2]\n%y = conv2d(%x, %k, %b) "
                                             "{stride_t=1, stride_f=1, groups=2, bias=1, "
                                             "frequency=0, ahead=" +
                                             std::to_string(ahead) + "}\noutput \"y\" %y",
                                         {{"k", w}, {"b", {3, 3}}});
            const std::vector<double> sums = sums_of_torch(x, w, taps, taps - 1 - ahead, 3);
            check_close(run(graph, rows_of(2, x)).data, sums, 1e-14 * peak_of(sums));
        }
    for (const size_t taps : {1u, 3u, 129u, 4097u}) {
        const size_t rows = taps == 4097 ? 4200 : 150;
        const std::vector<double> w = random_numbers(2 * taps, 3), x = random_numbers(2 * rows, 4);
        const Graph graph = graph_of("%x = input \"x\" features : f32[2] @1/1\n%k = const \"k\" : [2," +
                                         std::to_string(taps) +
                                         "]\n%b = const \"b\" : [2]\n"
                                         "%y = centred_conv(%x, %k, %b) {bias=1}\noutput \"y\" %y",
                                     {{"k", w}, {"b", {3, 3}}});
        const std::vector<double> sums = sums_of_torch(x, w, taps, taps / 2, 3);
        check_close(run(graph, rows_of(2, x)).data, sums, 1e-14 * peak_of(sums));
    }
}

TEST_CASE("conv2d: dilated taps read every dilation-th row, up to the row itself or one ahead") {
    const auto dilated = [](const std::string &attributes, std::vector<double> x) {
        const Graph graph =
            graph_of("%x = input \"x\" features : f32[1] @1/1\n"
                     "%k = const \"k\" : [1,1,3,1]\n%y = conv2d(%x, %k) {" +
                         attributes + ", stride_f=1, groups=1, bias=0, frequency=0}\n" + "output \"y\" %y",
                     {{"k", {100, 10, 1}}});
        return run(graph, rows_of(1, std::move(x))).data;
    };
    const std::vector<double> x{1, 2, 3, 4, 5, 6, 7, 8};
    check_close(dilated("stride_t=1, dilation=3", x), {1, 2, 3, 14, 25, 36, 147, 258});
    check_close(dilated("stride_t=2, dilation=3", x), {2, 14, 36, 258});
    check_close(dilated("stride_t=1, dilation=3, ahead=1", x), {2, 3, 14, 25, 36, 147, 258, 360});
}

TEST_CASE("conv2d: dilated filters of many taps are the sums of torch") {
    constexpr size_t taps = 70, dilation = 3, span = (taps - 1) * dilation + 1, rows = 300;
    for (const size_t ahead : {0u, 150u}) {
        const std::vector<double> w = random_numbers(2 * taps, 3), x = random_numbers(2 * rows, 4);
        std::vector<double> spread(2 * span);
        for (size_t n = 0; n < w.size(); ++n) spread[n / taps * span + n % taps * dilation] = w[n];
        const Graph graph =
            graph_of("%x = input \"x\" features : f32[2] @1/1\n%k = const \"k\" : [2,1,70,1]\n"
                     "%b = const \"b\" : [2]\n%y = conv2d(%x, %k, %b) {stride_t=1, stride_f=1, groups=2, "
                     "bias=1, frequency=0, dilation=3, ahead=" +
                         std::to_string(ahead) + "}\noutput \"y\" %y",
                     {{"k", w}, {"b", {3, 3}}});
        const std::vector<double> sums = sums_of_torch(x, spread, span, span - 1 - ahead, 3);
        check_close(run(graph, rows_of(2, x)).data, sums, 1e-14 * peak_of(sums));
    }
}

} // namespace convolution_test
