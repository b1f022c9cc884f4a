// The ops of LightNet against closed forms that do not recur: weighted means over all rows so
// far.
#include "compiler/ir/op.h"
#include "compiler/ops/attention/positions.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <fmt/format.h>

namespace lightnet_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

constexpr size_t rows = 23;

// Rows of `width` from column `first` of rows of `all`.
std::vector<double> columns(const std::vector<double> &x, size_t all, size_t first, size_t width) {
    std::vector<double> out;
    for (size_t t = 0; t * all < x.size(); ++t)
        for (size_t i = 0; i < width; ++i) out.push_back(x[t * all + first + i]);
    return out;
}

// One input of `widths` side by side, cut by products with unit matrices into %0, %1, …; `body`
// makes %y.
Array compute(const std::vector<size_t> &widths, const std::vector<double> &x, const std::string &body,
              Weights weights = {}) {
    size_t all = 0, first = 0;
    for (const size_t width : widths) all += width;
    std::string text = fmt::format("%x = input \"x\" features : f32[{}] @1/1\n", all);
    for (size_t n = 0; n < widths.size(); first += widths[n++]) {
        text += fmt::format("%w{0} = const \"w{0}\" : [{1},{2}]\n%{0} = linear(%x, %w{0}) {{bias=0}}\n", n,
                            widths[n], all);
        std::vector<double> &unit = weights[fmt::format("w{}", n)];
        unit.assign(widths[n] * all, 0);
        for (size_t i = 0; i < widths[n]; ++i) unit[i * all + first + i] = 1;
    }
    return run(graph_of(text + body + "\noutput \"y\" %y", weights), rows_of(all, x));
}

// Σ_j e^{k_j}·(what `value` gives for row j) / (start + Σ_j e^{k_j}) over rows j ≤ t that count.
double mean(const std::vector<double> &k, size_t keys, size_t i, size_t t, double start, const auto &value,
            const auto &counts) {
    double top = start ? 0 : -1e300, sum = 0, total = 0;
    for (size_t j = 0; j <= t; ++j)
        if (counts(j)) top = std::max(top, k[j * keys + i]);
    for (size_t j = 0; j <= t; ++j)
        if (counts(j))
            sum += std::exp(k[j * keys + i] - top), total += std::exp(k[j * keys + i] - top) * value(j);
    return total / (sum + start * std::exp(-top));
}
const auto all_count = [](size_t) { return true; };

StreamRule rule_of(const std::string &text) {
    const Graph graph = graph_of(text + "\noutput \"y\" %y");
    const Node &node = graph.nodes.back();
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph.type(id));
    return node.op->stream(node, types);
}

} // namespace

TEST_CASE(
    "cumulative_softmax and decaying_attention: weighted means of all values so far, with keys of ±150") {
    const size_t heads = 2, dk = 3, dv = 2, keys = heads * dk;
    std::vector<double> x = random_numbers(rows * (2 * keys + heads * dv), 1);
    const size_t all = 2 * keys + heads * dv;
    for (size_t t = 0; t < rows; ++t)
        for (size_t i = keys; i < 2 * keys; ++i) x[t * all + i] *= 150;
    const auto q = columns(x, all, 0, keys), k = columns(x, all, keys, keys),
               v = columns(x, all, 2 * keys, heads * dv);
    for (const int start : {0, 1}) {
        const Array y = compute(
            {keys, keys, heads * dv}, x,
            fmt::format(
                "%w = cumulative_softmax(%1) {{start={}}}\n%y = decaying_attention(%0, %w, %2) {{heads=2}}",
                start));
        std::vector<double> expected;
        for (size_t t = 0; t < rows; ++t)
            for (size_t lane = 0; lane < heads * dv; ++lane) {
                double sum = 0;
                for (size_t i = 0; i < dk; ++i) {
                    const size_t key = lane / dv * dk + i;
                    sum += q[t * keys + key] * mean(
                                                   k, keys, key, t, start,
                                                   [&](size_t j) { return v[j * heads * dv + lane]; },
                                                   all_count);
                }
                expected.push_back(sum);
            }
        check_close(y.data, expected, 1e-12);
    }
}

TEST_CASE("cumulative_softmax: masked rows weigh nothing, and the others as if they were not there") {
    std::vector<double> x = random_numbers(rows * 3, 2);
    const auto counts = [&](size_t t) { return x[t * 3 + 2] != 0; };
    for (size_t t = 0; t < rows; ++t) x[t * 3 + 2] = t > 2 && t % 4 != 0;
    const Array w = compute({2, 1}, x, "%y = cumulative_softmax(%0, %1) {start=0}");
    for (size_t t = 0; t < rows; ++t)
        for (size_t i = 0; i < 2; ++i) {
            const double expected =
                counts(t) ? mean(x, 3, i, t, 0, [&](size_t j) { return double(j == t); }, counts) : 0;
            CHECK(std::fabs(w.row(t)[i] - expected) < 1e-14);
        }
}

TEST_CASE("lrpe: queries and weights rotated by their rows meet by the cosine of their distance") {
    const size_t dk = 2, dv = 1, all = 2 * dk + dv;
    const std::vector<double> x = random_numbers(rows * all, 3), theta = {1.0, 0.01};
    const Array y =
        compute({dk, dk, dv}, x,
                "%t = const \"t\" : [2]\n%w = cumulative_softmax(%1) {start=1}\n%q = lrpe(%0, %t) {heads=1}\n"
                "%k = lrpe(%w, %t) {heads=1}\n%y = decaying_attention(%q, %w, %2, %k) {heads=1}",
                {{"t", theta}});
    const auto k = columns(x, all, dk, dk);
    for (size_t t = 0; t < rows; ++t) {
        double sum = 0;
        for (size_t i = 0; i < dk; ++i)
            sum += x[t * all + i] * mean(
                                        k, dk, i, t, 1,
                                        [&](size_t j) {
                                            return std::cos(static_cast<double>(t - j) * theta[i]) *
                                                   x[j * all + 2 * dk];
                                        },
                                        all_count);
        CHECK(std::fabs(y.row(t)[0] - sum) < 1e-13);
    }
}

TEST_CASE("lrpe: over an image each part of a head is rotated along its axis, conditions do not") {
    const Array y = run(graph_of("%x = input \"x\" features : f32[3] @1/1\n%t = const \"t\" : [3]\n"
                                 "%y = lrpe(%x, %t) {heads=1, shape=\"2x3\", conditions=1}\noutput \"y\" %y",
                                 {{"t", {1, 2, 4}}}),
                        rows_of(3, std::vector<double>(21, 1.0)));
    const std::vector<std::pair<int, int>> at = {{0, 0}, {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}};
    for (size_t t = 0; t < at.size(); ++t)
        check_close({y.row(t), y.row(t) + 6},
                    {std::cos(at[t].first), std::cos(2.0 * at[t].first), std::cos(4.0 * at[t].second),
                     std::sin(at[t].first), std::sin(2.0 * at[t].first), std::sin(4.0 * at[t].second)},
                    1e-15);
}

TEST_CASE(
    "sequence_softmax and linear_attention_offline: every row sees the weighted mean of the whole sequence") {
    const size_t dk = 2, dv = 2, all = 6;
    const std::vector<double> x = random_numbers(rows * all, 4);
    const Array y = compute({dk, dk, dv}, x,
                            "%w = sequence_softmax(%1)\n%y = linear_attention_offline(%0, %w, %2) {heads=1}");
    const auto k = columns(x, all, dk, dk);
    for (size_t t = 0; t < rows; ++t)
        for (size_t c = 0; c < dv; ++c) {
            double sum = 0;
            for (size_t i = 0; i < dk; ++i)
                sum +=
                    x[t * all + i] *
                    mean(k, dk, i, rows - 1, 0, [&](size_t j) { return x[j * all + 2 * dk + c]; }, all_count);
            CHECK(std::fabs(y.row(t)[c] - sum) < 1e-13);
        }
}

TEST_CASE("exponential_scan: powers of the distance, along a sequence and along both axes of an image") {
    const std::vector<double> x = random_numbers(12, 5), lambda = {0.5, -0.25}, c = {2, 3};
    for (const auto &[attributes, stride, length] : {std::tuple(std::string(), size_t{1}, size_t{99}),
                                                     {" {shape=\"3x4\", axis=1}", 1, 4},
                                                     {" {shape=\"3x4\", axis=0}", 4, 3}}) {
        const Array y = run(graph_of("%x = input \"x\" features : f32[1] @1/1\n%l = const \"l\" : [1,2]\n%c "
                                     "= const \"c\" : [1,2]\n"
                                     "%y = exponential_scan(%x, %l, %c)" +
                                         attributes + "\noutput \"y\" %y",
                                     {{"l", lambda}, {"c", c}}),
                            rows_of(1, x));
        for (size_t t = 0; t < 12; ++t) {
            double sum = 0;
            for (size_t back = 0; back <= t / stride % length; ++back)
                for (size_t m = 0; m < 2; ++m) sum += c[m] * std::pow(lambda[m], back) * x[t - back * stride];
            CHECK(std::fabs(y.data[t] - sum) < 1e-14);
        }
    }
}

TEST_CASE("stream: what LightNet remembers: the matrix in two floats, log S in float64, a position") {
    const std::string x = "%x = input \"x\" features : f32[12] @1/1\n";
    const StreamRule core = rule_of(x + "%y = decaying_attention(%x, %x, %x) {heads=3}");
    REQUIRE(core.carries.size() == 2);
    CHECK(core.carries[0].elem == Elem::f32);
    CHECK(core.carries[0].dims == std::vector<uint32_t>{16, 4}); // lanes of values, rows of a head
    const StreamRule zero = rule_of(x + "%y = cumulative_softmax(%x) {start=0}"),
                     one = rule_of(x + "%y = cumulative_softmax(%x) {start=1}");
    CHECK(zero.carries.size() == 2); // and the number of rows, which tells that there is no sum yet
    REQUIRE(one.carries.size() == 1);
    CHECK(one.carries[0].elem == Elem::f64);
    CHECK(rule_of(x + "%t = const \"t\" : [12]\n%y = lrpe(%x, %t) {heads=3}").carries.size() == 1);
    const std::string scan = x + "%l = const \"l\" : [12,5]\n%y = exponential_scan(%x, %l, %l)";
    CHECK(rule_of(scan).carries[0].dims == std::vector<uint32_t>{5, 16});
    CHECK(rule_of(scan + " {shape=\"3x4\", axis=0}").carries[0].dims == std::vector<uint32_t>{4, 5, 16});
    CHECK(rule_of(x + "%y = sequence_softmax(%x)").looks_ahead ==
          "its keys are normalised over the whole sequence (a softmax over time)");
    CHECK_FALSE(rule_of(x + "%y = linear_attention_offline(%x, %x, %x) {heads=3}").looks_ahead.empty());
}

TEST_CASE("axes: sizes joined by x, and everything else is refused") {
    CHECK(*axes_of("8x11") == std::vector<uint32_t>{8, 11});
    CHECK(*axes_of("3x4x5") == std::vector<uint32_t>{3, 4, 5});
    CHECK(axes_of("")->empty());
    CHECK(stride_of({3, 4, 5}, 0) == 20);
    for (const char *bad : {"x", "8x", "x8", "8x0", "-1", "8x11x2x2", "8 x 11", "4097x4097", "99999999999"}) {
        CAPTURE(bad);
        CHECK_FALSE(axes_of(bad));
    }
}

TEST_CASE("ops of LightNet: what does not fit is refused with what was expected") {
    const auto refused = [](const std::string &body, const std::string &words) {
        const auto graph =
            parse("%x = input \"x\" features : f32[12] @1/1\n%z = input \"z\" features : f32[6] @1/1\n" +
                      body + "\noutput \"y\" %y",
                  {});
        REQUIRE_FALSE(graph);
        CHECK_MESSAGE(graph.status().message().find(words) != std::string::npos, graph.status().message());
    };
    refused("%y = decaying_attention(%x, %x, %x) {heads=5}", "12 features do not divide into 5 heads");
    refused("%y = decaying_attention(%z, %x, %x) {heads=3}", "queries of width 12 expected");
    refused("%y = decaying_attention(%x, %z, %x, %z) {heads=3}",
            "queries and rotated weights of width 12 expected");
    refused("%y = cumulative_softmax(%x, %z) {start=0}", "a mask of width 1 expected, found 6");
    refused("%y = cumulative_softmax(%x) {start=2}", "start expected 0 to 1");
    refused("%t = const \"t\" : [4]\n%y = lrpe(%x, %t) {heads=3}", "theta expected shape [12]");
    refused("%t = const \"t\" : [12]\n%y = lrpe(%x, %t) {heads=3, conditions=2}",
            "conditions expected only before an image");
    refused("%l = const \"l\" : [12,2]\n%y = exponential_scan(%x, %l, %l) {shape=\"3x4\", axis=2}",
            "axis expected 0 to 1");
}

} // namespace lightnet_test
