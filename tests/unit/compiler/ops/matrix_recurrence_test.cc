// matrix_recurrence and gated_scan against closed forms that do not recur.
#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <fmt/format.h>

namespace matrix_recurrence_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

constexpr size_t rows = 19;

// Rows of each input, by name, and the rows of %y.
Array compute(const std::vector<std::pair<std::string, size_t>> &inputs,
              const std::map<std::string, std::vector<double>> &x, const std::string &body) {
    std::string text;
    std::map<std::string, Array> values;
    for (const auto &[name, width] : inputs) {
        text += fmt::format("%{0} = input \"{0}\" features : f32[{1}] @1/1\n", name, width);
        values[name] = rows_of(width, x.at(name));
    }
    const auto found = evaluate(graph_of(text + body + "\noutput \"y\" %y"), values);
    REQUIRE_MESSAGE(found, found.status().message());
    return found->at(0);
}

std::vector<double> decays(size_t count, uint32_t seed) {
    std::vector<double> w = random_numbers(count, seed);
    for (double &value : w) value = 0.6 + 0.4 * value;
    return w;
}

} // namespace

TEST_CASE("matrix_recurrence: decays are products over the rows between, for heads that share keys") {
    const size_t heads = 4, key_heads = 2, dk = 3, dv = 2;
    std::map<std::string, std::vector<double>> x = {{"q", random_numbers(rows * key_heads * dk, 1)},
                                                    {"k", random_numbers(rows * key_heads * dk, 2)},
                                                    {"v", random_numbers(rows * heads * dv, 3)}};
    for (const std::string decay : {"head", "key"}) {
        const size_t each = decay == "key" ? dk : 1;
        x["w"] = decays(rows * heads * each, 4);
        const Array y = compute(
            {{"q", key_heads * dk}, {"k", key_heads * dk}, {"v", heads * dv}, {"w", heads * each}}, x,
            fmt::format(
                "%y = matrix_recurrence(%q, %k, %v, %w) {{heads=4, key_heads=2, decay=\"{}\", rank_one=0}}",
                decay));
        std::vector<double> expected;
        for (size_t t = 0; t < rows; ++t)
            for (size_t lane = 0; lane < heads * dv; ++lane) {
                const size_t h = lane / dv;
                double sum = 0;
                for (size_t from = 0; from <= t; ++from)
                    for (size_t i = 0; i < dk; ++i) {
                        double left = 1;
                        for (size_t s = from + 1; s <= t; ++s)
                            left *= x["w"][(s * heads + h) * each + i % each];
                        const size_t key = h / 2 * dk + i;
                        sum += x["q"][t * key_heads * dk + key] * left * x["k"][from * key_heads * dk + key] *
                               x["v"][from * heads * dv + lane];
                    }
                expected.push_back(sum);
            }
        check_close(y.data, expected, 1e-13);
    }
}

TEST_CASE("matrix_recurrence: a delta rule replaces what a key holds") {
    // Keys are unit vectors. Each write at rate 1 replaces the value of its key, and a query reads the last
    // one.
    const size_t dk = 3, dv = 2;
    std::map<std::string, std::vector<double>> x = {{"v", random_numbers(rows * dv, 5)}};
    for (const char *name : {"q", "k", "a"}) x[name].assign(rows * dk, 0);
    std::vector<double> held(dk * dv, 0), expected;
    for (size_t t = 0; t < rows; ++t) {
        const size_t key = t * t % dk, asked = (t + 1) % dk;
        x["k"][t * dk + key] = 1, x["a"][t * dk + key] = -1, x["q"][t * dk + asked] = 1;
        for (size_t c = 0; c < dv; ++c) held[key * dv + c] = x["v"][t * dv + c];
        for (size_t c = 0; c < dv; ++c) expected.push_back(held[asked * dv + c]);
    }
    const Array y = compute(
        {{"q", dk}, {"k", dk}, {"v", dv}, {"a", dk}}, x,
        "%y = matrix_recurrence(%q, %k, %v, %a, %k) {heads=1, key_heads=1, decay=\"none\", rank_one=1}");
    check_close(y.data, expected, 1e-14);
}

TEST_CASE("gated_scan: sums weighted by the product of the factors since") {
    const size_t width = 3;
    const std::map<std::string, std::vector<double>> x = {{"a", random_numbers(rows * width, 6)},
                                                          {"b", random_numbers(rows * width, 7)}};
    const Array y = compute({{"a", width}, {"b", width}}, x, "%y = gated_scan(%a, %b)");
    std::vector<double> expected;
    for (size_t t = 0; t < rows; ++t)
        for (size_t c = 0; c < width; ++c) {
            double sum = 0;
            for (size_t from = 0; from <= t; ++from) {
                double factor = x.at("b")[from * width + c];
                for (size_t s = from + 1; s <= t; ++s) factor *= x.at("a")[s * width + c];
                sum += factor;
            }
            expected.push_back(sum);
        }
    check_close(y.data, expected, 1e-14);
}

TEST_CASE("gated_scan: the largest of what each row added and of 0, with the steps since") {
    const size_t width = 3;
    const std::map<std::string, std::vector<double>> x = {{"a", random_numbers(rows * width, 6)},
                                                          {"b", random_numbers(rows * width, 7)}};
    const Array y = compute({{"a", width}, {"b", width}}, x, "%y = gated_scan(%a, %b) {maximum=1}");
    std::vector<double> expected;
    for (size_t t = 0; t < rows; ++t)
        for (size_t c = 0; c < width; ++c) {
            double since = 0, largest = x.at("b")[t * width + c];
            for (size_t back = 0; back <= t; ++back) {
                since += x.at("a")[(t - back) * width + c];
                largest = std::max(largest, since + (back < t ? x.at("b")[(t - back - 1) * width + c] : 0));
            }
            expected.push_back(largest);
        }
    check_close(y.data, expected, 1e-14);
}

TEST_CASE("matrix_recurrence and gated_scan: what does not fit is refused with what was expected") {
    const auto refused = [](const std::string &body, const std::string &words) {
        const auto graph =
            parse("%x = input \"x\" features : f32[12] @1/1\n%z = input \"z\" features : f32[6] @1/1\n" +
                      body + "\noutput \"y\" %y",
                  {});
        REQUIRE_FALSE(graph);
        CHECK_MESSAGE(graph.status().message().find(words) != std::string::npos, graph.status().message());
    };
    const auto with = [](const std::string &inputs, int heads, int key_heads, const char *decay,
                         int rank_one) {
        return fmt::format("%y = matrix_recurrence({}) {{heads={}, key_heads={}, decay=\"{}\", rank_one={}}}",
                           inputs, heads, key_heads, decay, rank_one);
    };
    refused(with("%x, %x, %x", 2, 2, "none", 0), "use that op");
    refused(with("%x, %x, %x, %x", 2, 2, "row", 0), "decay expected none, head or key, found 'row'");
    refused(with("%x, %x, %x, %x", 4, 3, "key", 0), "key_heads expected a divisor of 4 heads, found 3");
    refused(with("%x, %x, %x, %x", 5, 1, "key", 0), "values of 12 features do not divide into 5 heads");
    refused(with("%x, %z, %x, %z", 2, 2, "key", 0), "queries of width 6 expected, found 12");
    refused(with("%x, %x, %x, %z", 2, 2, "key", 0), "decays of width 12 expected, found 6");
    refused(with("%x, %x, %x, %x, %z, %x", 2, 2, "key", 1), "a of width 12 expected, found 6");
    refused(with("%x, %x, %x, %x, %x, %z", 2, 2, "key", 1), "b of width 12 expected, found 6");
    refused("%y = gated_scan(%x, %z)", "");
    refused("%y = gated_scan(%x, %x) {maximum=2}", "maximum");
    refused("%c = const \"c\" : [12]\n%y = gated_scan(%c, %x)", "");
}

} // namespace matrix_recurrence_test
