// Weights of products rounded to what their format holds: graph text in, graph text out, and the
// numbers.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace store_weights_test {

using namespace longwave;
using namespace longwave::ir;
using compiler::StoredWeights;
using schedules::WeightFormat;

namespace {

// A product, a convolution over three rows, and one over a single row.
const char *const text = R"(graph "g"
%0 = input "x" features : f32[3] @1/1 causal
%1 = const "w" : [2,3]
%2 = const "b" : [2]
%3 = linear(%0, %1, %2) {bias=1} : f32[2] @1/1 causal   ; layer first
%4 = const "k" : [2,2,3,1]
%5 = conv2d(%3, %4) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[2] @1/1 causal   ; layer three
%6 = const "p" : [2,2,1,1]
%7 = conv2d(%5, %6) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[2] @1/1 causal   ; layer one
output "y" %7
)";

const Weights weights{{"w", {1 + 0x1p-8, -0.3, 127, 0, 0.5, -0.25}},
                      {"b", {0.1, 0.2}},
                      {"k", random_numbers(12, 1)},
                      {"p", {1, 2, 3, 127}}};

Graph stored(const Graph &graph, WeightFormat format, std::vector<StoredWeights> &layers,
             bool bytes = false) {
    auto made = compiler::store_weights(graph, format, bytes, layers);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    return *std::move(made);
}

std::vector<double> numbers(const Graph &graph, const std::string &key) {
    for (const Constant &constant : graph.constants)
        if (constant.key == key) return constant.data.to_vector();
    return {};
}

} // namespace

TEST_CASE("store_weights: products say how their weights are stored; biases and other convolutions stay") {
    std::vector<StoredWeights> layers;
    const Graph made = stored(graph_of(text, weights), WeightFormat::bf16, layers);
    CHECK(print(made) == R"(graph "g"
%0 = input "x" features : f32[3] @1/1 causal
%1 = const "b" : [2]
%2 = const "w.bf16" : [2,3]
%3 = linear(%0, %2, %1) {bias=1, weights="bf16"} : f32[2] @1/1 causal   ; layer first
%4 = const "k" : [2,2,3,1]
%5 = conv2d(%3, %4) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[2] @1/1 causal   ; layer three
%6 = const "p.bf16" : [2,2,1,1]
%7 = conv2d(%5, %6) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1, weights="bf16"} : f32[2] @1/1 causal   ; layer one
output "y" %7
)");
    // 1 + 2^-8 is a tie; −0.3 lies between −0.30078125 and −0.298828125.
    CHECK(numbers(made, "w.bf16") == std::vector<double>{1, -0.30078125, 127, 0, 0.5, -0.25});
    REQUIRE(layers.size() == 2);
    CHECK(layers[0].layer == "first");
    CHECK(layers[0].largest == doctest::Approx(0x1p-8 / 127));
    CHECK(layers[0].error ==
          doctest::Approx(std::hypot(0x1p-8, 0.00078125) /
                          std::sqrt((1 + 0x1p-8) * (1 + 0x1p-8) + 0.09 + 127 * 127 + 0.25 + 0.0625)));
    CHECK(layers[1].layer == "one");
    CHECK(layers[1].error == 0);
}

TEST_CASE("store_weights: int8 has a scale for each output") {
    std::vector<StoredWeights> layers;
    const Graph made = stored(graph_of(text, weights), WeightFormat::int8, layers);
    // A scale of 1, and one of 0.5/127, of which −0.25 is 63.5 steps: the even 64.
    const double scale = 0.5f / 127;
    CHECK(numbers(made, "w.int8") == std::vector<double>{1, 0, 127, 0, 127 * scale, -64 * scale});
    CHECK(numbers(made, "p.int8") ==
          std::vector<double>{64 * double{2.f / 127}, 127 * double{2.f / 127}, 3, 127});
    CHECK(layers.at(0).format == WeightFormat::int8);
}

// The largest number of steps of which all sums fit an int32, from the definition: |w| in steps of
// 127 to the largest.
TEST_CASE("store_weights: int8 says how many steps activations may have, and of how many none overflows") {
    constexpr uint32_t in = 3000;
    const std::string wide = R"(graph "g"
%0 = input "x" features : f32[3000] @1/1 causal
%1 = const "w" : [2,3000]
%2 = linear(%0, %1) {bias=0} : f32[2] @1/1 causal   ; layer wide
output "y" %2
)";
    for (const double small : {0.0, 0.1, 0.5, 1.0}) {
        std::vector<double> w(2 * in, small);
        w[0] = w[in + 7] = -1;
        std::vector<StoredWeights> layers;
        const Graph made = stored(graph_of(wide, {{"w", w}}), WeightFormat::int8, layers);
        const double heaviest = 127 + (in - 1) * std::nearbyint(small * 127);
        CHECK(made.nodes[0].integer("activation_steps") ==
              std::min(32512.0, std::floor(2147483647.0 / heaviest)));
    }
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16}) {
        std::vector<StoredWeights> layers;
        CHECK(!stored(graph_of(text, weights), format, layers).nodes[0].has("activation_steps"));
    }
}

TEST_CASE("store_weights: int8 activations have 127 steps, or none where sums would overflow") {
    std::vector<StoredWeights> layers;
    for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int4})
        CHECK(stored(graph_of(text, weights), format, layers, true).nodes[0].integer("activation_steps") ==
              127);
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16})
        CHECK(!stored(graph_of(text, weights), format, layers, true).nodes[0].has("activation_steps"));
    CHECK(schedules::activation_steps_of_byte(2147483647 / 127) == 127);
    CHECK(schedules::activation_steps_of_byte(2147483647 / 127 + 1) == 0);
}

TEST_CASE("store_weights: an embedding that shares its table with no product gets rows of its own") {
    const std::string lookup = R"(graph "g"
%0 = input "ids" tokens vocabulary=2 : i32[1] @1/1 causal
%1 = const "w" : [2,3]
%2 = embedding(%0, %1) {} : f32[3] @1/1 causal   ; layer words
output "y" %2
)";
    for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int4}) {
        std::vector<StoredWeights> layers;
        const Graph made = stored(graph_of(lookup, {{"w", weights.at("w")}}), format, layers);
        CHECK(made.nodes[0].text("weights") == "int8");
        CHECK(!made.nodes[0].has("activation_steps"));
        REQUIRE(layers.size() == 1);
        CHECK(layers[0].layer == "words");
        CHECK(numbers(made, "w.int8")[2] == 127);
    }
    std::vector<StoredWeights> layers;
    const Weights table{{"w", weights.at("w")}};
    const Graph made = stored(graph_of(lookup, table), WeightFormat::bf16, layers);
    CHECK(made.nodes[0].text("weights") == "bf16");
    CHECK(numbers(made, "w.bf16")[1] == -0.30078125);
    CHECK(!stored(graph_of(lookup, table), WeightFormat::float32, layers).nodes[0].has("weights"));
}

TEST_CASE("store_weights: a layer whose sums would leave activations too few steps keeps them in float32") {
    const std::string wide = R"(graph "g"
%0 = input "x" features : f32[8300] @1/1 causal
%1 = const "w" : [2,8300]
%2 = linear(%0, %1) {bias=0} : f32[2] @1/1 causal   ; layer wide
output "y" %2
)";
    std::vector<StoredWeights> layers;
    const Graph full =
        stored(graph_of(wide, {{"w", std::vector<double>(2 * 8300, 1.0)}}), WeightFormat::int8, layers);
    CHECK(!full.nodes[0].has("activation_steps"));
    CHECK(full.nodes[0].text("weights") == "int8");
    const Graph usual =
        stored(graph_of(wide, {{"w", random_numbers(2 * 8300, 5)}}), WeightFormat::int8, layers);
    CHECK(usual.nodes[0].integer("activation_steps") >= 2048);
}

TEST_CASE("linear: steps of activations are for int8 weights, and as many as kernels take") {
    for (const char *wrong :
         {R"({activation_steps=3000, bias=1})", R"({activation_steps=3000, bias=1, weights="bf16"})",
          R"({activation_steps=100, bias=1, weights="int8"})",
          R"({activation_steps=40000, bias=1, weights="int8"})"}) {
        std::string changed = text;
        changed.replace(changed.find("{bias=1}"), 8, wrong);
        const auto graph = parse(changed, weights);
        REQUIRE(!graph);
        CHECK(graph.status().message().find("activation_steps") != std::string::npos);
    }
}

TEST_CASE("store_weights: float32 changes nothing, and what is rounded stays as it is") {
    std::vector<StoredWeights> layers;
    const Graph graph = graph_of(text, weights);
    CHECK(print(stored(graph, WeightFormat::float32, layers)) == print(graph));
    CHECK(layers.empty());
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8}) {
        const Graph once = stored(graph, format, layers);
        layers.clear();
        const Graph twice = stored(once, WeightFormat::float32, layers);
        const std::string key = "w." + std::string(name_of(format));
        CHECK(numbers(twice, key + "." + name_of(format)) == numbers(once, key));
        for (const StoredWeights &layer : layers) CHECK(layer.error == 0);
    }
}

TEST_CASE("store_weights: a product that names its format keeps it") {
    std::string chosen = text;
    chosen.replace(chosen.find("{bias=1}"), 8, R"({bias=1, weights="float32"})");
    std::vector<StoredWeights> layers;
    const Graph made = stored(graph_of(chosen, weights), WeightFormat::bf16, layers);
    REQUIRE(layers.size() == 1);
    CHECK(layers[0].layer == "one");
    CHECK(numbers(made, "w") == weights.at("w"));
    CHECK(!made.nodes[0].has("weights"));
}

TEST_CASE("store_weights: a weight that is not finite, or beyond bf16, is refused by layer") {
    for (const double bad : {0x1.ffp+127, std::numeric_limits<double>::infinity(), std::nan("")})
        for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8}) {
            Weights wrong = weights;
            wrong["w"][3] = bad;
            std::vector<StoredWeights> layers;
            const auto made = compiler::store_weights(graph_of(text, wrong), format, false, layers);
            REQUIRE(!made);
            CHECK(made.status().fault() == Fault::input);
            CHECK(made.status().message().starts_with("layer first: a weight of "));
            CHECK(made.status().message().find('\n') == std::string::npos);
        }
}

TEST_CASE("linear, conv2d: weights in a format that does not exist are refused") {
    for (const char *op : {"{bias=1}", "{bias=0, frequency=0, groups=1, stride_f=1, stride_t=1}"}) {
        std::string wrong = text;
        const std::string attributes = op;
        wrong.replace(wrong.find(attributes), attributes.size(),
                      attributes.substr(0, attributes.size() - 1) + R"(, weights="fp4"})");
        const auto graph = parse(wrong, weights);
        REQUIRE(!graph);
        CHECK(graph.status().message().find("expected float32, bf16, int8 or int4, found fp4") !=
              std::string::npos);
    }
}

TEST_CASE("store_weights: int4 has a scale for each group of 32 inputs; what reads no groups gets int8") {
    const Graph graph = graph_of(R"(graph "g"
%0 = input "x" features : f32[40] @1/1 causal
%1 = const "w" : [3,40]
%2 = linear(%0, %1) {bias=0} : f32[3] @1/1 causal   ; layer many
%3 = const "v" : [2,3]
%4 = linear(%2, %3) {bias=0} : f32[2] @1/1 causal   ; layer few
output "y" %4
)",
                                 {{"w",
                                   [] {
                                       std::vector<double> w(120, 0.0);
                                       w[0] = 7, w[1] = 2.5, w[31] = -7, w[32] = 0.7,
                                       w[39] = 0.26; // output 0
                                       w[40] = 1;
                                       return w;
                                   }()},
                                  {"v", {1, 2, 3, 4, 5, 127}}});
    std::vector<StoredWeights> layers;
    const Graph made = stored(graph, WeightFormat::int4, layers);
    REQUIRE(layers.size() == 2);
    CHECK(layers[0].format == WeightFormat::int4);
    CHECK(layers[1].format == WeightFormat::int8);
    const std::vector<double> w = numbers(made, "w.int4");
    REQUIRE(w.size() == 120);
    CHECK(w[0] == 7);
    CHECK(w[1] == 2); // a tie, to even
    CHECK(w[31] == -7);
    const double scale = double{static_cast<float>(0.7 / 7)}; // of the group behind
    CHECK(w[32] == 7 * scale);
    CHECK(w[39] == 3 * scale);
    CHECK(w[40] == 7 * double{1.f / 7});
    CHECK(numbers(made, "v.int8").size() == 6);
    CHECK(print(made).find("{activation_steps=32512, bias=0, weights=\"int4\"}") != std::string::npos);
}
} // namespace store_weights_test
