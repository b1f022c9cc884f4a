// Recurrences, selections and windows of rows, against closed forms and numbers worked out by hand.
#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <complex>
#include <fmt/format.h>

namespace recurrences_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

// `body` makes %y from rows %x of `dims`; its constants are drawn from `weights`.
Graph graph(const std::string &dims, const std::string &body, const Weights &weights = {}) {
    return graph_of("%x = input \"x\" features : f32" + dims + " @1/1\n" + body + "\noutput \"y\" %y",
                    weights);
}

Array compute(const std::string &dims, const std::string &body, const std::vector<double> &x,
              const Weights &weights = {}) {
    const Graph made = graph(dims, body, weights);
    return run(made, rows_of(made.type(0).width(), x));
}

StreamRule rule_of(const Graph &graph) {
    const Node &node = graph.nodes.back();
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph.type(id));
    return node.op->stream(node, types);
}

std::string refusal(const std::string &dims, const std::string &body) {
    const auto graph =
        parse("%x = input \"x\" features : f32" + dims + " @1/1\n" + body + "\noutput \"y\" %y", {});
    return graph ? "" : graph.status().message();
}

constexpr size_t rows = 40;

const std::string space =
    "%p = const \"p\" : [2,3,{}]\n%c = const \"c\" : [{},2,3,2]\n%d = const \"d\" : [{},2]\n";

} // namespace

TEST_CASE("state_space: powers of the poles, for one and for several results of a channel") {
    for (const size_t copies : {1, 2})
        for (const size_t last : {2, 4}) {
            Weights w{{"p", random_numbers(2 * 3 * last, 1)},
                      {"c", random_numbers(copies * 12, 2)},
                      {"d", random_numbers(copies * 2, 3)}};
            for (size_t i = 0; i < w["p"].size(); ++i)
                if (i % last != 1)
                    w["p"][i] = i % last ? 1e-3 * w["p"][i] : -0.1 - 0.05 * static_cast<double>(i);
            const auto x = random_numbers(rows * 2, 4);
            const Array y = compute(
                "[2]",
                fmt::format(fmt::runtime(space), last, copies, copies) +
                    fmt::format("%y = state_space(%x, %p, %c, %d) {{channels={}, complex=0, state=32}}",
                                copies),
                x, w);
            for (size_t t = 0; t < rows; ++t)
                for (size_t o = 0; o < 2 * copies; ++o) {
                    const size_t h = o % 2;
                    double sum = w["d"][o] * x[t * 2 + h];
                    for (size_t j = 0; j <= t; ++j)
                        for (size_t n = 0; n < 3; ++n) {
                            const double *p = &w["p"][(h * 3 + n) * last], *c = &w["c"][(o * 3 + n) * 2];
                            const std::complex<double> log(p[0] + (last == 4 ? p[2] : 0),
                                                           p[1] + (last == 4 ? p[3] : 0));
                            sum +=
                                (std::complex(c[0], c[1]) * std::exp(log * static_cast<double>(j))).real() *
                                x[(t - j) * 2 + h];
                        }
                    CHECK(std::fabs(y.row(t)[o] - sum) < 1e-12);
                }
        }
}

TEST_CASE("state_space: the imaginary part of the input") {
    const std::string body = "%i = linear(%x, %w) {bias=0}\n%p = const \"p\" : [1,1,2]\n%c = const \"c\" : "
                             "[2,1,1,2]\n%d = const \"d\" : [2,1]\n"
                             "%y = state_space(%x, %i, %p, %c, %d) {channels=2, complex=1, state=64}";
    // x + 2ix, a pole of a quarter turn, results: real and imaginary part of the state
    const Array y = compute("[1]", "%w = const \"w\" : [1,1]\n" + body, {1, 0, 0, 5},
                            {{"w", {2}}, {"p", {0, std::acos(0.0)}}, {"c", {1, 0, 0, -1}}, {"d", {0, 10}}});
    check_close(y.data, {1, 12, -2, 1, -1, -2, 5 + 2, 10 - 1 + 50});
}

TEST_CASE("lstm and gru: a geometric series where nothing returns from the rows") {
    const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
    std::vector<double> x;
    for (size_t t = 0; t < rows; ++t) x.insert(x.end(), {0.3, 1.2, -0.7, 0.4});
    const Array y = compute("[4]", "%w = const \"w\" : [4,1]\n%y = lstm(%x, %w)", x, {{"w", {0, 0, 0, 0}}});
    const double i = logistic(0.3), f = logistic(1.2), g = std::tanh(-0.7), o = logistic(0.4);
    for (size_t t = 0; t < rows; ++t)
        CHECK(y.data[t] ==
              doctest::Approx(o * std::tanh(i * g * (1 - std::pow(f, t + 1)) / (1 - f))).epsilon(1e-13));
    x.resize(3 * rows);
    for (size_t t = 0; t < rows; ++t) x[3 * t] = 0.3, x[3 * t + 1] = 1.2, x[3 * t + 2] = -0.7;
    const Array u = compute("[3]", "%w = const \"w\" : [3,1]\n%b = const \"b\" : [1]\n%y = gru(%x, %w, %b)",
                            x, {{"w", {0, 0, 0}}, {"b", {2}}});
    const double z = logistic(1.2), n = std::tanh(-0.7 + 2 * logistic(0.3));
    for (size_t t = 0; t < rows; ++t)
        CHECK(u.data[t] == doctest::Approx(n * (1 - std::pow(z, t + 1))).epsilon(1e-13));
}

TEST_CASE(
    "lstm and gru: states that begin with other numbers than zeros, and a reset in front of the matrix") {
    const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
    // One row, one unit, every number by hand.
    const double h = 0.6, c = -0.8;
    const Array y =
        compute("[4]", "%w = const \"w\" : [4,1]\n%s = const \"s\" : [2,1]\n%y = lstm(%x, %w, %s)",
                {0.3, 1.2, -0.7, 0.4}, {{"w", {0.1, 0.2, 0.3, 0.4}}, {"s", {h, c}}});
    const double cell = logistic(1.2 + 0.2 * h) * c + logistic(0.3 + 0.1 * h) * std::tanh(-0.7 + 0.3 * h);
    CHECK(y.data[0] == doctest::Approx(logistic(0.4 + 0.4 * h) * std::tanh(cell)).epsilon(1e-14));
    // Two units whose matrix of n exchanges them: r of one multiplies what the other reads.
    const std::string two =
        "%w = const \"w\" : [6,2]\n%b = const \"b\" : [2]\n%s = const \"s\" : [2]\n%y = gru(%x, %w, %b, %s)";
    const Weights weights{{"w", {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0}}, {"b", {0.1, 0.2}}, {"s", {0.5, -0.9}}};
    const std::vector<double> x{1, -2, 0.3, 0.6, 0.2, -0.4};
    const double r0 = logistic(1), r1 = logistic(-2), z0 = logistic(0.3), z1 = logistic(0.6);
    const auto expected = [&](double n0, double n1) {
        return std::vector<double>{(1 - z0) * std::tanh(0.2 + n0) + z0 * 0.5,
                                   (1 - z1) * std::tanh(-0.4 + n1) + z1 * -0.9};
    };
    check_close(compute("[6]", two, x, weights).data, expected(r0 * (-0.9 + 0.1), r1 * (0.5 + 0.2)));
    check_close(compute("[6]", two + " {reset_after=0}", x, weights).data,
                expected(r1 * -0.9 + 0.1, r0 * 0.5 + 0.2));
}

TEST_CASE("lstm and gru: states of other shapes are refused") {
    CHECK(refusal("[4]", "%w = const \"w\" : [4,1]\n%s = const \"s\" : [1]\n%y = lstm(%x, %w, %s)")
              .find("initial") != std::string::npos);
    CHECK(refusal("[3]", "%w = const \"w\" : [3,1]\n%b = const \"b\" : [1]\n%s = const \"s\" : [2]\n%y = "
                         "gru(%x, %w, %b, %s)")
              .find("initial") != std::string::npos);
    CHECK(refusal("[3]",
                  "%w = const \"w\" : [3,1]\n%b = const \"b\" : [1]\n%y = gru(%x, %w, %b) {reset_after=2}")
              .find("reset_after") != std::string::npos);
}

TEST_CASE("lstm and gru: each band over time, and all bands of a row from zeros") {
    // Two bands of two units over three rows, and the same numbers as plain sequences.
    for (const std::string op : {"lstm", "gru"}) {
        const size_t gates = op == "lstm" ? 4 : 3, wide = 2 * gates, n = 3;
        const std::string constants =
                              fmt::format("%w = const \"w\" : [{},2]\n%b = const \"b\" : [2]\n", wide),
                          call = op == "lstm" ? "%y = lstm(%x, %w)" : "%y = gru(%x, %w, %b)";
        const Weights weights{{"w", random_numbers(wide * 2, 5)}, {"b", random_numbers(2, 6)}};
        const std::string one = fmt::format("[{}]", wide), image = fmt::format("[2,{}]", wide);
        const auto x = random_numbers(n * 2 * wide, 7);
        const auto picked = [&](size_t from, size_t step, size_t count) {
            std::vector<double> rows;
            for (size_t r = 0; r < count; ++r)
                rows.insert(rows.end(), x.begin() + static_cast<ptrdiff_t>((from + r * step) * wide),
                            x.begin() + static_cast<ptrdiff_t>((from + r * step + 1) * wide));
            return rows;
        };
        const Array bands = compute(image, constants + call, x, weights);
        const Array inside = compute(image, constants + call + " {over_bands=1}", x, weights);
        for (size_t b = 0; b < 2; ++b) {
            const Array y = compute(one, constants + call, picked(b, 2, n), weights);
            for (size_t t = 0; t < n; ++t)
                for (size_t i = 0; i < 2; ++i) CHECK(bands.row(t)[b * 2 + i] == y.row(t)[i]);
        }
        for (size_t t = 0; t < n; ++t) {
            const Array y = compute(one, constants + call, picked(2 * t, 1, 2), weights);
            for (size_t i = 0; i < 4; ++i) CHECK(inside.row(t)[i] == y.data[i]);
        }
        CHECK(rule_of(graph(image, constants + call, weights)).carries[0].dims ==
              std::vector<uint32_t>{2, 16});
        CHECK(rule_of(graph(image, constants + call + " {over_bands=1}", weights)).carries.empty());
    }
}

TEST_CASE("lstm and gru: bands that have no form are refused") {
    const std::string w = "%w = const \"w\" : [8,2]\n";
    CHECK(refusal("[2,8]", w + "%s = const \"s\" : [2,2]\n%y = lstm(%x, %w, %s)").find("initial") !=
          std::string::npos);
    CHECK(refusal("[2,8]", w + "%s = const \"s\" : [2,2,2]\n%y = lstm(%x, %w, %s) {over_bands=1}")
              .find("begins with zeros") != std::string::npos);
    CHECK(refusal("[2,4]", "%w = const \"w\" : [4,1]\n%y = lstm(%x, %w)").find("at least 2 units") !=
          std::string::npos);
    CHECK(refusal("[2,8]", w + "%y = lstm(%x, %w) {over_bands=2}").find("over_bands") != std::string::npos);
}

TEST_CASE("take, concat and shift") {
    const Weights index{{"i", {3, -1, 0, 0}}};
    check_close(compute("[2,2]", "%i = const \"i\" : [4]\n%y = take(%x, %i) {bands=2}",
                        {1, 2, 3, 4, 5, 6, 7, 8}, index)
                    .data,
                {4, 0, 1, 1, 8, 0, 5, 5});
    CHECK(graph("[2,2]", "%i = const \"i\" : [4]\n%y = take(%x, %i) {bands=2}", index).type(2).dims ==
          std::vector<uint32_t>{2, 2});
    check_close(compute("[2]", "%s = square(%x)\n%y = concat(%x, %s, %x)", {1, 2, 3, 4}).data,
                {1, 2, 1, 4, 1, 2, 3, 4, 9, 16, 3, 4});
    check_close(compute("[1]", "%y = shift(%x) {rows=2}", {1, 2, 3, 4}).data, {0, 0, 1, 2});
    check_close(compute("[1]", "%y = shift(%x) {rows=9}", {1, 2}).data, {0, 0});
}

TEST_CASE("pool: windows over time and frequency, at the start, at both ends, late") {
    const std::string rest = ", frequency=1, stride_f=1, pad_f=0, ";
    const std::vector<double> x{-4, -1, -3, -2, -6, -5};
    const auto pool = [&](const std::string &mode, int time, int stride, int lag, int outside) {
        return compute("[1]",
                       fmt::format(
                           "%y = pool(%x) {{mode=\"{}\", time={}, stride_t={}{}lag={}, count_outside={}}}",
                           mode, time, stride, rest, lag, outside),
                       x)
            .data;
    };
    check_close(pool("max", 3, 2, 0, 0), {-1, -1, -2});
    check_close(pool("max", 2, 3, 1, 0), {-1, -2});
    check_close(pool("mean", 3, 2, 0, 1), {-5.0 / 3, -2, -13.0 / 3});
    check_close(pool("mean", 3, 2, 0, 0), {-2.5, -2, -13.0 / 3});
    const std::string image = "%y = pool(%x) {mode=\"mean\", time=1, stride_t=1, frequency=3, stride_f=2, "
                              "pad_f=1, lag=0, count_outside=";
    check_close(compute("[3,2]", image + "0}", {1, 10, 3, 30, 5, 50}).data, {2, 20, 4, 40});
    check_close(compute("[3,2]", image + "1}", {1, 10, 3, 30, 5, 50}).data,
                {4.0 / 3, 40.0 / 3, 8.0 / 3, 80.0 / 3});
}

TEST_CASE("group_norm: mean 0 and variance 1 over rows and channels of a group") {
    const Weights w{{"w", {1, 1, 2, 3}}, {"b", {0, 0, 0, 5}}};
    const std::string body =
        "%w = const \"w\" : [4]\n%b = const \"b\" : [4]\n%y = group_norm(%x, %w, %b) {groups=2, eps=0.0}";
    // groups {1, 3, 5, 7} and {0, 0, 2, 2}
    const double s = std::sqrt(5.0);
    check_close(compute("[4]", body, {1, 3, 0, 2, 5, 7, 2, 0}, w).data,
                {-3 / s, -1 / s, -2, 8, 1 / s, 3 / s, 2, 2});
    CHECK_FALSE(rule_of(graph("[4]", body)).looks_ahead.empty());
}

TEST_CASE("mean and running_mean: the largest values; cumulative_softmax: the logarithm of the sum") {
    check_close(compute("[2]", "%y = mean(%x) {mode=\"max\"}", {-3, -7, -4, -5}).data, {-3, -5});
    check_close(compute("[1]", "%y = running_mean(%x) {mode=\"max\"}", {-3, -4, -1, -2}).data,
                {-3, -3, -1, -1});
    check_close(
        compute("[1]", "%y = cumulative_softmax(%x) {start=0, log=1}", {-1000, -1000, std::log(3.0)}).data,
        {-1000, -1000 + std::log(2.0), std::log(3.0)});
}

TEST_CASE("stream: what recurrences remember") {
    const std::string poles =
        "%p = const \"p\" : [64,32,2]\n%c = const \"c\" : [1,64,32,2]\n%d = const \"d\" : [1,64]\n";
    const StreamRule single =
        rule_of(graph("[64]", poles + "%y = state_space(%x, %p, %c, %d) {channels=1, complex=0, state=32}"));
    REQUIRE(single.carries.size() == 2); // 16,384 bytes for 64 channels of 32 poles
    CHECK(single.carries[0].dims == std::vector<uint32_t>{32, 64});
    CHECK(single.carries[0].elem == Elem::f32);
    CHECK(rule_of(graph("[64]", poles + "%y = state_space(%x, %p, %c, %d) {channels=1, complex=0, state=64}"))
              .carries[1]
              .elem == Elem::f64);
    CHECK(rule_of(graph("[20]", "%w = const \"w\" : [20,5]\n%y = lstm(%x, %w)")).carries.size() == 2);
    CHECK(rule_of(graph("[2]", "%y = shift(%x) {rows=7}")).history == 7);
    const std::string rest = ", frequency=1, stride_f=1, pad_f=0, count_outside=0}";
    CHECK(rule_of(graph("[2]", "%y = pool(%x) {mode=\"max\", time=5, stride_t=2, lag=1" + rest)).history ==
          4);
    CHECK(rule_of(graph("[2]", "%y = pool(%x) {mode=\"max\", time=2, stride_t=2, lag=0" + rest))
              .carries.empty());
}

TEST_CASE("recurrences and selections: what does not fit is refused with what was expected") {
    const auto refused = [](const std::string &dims, const std::string &body, const std::string &words) {
        INFO(body);
        CHECK_MESSAGE(refusal(dims, body).find(words) != std::string::npos, refusal(dims, body));
    };
    const std::string consts =
        "%p = const \"p\" : [2,3,2]\n%c = const \"c\" : [1,2,3,2]\n%d = const \"d\" : [1,2]\n";
    refused("[3]", consts + "%y = state_space(%x, %p, %c, %d) {channels=1, complex=0, state=32}",
            "poles expected shape [3,any,2], found [2,3,2]");
    refused("[2]", consts + "%y = state_space(%x, %p, %c, %d) {channels=2, complex=0, state=32}",
            "c expected shape [2,2,3,2]");
    refused("[2]", consts + "%y = state_space(%x, %p, %c, %d) {channels=1, complex=0, state=16}",
            "state expected 32");
    refused("[2]", consts + "%y = state_space(%x, %p, %c, %d) {channels=1, complex=1, state=32}",
            "expects 5 inputs, found 4");
    refused("[6]", "%w = const \"w\" : [6,1]\n%y = lstm(%x, %w)", "expected rows of 4 gates");
    refused("[8]", "%w = const \"w\" : [8,3]\n%y = lstm(%x, %w)", "weight expected shape [8,2]");
    refused("[6]", "%w = const \"w\" : [6,2]\n%y = gru(%x, %w, %w)", "bias expected shape [2]");
    refused("[4]", "%i = const \"i\" : [3]\n%y = take(%x, %i) {bands=2}",
            "3 elements do not divide into 2 bands");
    refused("[4]", "%y = concat(%x)", "expects 2 to 16 inputs, found 1");
    refused("[4]", "%m = mean(%x) {mode=\"mean\"}\n%y = concat(%x, %m)", "of one clock");
    refused("[4]", "%y = shift(%x) {rows=-1}", "rows expected 0");
    refused("[4]",
            "%y = pool(%x) {mode=\"max\", time=3, stride_t=2, frequency=1, stride_f=1, pad_f=0, lag=2, "
            "count_outside=0}",
            "lag expected 0 to 1");
    refused("[4]",
            "%y = pool(%x) {mode=\"max\", time=3, stride_t=2, frequency=2, stride_f=1, pad_f=0, lag=0, "
            "count_outside=0}",
            "a window of 2 frequencies");
    refused("[4]", "%w = const \"w\" : [4]\n%y = group_norm(%x, %w, %w) {groups=3, eps=0.1}",
            "4 channels do not divide into 3 groups");
    refused("[4]", "%y = cumulative_softmax(%x) {start=1, log=1}", "log expected with start 0");
}

} // namespace recurrences_test
