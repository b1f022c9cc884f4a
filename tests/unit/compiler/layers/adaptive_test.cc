// Layers of language and image models around the blocks: adaptive embeddings, scaled ones, sums,
// patches and block-diagonal matrices, as graph text, and what they refuse.
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include "compiler/ops/support/reference.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <cmath>
#include <doctest/doctest.h>

namespace adaptive_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

const std::string embedding =
    R"([{"type": "adaptive_embedding", "name": "e", "vocabulary": 10, "width": 8, "cutoffs": "3,7", "factor": 2)";
const Shapes embedding_shapes = {{"e.embeddings.0.0.weight", {3, 8}}, {"e.embeddings.0.1.weight", {8, 8}},
                                 {"e.embeddings.1.0.weight", {4, 4}}, {"e.embeddings.1.1.weight", {8, 4}},
                                 {"e.embeddings.2.0.weight", {3, 2}}, {"e.embeddings.2.1.weight", {8, 2}}};
const std::string softmax =
    R"([{"type": "adaptive_softmax", "name": "s", "vocabulary": 10, "cutoffs": "3,7", "factor": 2)";
const Shapes softmax_shapes = {{"s.head.word_proj.weight", {3, 8}}, {"s.head.class_proj.weight", {2, 8}},
                               {"s.tail.0.0.weight", {4, 8}},       {"s.tail.0.2.weight", {4, 4}},
                               {"s.tail.1.0.weight", {2, 8}},       {"s.tail.1.2.weight", {3, 2}}};

ir::Graph graph_of(const std::string &input, const std::string &layers, Weights weights) {
    auto graph = lowered(input, layers, std::move(weights));
    REQUIRE_MESSAGE(graph, graph.status().message());
    return *std::move(graph);
}

std::string ops(const ir::Graph &graph) {
    std::string text;
    for (const ir::Node &node : graph.nodes) text += (text.empty() ? "" : " ") + std::string(node.op->name);
    return text;
}

void refused(const std::string &input, const std::string &layers, Weights weights,
             const std::vector<std::string> &words) {
    const auto graph = lowered(input, layers, std::move(weights));
    REQUIRE_FALSE(graph);
    for (const std::string &word : words)
        CHECK_MESSAGE(graph.status().message().find(word) != std::string::npos, graph.status().message());
}

Weights counted(const Shapes &shapes) {
    Weights weights = weights_of(shapes);
    float next = 0;
    for (auto &[key, tensor] : weights) {
        std::vector<float> data(tensor.data.size());
        for (float &value : data) value = std::sin(next += 1);
        tensor.data = std::move(data);
    }
    return weights;
}

ir::Array run(const ir::Graph &graph, size_t width, std::vector<double> rows) {
    const size_t count = rows.size() / width;
    auto outputs = ir::evaluate(graph, {{"x", ir::Array{count, width, std::move(rows)}}}, 0);
    REQUIRE_MESSAGE(outputs, outputs.status().message());
    return std::move((*outputs)[0]);
}

} // namespace

TEST_CASE("lower: adaptive_embedding gives each id the row of its cluster through the cluster's projection") {
    const Weights weights = counted(embedding_shapes);
    const ir::Graph graph = graph_of("tokens 10", embedding + R"(, "scale": 3}])", weights);
    CHECK(ops(graph) == "embedding linear embedding linear add embedding linear add affine");
    const ir::Array y = run(graph, 1, {0, 2, 3, 6, 7, 9});
    const uint32_t first[] = {0, 3, 7, 10};
    for (size_t t = 0; t < y.rows; ++t) {
        const uint32_t id = std::vector<uint32_t>{0, 2, 3, 6, 7, 9}[t], cluster = id < 3 ? 0 : id < 7 ? 1 : 2;
        const std::string stem = "e.embeddings." + std::to_string(cluster);
        const auto &table = weights.at(stem + ".0.weight").data,
                   &projection = weights.at(stem + ".1.weight").data;
        const uint32_t rank = 8u >> cluster;
        for (uint32_t c = 0; c < 8; ++c) {
            double sum = 0;
            for (uint32_t i = 0; i < rank; ++i)
                sum += double{projection[c * rank + i]} * table[(id - first[cluster]) * rank + i];
            CHECK(y.row(t)[c] == doctest::Approx(3 * sum).epsilon(1e-12));
        }
    }
}

TEST_CASE("lower: adaptive_softmax gives log-probabilities that sum to one, a tail's under its class") {
    const Weights weights = counted(softmax_shapes);
    const ir::Graph graph = graph_of("features 8", softmax + "}]", weights);
    CHECK(ops(graph) == "linear linear scalar active_clusters linear linear linear linear log_softmax");
    const std::vector<double> x = {1, -2, 3, 0.5, -1, 2, 0, 1};
    const ir::Array y = run(graph, 8, x);
    REQUIRE(y.width == 10);
    double all = 0, tail = 0;
    for (size_t i = 0; i < 10; ++i) all += std::exp(y.data[i]);
    CHECK(all == doctest::Approx(1).epsilon(1e-12));
    const auto logit = [&](const std::string &key, uint32_t row) {
        double sum = 0;
        for (size_t i = 0; i < 8; ++i) sum += double{weights.at(key).data[row * 8 + i]} * x[i];
        return sum;
    };
    double head = 0;
    for (uint32_t i = 0; i < 3; ++i) head += std::exp(logit("s.head.word_proj.weight", i));
    for (uint32_t i = 0; i < 2; ++i) head += std::exp(logit("s.head.class_proj.weight", i));
    CHECK(y.data[1] == doctest::Approx(logit("s.head.word_proj.weight", 1) - std::log(head)).epsilon(1e-12));
    for (size_t i = 7; i < 10; ++i) tail += std::exp(y.data[i]);
    CHECK(tail == doctest::Approx(std::exp(logit("s.head.class_proj.weight", 1)) / head).epsilon(1e-12));
}

TEST_CASE("lower: a projection of the head is a product before its words and classes, not before the tails") {
    Weights weights = counted(softmax_shapes), projected = weights;
    std::vector<float> values(64);
    for (size_t i = 0; i < 64; ++i) values[i] = static_cast<float>(i % 5) - 1.5f + (i % 9 == 0);
    for (const auto &[key, count] :
         {std::pair("s.head.word_proj.weight", 3u), std::pair("s.head.class_proj.weight", 2u)}) {
        std::vector<float> product(8 * count);
        for (uint32_t row = 0; row < count; ++row)
            for (uint32_t c = 0; c < 8; ++c)
                for (uint32_t i = 0; i < 8; ++i)
                    product[row * 8 + c] += weights.at(key).data[row * 8 + i] * values[i * 8 + c];
        weights.at(key) = {{count, 8}, std::move(product)};
    }
    projected["s.head.proj.weight"] = {{8, 8}, std::move(values)};
    const std::vector<double> x = {1, -2, 3, 0.5, -1, 2, 0, 1};
    const ir::Array a = run(graph_of("features 8", softmax + "}]", weights), 8, x),
                    b = run(graph_of("features 8", softmax + R"(, "head_projection": true}])", projected), 8,
                            x);
    for (size_t i = 0; i < 10; ++i) CHECK(a.data[i] == doctest::Approx(b.data[i]).epsilon(1e-5));
}

TEST_CASE("lower: tied projections are the embedding's, the other way round") {
    Weights weights = counted(softmax_shapes), tied = weights;
    for (const auto &[key, rank] : {std::pair("s.tail.0.0.weight", 4u), std::pair("s.tail.1.0.weight", 2u)}) {
        std::vector<float> transposed(8 * rank);
        for (uint32_t i = 0; i < rank; ++i)
            for (uint32_t c = 0; c < 8; ++c) transposed[c * rank + i] = weights.at(key).data[i * 8 + c];
        tied.at(key) = {{8, rank}, std::move(transposed)};
    }
    const std::vector<double> x = {1, -2, 3, 0.5, -1, 2, 0, 1};
    const ir::Array a = run(graph_of("features 8", softmax + "}]", weights), 8, x),
                    b = run(graph_of("features 8", softmax + R"(, "tied_projections": true}])", tied), 8, x);
    CHECK(a.data == b.data);
}

TEST_CASE("lower: adaptive layers say what is wrong with their clusters") {
    for (const char *cutoffs : {"7,3", "3,10", "0,3", "", "3,", "a", "3 7", "1,2,3,4,5,6,7,8"})
        refused("tokens 10",
                R"([{"type": "adaptive_embedding", "name": "e", "vocabulary": 10, "width": 8, "cutoffs": ")" +
                    std::string(cutoffs) + R"("}])",
                {}, {"layers[0].cutoffs"});
    refused("features 6",
            R"([{"type": "adaptive_softmax", "name": "s", "vocabulary": 10, "cutoffs": "3,7"}])", {},
            {"layers[0].factor (s)", "powers divide the width, 6, 3 clusters", "found 4"});
    refused("tokens 11", embedding + "}]", weights_of(embedding_shapes),
            {"layers[0].vocabulary (e)", "at least the 11 ids"});
    refused("features 8", embedding + "}]", weights_of(embedding_shapes), {"token ids", "rows of features"});
    refused("tokens 10", softmax + "}]", weights_of(softmax_shapes), {"an embedding turns ids into rows"});
    Weights one_less = weights_of(softmax_shapes);
    one_less.erase("s.tail.1.2.weight");
    one_less["s.head.class_proj.weight"] = {{3, 8}, std::vector<float>(24, 1.0f)};
    refused("features 8", softmax + "}]", one_less,
            {"\"s.tail.1.2.weight\"", "no such tensor", "\"s.head.class_proj.weight\"",
             "shape [2, 8], found [3, 8]"});
}

TEST_CASE("lower: an embedding times its scale; two of them added") {
    const ir::Graph graph = graph_of("tokens 3", R"([
        {"type": "embedding", "name": "a", "vocabulary": 3, "width": 2, "scale": 10},
        {"type": "embedding", "name": "b", "input": "x", "vocabulary": 3, "width": 2},
        {"type": "add", "name": "y", "inputs": ["a", "b"]}])",
                                     weights_of({{"a.weight", {3, 2}}, {"b.weight", {3, 2}}}, 2));
    CHECK(run(graph, 1, {1}).data == std::vector<double>{22, 22});
    refused("features 4", R"([
        {"type": "linear", "name": "l", "out_features": 3},
        {"type": "add", "name": "y", "inputs": ["l", "x"]}])",
            weights_of({{"l.weight", {3, 4}}, {"l.bias", {3}}}),
            {"layers[1].inputs (y)", "rows of one shape and rate", "[3] and [4]"});
    refused("tokens 4", R"([{"type": "add", "name": "y", "inputs": ["x", "x"]}])", {},
            {"layers[0].inputs (y)", "found token ids"});
}

TEST_CASE("lower: patch_embedding takes a convolution's weight over rows of one patch each") {
    const std::string layer =
        R"([{"type": "patch_embedding", "name": "p", "out_features": 2, "patch": [2, 2]}])";
    const ir::Graph graph =
        graph_of("features 12", layer, weights_of({{"p.weight", {2, 3, 2, 2}}, {"p.bias", {2}}}));
    CHECK(ops(graph) == "linear");
    refused("features 10", layer, {}, {"layers[0].patch (p)", "divide the 10 features", "2 x 2 pixels"});
}

TEST_CASE("lower: linear with blocks is block-diagonal") {
    const std::string layer = R"([{"type": "linear", "name": "l", "out_features": 4, "blocks": 2)";
    const ir::Graph graph =
        graph_of("features 6", layer + "}]", weights_of({{"l.weight", {2, 2, 3}}, {"l.bias", {4}}}));
    CHECK(ops(graph) == "block_linear");
    CHECK(run(graph, 6, {1, 2, 3, 10, 20, 30}).data == std::vector<double>{7, 7, 61, 61});
    refused("features 5", layer + "}]", {}, {"layers[0].blocks (l)", "a divisor of the 5 features"});
    refused("features 6", R"([{"type": "linear", "name": "l", "out_features": 3, "blocks": 2}])", {},
            {"layers[0].blocks (l)", "a divisor of the 3 out_features"});
    refused("features 6", layer + R"(, "weights": "int8"}])", {},
            {"layers[0].weights (l)", "null with \"blocks\""});
}

} // namespace adaptive_test
