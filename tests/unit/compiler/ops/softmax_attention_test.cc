// softmax_attention and rotary against closed forms: weighted means over the rows in sight, and
// products of rotated rows that depend on their distance only.
#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <fmt/format.h>

namespace softmax_attention_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

constexpr size_t rows = 19, dk = 2, dv = 1, width = dk + dv + 1;

// One head: rows [key | value | there] and queries from an input of both side by side.
std::string text(const std::string &attributes, const std::string &more = "") {
    return fmt::format(
        "%x = input \"x\" features : f32[{0}] @1/1\n%a = const \"a\" : [{1},{0}]\n"
        "%b = const \"b\" : [{2},{0}]\n%kv = linear(%x, %a) {{bias=0}}\n%q = linear(%x, %b) {{bias=0}}\n"
        "{3}%y = softmax_attention(%kv, %q{4}) {{heads=1, {5}}}\noutput \"y\" %y",
        width + dk, width, dk, more.empty() ? "" : more.substr(0, more.find('|')),
        more.empty() ? "" : more.substr(more.find('|') + 1), attributes);
}

Weights units() {
    std::vector<double> a(width * (width + dk)), b(dk * (width + dk));
    for (size_t i = 0; i < width; ++i) a[i * (width + dk) + i] = 1;
    for (size_t i = 0; i < dk; ++i) b[i * (width + dk) + width + i] = 1;
    return {{"a", a}, {"b", b}};
}

std::vector<double> input(uint32_t seed) {
    std::vector<double> x = random_numbers(rows * (width + dk), seed);
    for (size_t t = 0; t < rows; ++t) x[t * (width + dk) + width - 1] = t % 5 != 3; // not there
    return x;
}

double expected(const std::vector<double> &x, size_t t, size_t window, bool causal, const auto &extra) {
    double sum = 0, total = 0;
    for (size_t j = 0; j < (causal ? t + 1 : rows); ++j) {
        const double *row = &x[j * (width + dk)], *q = &x[t * (width + dk) + width];
        if (row[width - 1] == 0 || (causal && t - j >= window)) continue;
        const double weight =
            std::exp((q[0] * row[0] + q[1] * row[1] + extra(q, row, t - j)) / std::sqrt(2.0));
        total += weight;
        sum += weight * row[dk];
    }
    return total > 0 ? sum / total : 0;
}

StreamRule rule_of(const std::string &attributes) {
    const Graph graph = graph_of(text(attributes), units());
    const Node &node = graph.nodes.back();
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph.type(id));
    return node.op->stream(node, types);
}

} // namespace

TEST_CASE("softmax_attention: a mean of the values in sight, weighted by their keys") {
    const std::vector<double> x = input(1);
    const auto nothing = [](const double *, const double *, size_t) { return 0.0; };
    for (const auto &[window, causal] : {std::pair(0, 0), {0, 1}, {1, 1}, {6, 1}, {100, 1}}) {
        const Array y = run(graph_of(text(fmt::format("window={}, causal={}", window, causal)), units()),
                            rows_of(width + dk, x));
        for (size_t t = 0; t < rows; ++t)
            CHECK(std::fabs(y.row(t)[0] - expected(x, t, window ? size_t(window) : rows, causal, nothing)) <
                  1e-13);
    }
}

TEST_CASE("softmax_attention: lags have a say of their own") {
    const std::vector<double> x = input(2), r = random_numbers(8, 3), u = {0.3, -0.2}, v = {0.1, 0.5};
    Weights weights = units();
    weights["r"] = r, weights["u"] = u, weights["v"] = v;
    const Array y =
        run(graph_of(text("window=4, causal=1", "%r = const \"r\" : [4,2]\n%u = const \"u\" : [2]\n"
                                                "%v = const \"v\" : [2]\n|, %r, %u, %v"),
                     weights),
            rows_of(width + dk, x));
    for (size_t t = 0; t < rows; ++t) {
        const double found = y.row(t)[0],
                     wanted = expected(x, t, 4, true, [&](const double *q, const double *k, size_t lag) {
                         double sum = 0;
                         for (size_t i = 0; i < 2; ++i) sum += u[i] * k[i] + (q[i] + v[i]) * r[lag * 2 + i];
                         return sum;
                     });
        CHECK(std::fabs(found - wanted) < 1e-13);
    }
}

TEST_CASE("softmax_attention: heads share keys and values as if each had its own") {
    // 4 heads of queries of 2; 2 heads of keys of 2 and values of 3.
    const auto graph = [](const std::string &own, const std::string &kv, const std::string &attributes) {
        return fmt::format("%x = input \"x\" features : f32[19] @1/1\n%i = const \"i\" : [11]\n"
                           "%j = const \"j\" : [21]\n%k = const \"k\" : [8]\n"
                           "%kv = take(%x, %i) {{bands=1}}\n{}%q = take(%x, %k) {{bands=1}}\n"
                           "%y = softmax_attention({}, %q) {{heads=4, {}}}\noutput \"y\" %y",
                           own, kv, attributes);
    };
    Weights weights;
    for (int i = 0; i < 11; ++i) weights["i"].push_back(i);
    for (int i = 0; i < 8; ++i) weights["k"].push_back(11 + i);
    for (const int i : {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8, 9, 7, 8, 9, 10})
        weights["j"].push_back(i);
    std::vector<double> x = random_numbers(rows * 19, 4);
    for (size_t t = 0; t < rows; ++t) x[t * 19 + 10] = t % 5 != 3;
    for (const char *attributes : {"window=0, causal=0", "window=0, causal=1", "window=6, causal=1"}) {
        const Array shared =
                        run(graph_of(graph("", "%kv", attributes + std::string(", key_heads=2")), weights),
                            rows_of(19, x)),
                    own =
                        run(graph_of(graph("%own = take(%kv, %j) {bands=1}\n", "%own", attributes), weights),
                            rows_of(19, x));
        REQUIRE(shared.width == 12);
        for (size_t t = 0; t < rows; ++t)
            for (size_t i = 0; i < 12; ++i) CHECK(shared.row(t)[i] == own.row(t)[i]);
    }
    const auto refused = [&](const std::string &attributes, const std::string &why) {
        const auto made = parse(graph("", "%kv", "window=0, causal=0, " + attributes));
        REQUIRE_FALSE(made);
        CHECK_MESSAGE(made.status().message().find(why) != std::string::npos, made.status().message());
    };
    refused("key_heads=3", "key_heads expected a divisor of 4 heads, found 3");
    refused("key_heads=0", "key_heads");
    refused("key_heads=4", "rows [keys | values | 1] and queries that divide into 4 heads");
    refused("key_heads=1, bias=0", "bias");
}

TEST_CASE("softmax_attention: a window streams, whatever sees more does not") {
    CHECK(rule_of("window=6, causal=1").history == 5);
    CHECK(rule_of("window=6, causal=1").looks_ahead.empty());
    CHECK(rule_of("window=0, causal=1").looks_ahead.find("give it a window") != std::string::npos);
    CHECK(rule_of("window=0, causal=0").looks_ahead.find("later rows") != std::string::npos);
}

TEST_CASE("rotary: products of rotated rows depend on their distance, what is behind them passes") {
    const std::vector<double> theta = {0.7, 0.01}, x = {0.3, -1, 0.5, 2, 9};
    for (const int interleaved : {0, 1}) {
        std::vector<double> all;
        for (size_t t = 0; t < rows; ++t) all.insert(all.end(), x.begin(), x.end());
        const Array y =
            run(graph_of(fmt::format("%x = input \"x\" features : f32[5] @1/1\n%t = const \"t\" : [2]\n"
                                     "%y = rotary(%x, %t) {{heads=1, interleaved={}}}\noutput \"y\" %y",
                                     interleaved),
                         {{"t", theta}}),
                rows_of(5, all));
        for (size_t t = 0; t < rows; ++t) {
            double product = 0, wanted = 0;
            for (size_t i = 0; i < 4; ++i) product += y.row(t)[i] * y.row(3)[i];
            for (size_t p = 0; p < 2; ++p) {
                const double a = x[interleaved ? 2 * p : p], b = x[interleaved ? 2 * p + 1 : p + 2];
                wanted += (a * a + b * b) * std::cos((double(t) - 3) * theta[p]);
            }
            CHECK(std::fabs(product - wanted) < 1e-13);
            CHECK(y.row(t)[4] == 9);
        }
        CHECK(std::fabs(y.row(1)[interleaved ? 1 : 2] - (interleaved ? -1 : 0.5) * std::cos(0.7) -
                        0.3 * std::sin(0.7)) < 1e-13);
    }
}

} // namespace softmax_attention_test
