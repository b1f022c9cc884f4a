// The orchid and m2_mlp layers as graphs, and what they refuse.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <cmath>
#include <doctest/doctest.h>

namespace orchid_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

// Of a layer "o" on 4 features: l_max 6, filters of order 3 with emb_dim 3 and one inner layer.
Weights orchid_weights(const std::vector<std::pair<std::string, uint64_t>> &networks) {
    Shapes shapes = {{"o.in_linear.weight", {12, 4}},       {"o.in_linear.bias", {12}},
                     {"o.out_linear.weight", {4, 4}},       {"o.out_linear.bias", {4}},
                     {"o.conv1d_short.weight", {12, 1, 3}}, {"o.conv1d_short.bias", {12}}};
    for (const std::string filter : {"o.fixed_conv", "o.fixed_conv_res"}) {
        const Shapes more = {{filter + ".bias", {4}},
                             {filter + ".pos_emb.z", {1, 6, 3}},
                             {filter + ".pos_emb.t", {1, 6, 1}},
                             {filter + ".implicit_filter.0.weight", {3, 3}},
                             {filter + ".implicit_filter.0.bias", {3}},
                             {filter + ".implicit_filter.1.freq", {1, 3}},
                             {filter + ".implicit_filter.2.weight", {3, 3}},
                             {filter + ".implicit_filter.2.bias", {3}},
                             {filter + ".implicit_filter.3.freq", {1, 3}},
                             {filter + ".implicit_filter.4.weight", {4, 3}},
                             {filter + ".modulation.deltas", {1, 1, 4}}};
        shapes.insert(shapes.end(), more.begin(), more.end());
    }
    for (const auto &[name, out] : networks) {
        const std::string at = "o.conv_kernel_nn." + name;
        shapes.push_back({at + ".conv1d_ls.0.weight", {out, 1, 3}});
        shapes.push_back({at + ".conv1d_ls.0.bias", {out}});
        shapes.push_back({at + ".norm_ls.0.norm_conv_kernel.weight", {out}});
        shapes.push_back({at + ".norm_ls.0.norm_conv_kernel.bias", {out}});
    }
    return weights_of(shapes, 0.5f);
}

std::string layer(const std::string &more) {
    return R"([{"type": "orchid", "name": "o", "l_max": 6, "filter_order": 3, "num_inner_mlps": 1)" + more +
           "}]";
}

std::string ops_of(const Expected<ir::Graph> &graph) {
    REQUIRE_MESSAGE(graph, graph.status().message());
    std::string ops;
    for (const ir::Node &node : graph->nodes) ops += std::string(node.op->name) + " ";
    return ops;
}

const std::string shorts = "linear centred_conv linear centred_conv linear centred_conv ";

} // namespace

TEST_CASE("lower: an orchid whose kernel goes through time, over twice as many samples") {
    const auto graph = lowered("features 4", layer(""), orchid_weights({{"nn_model", 4}, {"nn_model2", 8}}));
    CHECK(ops_of(graph) ==
          shorts + "grouped_conv layer_norm sequence_spectrum grouped_conv layer_norm sequence_taps mul "
                   "circular_conv mul circular_conv add linear ");
    for (const ir::Node &node : graph->nodes)
        if (std::string(node.op->name) == "sequence_spectrum")
            CHECK(graph->type(node.output).clock == ir::Clock{2, 1});
    const ir::Constant *taps = nullptr;
    for (const ir::Constant &constant : graph->constants)
        if (constant.key == "o.fixed_conv.bias.taps") taps = &constant;
    REQUIRE(taps);
    // All weights 0.5, and so is every position: three equal sines, twice, and the decay
    // exp(−t·|δ|).
    const double first = std::sin(0.5 * (3 * 0.5 * 0.5 + 0.5)),
                 second = std::sin(0.5 * (3 * 0.5 * first + 0.5));
    CHECK(taps->data.size() == 24);
    CHECK(taps->data[7] == doctest::Approx(3 * 0.5 * second * std::exp(-0.25)).epsilon(1e-12));
}

TEST_CASE("lower: an orchid with a cosine transform stays in its domain") {
    const auto graph = lowered("features 4", layer(R"(, "transform": "dct", "residual_long_conv": false)"),
                               orchid_weights({{"nn_model", 4}, {"nn_model2", 4}}));
    CHECK(ops_of(graph) == shorts + "grouped_conv layer_norm sequence_spectrum grouped_conv layer_norm mul "
                                    "sequence_spectrum spectral_conv mul linear ");
}

TEST_CASE("lower: an orchid of correlations") {
    const auto graph =
        lowered("features 4", layer(R"(, "conditioning": "corrTime", "network": "convt", "causal": false)"),
                orchid_weights({{"nn_model_k", 4}, {"nn_model_q", 4}}));
    CHECK(ops_of(graph) ==
          shorts + "grouped_conv layer_norm sequence_spectrum grouped_conv layer_norm sequence_spectrum "
                   "correlate mul sequence_spectrum spectral_conv mul circular_conv add linear ");
}

TEST_CASE("an orchid refuses a stream in one line") {
    const auto graph = lowered("features 4", layer(""), orchid_weights({{"nn_model", 4}, {"nn_model2", 8}}));
    REQUIRE(graph);
    const auto stream = compiler::make_streaming(*graph);
    REQUIRE_FALSE(stream);
    CHECK(stream.status().message() ==
          "layer o looks ahead: it is circular: every output depends on the whole sequence\n"
          "compile without --stream for offline runs, or with --window N --hop M to slide over a stream");
}

TEST_CASE("an orchid refuses what the published code cannot run either") {
    const auto message = [](const std::string &more) {
        const auto graph = lowered("features 4", layer(more), orchid_weights({}));
        return graph ? std::string() : graph.status().message();
    };
    CHECK(message(R"(, "conditioning": "corrTime")")
              .find("layers[0].causal (o): expected false with corrTime") == 0);
    CHECK(message(R"(, "conditioning": "freq", "network": "convt")")
              .find("layers[0].network (o): expected a convolution "
                    "over frequency") == 0);
    CHECK(message(R"(, "kernel_size": 4)")
              .find("layers[0].kernel_size (o): expected an odd number of taps, found 4") == 0);
    CHECK(message(R"(, "transform": "dst")").find("transform") != std::string::npos);
}

TEST_CASE("an orchid whose short convolution has other taps than it says names the tensor") {
    for (const char *taps : {"1", "5", "1000000"}) {
        const auto graph = lowered("features 4", layer(std::string(R"(, "short_conv": )") + taps),
                                   orchid_weights({{"nn_model", 4}, {"nn_model2", 8}}));
        REQUIRE_FALSE(graph);
        CHECK(graph.status().message().find("o.conv1d_short.weight") != std::string::npos);
    }
}

TEST_CASE("lower: m2_mlp with blocks, each half of them its own product") {
    const Weights weights = weights_of({{"m.gated_layers.weight", {2, 6, 2}},
                                        {"m.wo.weight", {2, 2, 3}},
                                        {"m.wo.bias", {4}},
                                        {"m.layernorm.weight", {4}},
                                        {"m.layernorm.bias", {4}}});
    const std::string mlp = R"([{"type": "m2_mlp", "name": "m", "intermediate": 6, "blocks": )";
    CHECK(ops_of(lowered("features 4", mlp + "2}]", weights)) ==
          "block_linear gelu block_linear mul block_linear add layer_norm ");
    const auto odd = lowered("features 4", mlp + "3}]", weights);
    REQUIRE_FALSE(odd);
    CHECK(odd.status().message().find("layers[0].blocks (m): expected 0 or an even number") == 0);
}

} // namespace orchid_test
