// Ops on single rows, and pooling. Expected numbers are worked out by hand.
#include "tests/unit/compiler/ir/graphs.h"
#include <cmath>
#include <numbers>

namespace rows_test {

using namespace longwave::ir;

namespace {

// One op on rows of `dims`, constants "a", "b", … behind it.
Array apply(const std::string &op, const std::string &dims, std::vector<double> x,
            std::vector<std::vector<double>> constants = {}, const std::string &attributes = "") {
    std::string text = "%x = input \"x\" features : f32" + dims + " @1/1\n", inputs = "%x";
    Weights weights;
    for (size_t i = 0; i < constants.size(); ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        text += "%" + name + " = const \"" + name + "\" : [" + std::to_string(constants[i].size()) + "]\n";
        inputs += ", %" + name;
        weights[name] = constants[i];
    }
    const Graph graph =
        graph_of(text + "%y = " + op + "(" + inputs + ")" +
                     (attributes.empty() ? "" : " {" + attributes + "}") + "\noutput \"y\" %y",
                 weights);
    return run(graph, rows_of(graph.type(0).width(), std::move(x)));
}

} // namespace

TEST_CASE("affine: a scale for every channel, or for every element of a row") {
    check_close(apply("affine", "[2]", {1, 2, 3, 4}, {{10, 100}, {1, 2}}).data, {11, 202, 31, 402});
    check_close(apply("affine", "[2,2]", {1, 2, 3, 4}, {{10, 100}, {1, 2}}).data, {11, 202, 31, 402});
    check_close(apply("affine", "[2,2]", {1, 2, 3, 4}, {{1, 10, 100, 1000}, {0, 0, 0, 1}}).data,
                {1, 20, 300, 4001});
    check_close(apply("affine", "[2,2]", {1, 2, 3, 4}, {{10, 100}, {1, 2, 3, 4}}).data, {11, 202, 33, 404});
}

TEST_CASE("activations: known points") {
    check_close(apply("relu", "[3]", {-2, 0, 3}).data, {0, 0, 3});
    check_close(apply("sigmoid", "[3]", {0, std::log(3.0), -std::log(3.0)}).data, {0.5, 0.75, 0.25});
    check_close(apply("silu", "[2]", {0, std::log(3.0)}).data, {0, 0.75 * std::log(3.0)});
    check_close(apply("tanh", "[3]", {0, std::log(3.0), -std::log(3.0)}).data, {0, 0.8, -0.8});
    // Φ(1) = 0.841344746068542948585…
    check_close(apply("gelu", "[3]", {0, 1, -1}).data, {0, 0.8413447460685429, -0.1586552539314571}, 1e-15);
    check_close(apply("softplus", "[2]", {0, std::log(3.0)}).data, {std::log(2.0), std::log(4.0)});
    check_close(apply("gelu_tanh", "[3]", {0, 1, -1}).data, {0, 0.8411919906082768, -0.15880800939172324},
                1e-15);
    check_close(apply("hardswish", "[5]", {-4, -1, 0, 1.5, 4}).data, {0, -1.0 / 3, 0, 1.125, 4});
    check_close(apply("leaky_relu", "[2]", {-2, 3}, {}, "slope=0.25").data, {-0.5, 3});
    check_close(apply("elu", "[2]", {-std::log(2.0), 3}, {}, "alpha=3.0").data, {-1.5, 3});
    check_close(apply("clamp", "[3]", {-2, 0.5, 3}, {}, "low=-1.0,high=2.0").data, {-1, 0.5, 2});
    check_close(apply("abs", "[2]", {-2, 3}).data, {2, 3});
    check_close(apply("sin", "[2]", {0, std::numbers::pi / 6}).data, {0, 0.5}, 1e-15);
    check_close(apply("cos", "[2]", {0, std::numbers::pi / 3}).data, {1, 0.5}, 1e-15);
    check_close(apply("erf", "[2]", {0, -1}).data, {0, -0.8427007929497149}, 1e-15);
    check_close(apply("floor", "[3]", {-1.5, 0.5, 2}).data, {-2, 0, 2});
    check_close(apply("round", "[6]", {-1.5, -0.5, 0.5, 1.5, 2.5, 2.6}).data, {-2, 0, 0, 2, 2, 3});
    check_close(apply("sign", "[3]", {-1.5, 0, 2}).data, {-1, 0, 1});
    check_close(apply("square", "[2]", {-2, 3}).data, {4, 9});
    check_close(apply("sqrt", "[2]", {4, 2.25}).data, {2, 1.5});
    check_close(apply("exp", "[2]", {0, std::log(3.0)}).data, {1, 3});
    check_close(apply("reciprocal", "[2]", {4, -0.5}).data, {0.25, -2});
    check_close(apply("log", "[2]", {0, std::exp(2.0) - 1}, {}, "offset=1.0").data, {0, 2});
}

TEST_CASE("activations: far arguments stay finite") {
    check_close(apply("sigmoid", "[2]", {-1000, 1000}).data, {0, 1});
    check_close(apply("tanh", "[2]", {-1000, 1000}).data, {-1, 1});
    check_close(apply("silu", "[2]", {-1000, 1000}).data, {0, 1000});
    check_close(apply("gelu", "[2]", {-1000, 1000}).data, {0, 1000});
    check_close(apply("softplus", "[2]", {-1000, 1000}).data, {0, 1000});
    check_close(apply("softmax", "[3]", {1000, 1000, -1000}).data, {0.5, 0.5, 0});
}

TEST_CASE("glu: the first half is the value, the second the gate") {
    check_close(apply("glu", "[4]", {8, 2, 0, -std::log(3.0)}).data, {4, 0.5});
}

TEST_CASE("softmax: proportions of exponentials") {
    check_close(apply("softmax", "[3]", {0, std::log(2.0), std::log(5.0)}).data, {0.125, 0.25, 0.625});
}

TEST_CASE("log_softmax: logarithms of the proportions, however small") {
    check_close(apply("log_softmax", "[3]", {0, std::log(2.0), std::log(5.0)}).data,
                {-std::log(8.0), -std::log(4.0), std::log(0.625)});
    check_close(apply("log_softmax", "[3]", {0, -1000, 0}).data,
                {-std::log(2.0), -1000 - std::log(2.0), -std::log(2.0)});
}

TEST_CASE("log_softmax: a tail's words share the probability of its class") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[5] @1/1
        %a = const "a" : [1,5]
        %b = const "b" : [1,5]
        %c = const "c" : [3,5]
        %words = linear(%x, %a) {bias=0}
        %classes = linear(%x, %b) {bias=0}
        %tail = linear(%x, %c) {bias=0}
        %y = log_softmax(%words, %classes, %tail)
        output "y" %y)",
                                 {{"a", {1, 0, 0, 0, 0}},
                                  {"b", {0, 1, 0, 0, 0}},
                                  {"c", {0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}}});
    // the head: 1/4 and 3/4; the tail: 1/10, 2/10, 7/10
    const Array y = run(graph, rows_of(5, {0, std::log(3.0), 0, std::log(2.0), std::log(7.0)}));
    check_close(y.data, {std::log(0.25), std::log(0.075), std::log(0.15), std::log(0.525)});
    double all = 0;
    for (double value : y.data) all += std::exp(value);
    CHECK(all == doctest::Approx(1).epsilon(1e-14));
}

TEST_CASE("log_softmax: a class for each tail, and rows of one rate") {
    const std::string head = "%x = input \"x\" features : f32[2] @1/1\n";
    for (const auto &[body, words] :
         {std::pair("%y = log_softmax(%x, %x)", "words, classes and 1 to 7 tails, found 2 inputs"),
          std::pair("%y = log_softmax(%x, %x, %x)", "a class for each of 1 tails, found 2")}) {
        const auto graph = parse(head + body + "\noutput \"y\" %y", {});
        REQUIRE_FALSE(graph);
        CHECK_MESSAGE(graph.status().message().find(words) != std::string::npos, graph.status().message());
    }
}

TEST_CASE(
    "active_clusters: all of them, for linear and log_softmax with a skip mask; no other op takes one") {
    const std::string head = "%x = input \"x\" features : f32[3] @1/1\n%w = const \"w\" : [2,3]\n"
                             "%c = const \"c\" : [1,3]\n%k = linear(%x, %c) {bias=0}\n"
                             "%m = scalar(%k) {high=9.0, initial=9.0, low=0.0, name=\"m\", smoothed=0}\n"
                             "%a = active_clusters(%x, %k, %m) {every=9}\n";
    const Weights weights = {{"w", {1, 0, 0, 0, 1, 0}}, {"c", {0, 0, 1}}};
    const Graph graph =
        graph_of(head + "%t = linear(%x, %w, %a) {bias=0, skip_mask=0}\n"
                        "%y = log_softmax(%x, %k, %t, %a) {skip_mask=0}\noutput \"y\" %y\noutput \"a\" %a",
                 weights);
    const Array y = run(graph, rows_of(3, {1, 2, 3}));
    double all = 0;
    for (double value : y.data) all += std::exp(value);
    CHECK(all == doctest::Approx(1).epsilon(1e-14));
    for (const char *wrong :
         {"%y = linear(%x, %w, %a) {bias=0, skip_mask=1}", "%y = linear(%x, %w) {bias=0, skip_mask=0}",
          "%y = linear(%x, %w, %a) {bias=0}", "%y = log_softmax(%x, %a) {skip_mask=0}"})
        CHECK_FALSE(parse(head + wrong + "\noutput \"y\" %y", weights));
}

TEST_CASE("embedding: a table of a part of the vocabulary has zeros for the other ids") {
    const Graph graph = graph_of(R"(
        %x = input "x" tokens vocabulary=6 : i32[1] @1/1
        %t = const "t" : [2,2]
        %y = embedding(%x, %t) {first=3}
        output "y" %y)",
                                 {{"t", {1, 2, 3, 4}}});
    check_close(run(graph, rows_of(1, {2, 3, 4, 5})).data, {0, 0, 1, 2, 3, 4, 0, 0});
}

TEST_CASE("add, mul: element by element, a value with itself too") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %y = add(%x, %x)
        %z = mul(%y, %x)
        output "z" %z)");
    check_close(run(graph, rows_of(2, {1, 2, 3, 4})).data, {2, 8, 18, 32});
}

TEST_CASE("maximum, minimum, where: element by element; where takes the first value above 0 only") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[3] @1/1
        %y = square(%x)
        %a = maximum(%x, %y)
        %b = minimum(%x, %y)
        %c = where(%x, %a, %b)
        output "a" %a
        output "b" %b
        output "c" %c)");
    check_close(run(graph, rows_of(3, {0.5, -2, 0})).data, {0.5, 4, 0});
    const Graph chosen = graph_of(
        "%x = input \"x\" features : f32[3] @1/1\n%y = exp(%x)\n%z = where(%x, %x, %y)\noutput \"z\" %z");
    check_close(run(chosen, rows_of(3, {2, 0, -std::log(2.0)})).data, {2, 1, 0.5});
}

TEST_CASE("row_product: two products of [1,2] and [2,2] in a row; sizes that do not fit are refused") {
    const std::string head =
        "%x = input \"x\" features : f32[4] @1/1\n%i = const \"i\" : [8]\n%y = take(%x, %i) {bands=1}\n";
    const Weights weights = {{"i", {0, 1, 2, 3, 3, 2, 1, 0}}};
    const Graph graph = graph_of(
        head + "%z = row_product(%x, %y) {batches=2, rows=1, inner=2, columns=2}\noutput \"z\" %z", weights);
    // [1,2]·[[1,2],[3,4]] and [3,4]·[[4,3],[2,1]]
    check_close(run(graph, rows_of(4, {1, 2, 3, 4})).data, {7, 10, 20, 13});
    const auto wrong = parse(
        head + "%z = row_product(%x, %y) {batches=2, rows=2, inner=2, columns=2}\noutput \"z\" %z", weights);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.status().message().find("expected rows of [8], found [4]") != std::string::npos);
}

TEST_CASE("batch_norm: stored statistics, eps under the root") {
    // (x − 1)/√(3.75 + 0.25) · 4 + 0.5 = 2x − 1.5
    check_close(apply("batch_norm", "[1]", {3, -1}, {{4}, {0.5}, {1}, {3.75}}, "eps=0.25").data, {4.5, -3.5});
    check_close(apply("batch_norm", "[2,1]", {1, 1}, {{1, 2}, {0, 0}, {0, 0}, {1, 1}}, "eps=0.0").data,
                {1, 2}); // the whole width
}

TEST_CASE("layer_norm: population variance over the row") {
    // mean 2, variance 2
    check_close(apply("layer_norm", "[4]", {0, 2, 2, 4}, {{1, 1, 1, 2}, {0, 0, 5, 0}}, "eps=2.0").data,
                {-1, 0, 5, 2});
}

TEST_CASE("transposed_layer_norm: two scalars, m inside, s outside") {
    // mean 2, std √2: √2/√2 · (x − 2 + 3)
    check_close(apply("transposed_layer_norm", "[4]", {0, 2, 2, 4}, {{3}, {std::sqrt(2.0)}}).data,
                {1, 3, 3, 5});
}

TEST_CASE("transposed_layer_norm: a row of equal values stays finite") {
    check_close(apply("transposed_layer_norm", "[2]", {7, 7}, {{0}, {1}}).data, {0, 0});
}

TEST_CASE("rms_norm: mean square with eps under the root") {
    // mean square 12.5 + 3.5 = 16
    check_close(apply("rms_norm", "[2]", {3, 4}, {{4, 8}}, "eps=3.5").data, {3, 8});
}

TEST_CASE("mean_window: the mean of what exists, then of the last frames") {
    check_close(apply("mean_window", "[1]", {3, 5, 10, 0}, {}, "frames=3").data, {3, 4, 6, 5});
    check_close(apply("mean_window", "[1]", {3, 5}, {}, "frames=1").data, {3, 5});
}

TEST_CASE("running_mean: mean and sum of everything so far") {
    check_close(apply("running_mean", "[1]", {3, 5, 10}, {}, "mode=\"mean\"").data, {3, 4, 6});
    check_close(apply("running_mean", "[1]", {3, 5, 10}, {}, "mode=\"sum\"").data, {3, 8, 18});
}

TEST_CASE("mean: pools a sequence into one row") {
    const std::vector<double> x{1, 10, 2, 20, 6, 60};
    check_close(apply("mean", "[2]", x, {}, "mode=\"mean\"").data, {3, 30});
    check_close(apply("mean", "[2]", x, {}, "mode=\"sum\"").data, {9, 90});
    check_close(apply("mean", "[2]", x, {}, "mode=\"first\"").data, {1, 10});
    check_close(apply("mean", "[2]", x, {}, "mode=\"last\"").data, {6, 60});
}

TEST_CASE("mean: the rows so far are what running_mean answers at each row") {
    const auto x = random_numbers(20, 5);
    const Array running = apply("running_mean", "[2]", x, {}, "mode=\"mean\"");
    for (size_t t = 0; t < 10; ++t) {
        const Array mean = apply("mean", "[2]", {x.begin(), x.begin() + static_cast<ptrdiff_t>(2 * (t + 1))},
                                 {}, "mode=\"mean\"");
        check_close({running.row(t), running.row(t) + 2}, mean.data);
    }
}

TEST_CASE("embedding: rows of the table") {
    const Graph graph = graph_of(R"(
        %x = input "ids" tokens vocabulary=3 : i32[1] @1/1
        %w = const "w" : [3,2]
        %y = embedding(%x, %w)
        output "y" %y)",
                                 {{"w", {1, 2, 3, 4, 5, 6}}});
    check_close(run(graph, rows_of(1, {2, 0, 2})).data, {5, 6, 1, 2, 5, 6});
}

TEST_CASE("image_patches: the pixels of each patch, line by line") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %y = image_patches(%x) {line=4, side=2}
        output "y" %y)");
    CHECK(graph.type(graph.outputs[0].value).dims == std::vector<uint32_t>{4, 1});
    const auto y =
        evaluate(graph, {{"x", rows_of(1, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})}});
    REQUIRE(y);
    check_close(y->at(0).data, {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15});
}

TEST_CASE("repeat: a value without a time axis in every row") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %u = input "u" features : f32[2] @1/1
        %a = mean(%u) {mode="sum"}
        %y = repeat(%x, %a)
        output "y" %y)");
    const auto y = evaluate(graph, {{"x", rows_of(1, {0, 0, 0})}, {"u", rows_of(2, {1, 2, 3, 4, 5, 6})}});
    REQUIRE(y);
    check_close(y->at(0).data, {9, 12, 9, 12, 9, 12});
}

TEST_CASE("scalar: its initial number in every element of rows of one shape") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %y = scalar(%x) {high=1.0, initial=0.25, low=0.0, name="mix", smoothed=1, unit="of 1"}
        output "y" %y)");
    const auto y = evaluate(graph, {{"x", rows_of(2, {1, 2, 3, 4})}});
    REQUIRE(y);
    check_close(y->at(0).data, {0.25, 0.25, 0.25, 0.25});
}

TEST_CASE("pair_features: u, v, their difference and their product") {
    const Graph graph = graph_of(R"(
        %u = input "u" features : f32[2] @1/1
        %v = input "v" features : f32[2] @1/1
        %a = mean(%u) {mode="sum"}
        %b = mean(%v) {mode="sum"}
        %y = pair_features(%a, %b)
        output "y" %y)");
    const auto y = evaluate(graph, {{"u", rows_of(2, {3, 4})}, {"v", rows_of(2, {5, 7})}});
    REQUIRE(y);
    check_close(y->at(0).data, {3, 4, 5, 7, -2, -3, 15, 28});
}

} // namespace rows_test
