// sgconv_kernel, long_conv and the rest of the layer against the oracle fixtures of the published
// operator.
#include "compiler/ir/builder.h"
#include "compiler/ops/long_conv/multi_scale.h"
#include "formats/package/package.h"
#include "tests/oracles/oracle_package.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace oracles_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

std::filesystem::path oracles() { return longwave::oracles::oracle_folder(); }

struct Case {
    nlohmann::json config;
    std::map<std::string, package::Tensor> tensors;

    explicit Case(const std::string &name) {
        config = nlohmann::json::parse(std::ifstream(oracles() / (name + ".json"))).at("config");
        auto read = package::read_safetensors((oracles() / (name + ".safetensors")).string());
        REQUIRE_MESSAGE(read, read.status().message());
        tensors = *std::move(read);
    }
    std::vector<double> data(const std::string &key) const {
        const auto &values = tensors.at(key).data;
        return {values.begin(), values.end()};
    }
    std::vector<uint32_t> shape(const std::string &key) const {
        const auto &dims = tensors.at(key).shape;
        return {dims.begin(), dims.end()};
    }
    bool flag(const char *key) const { return config.value(key, false); }
    uint32_t number(const char *key) const { return config.at(key).get<uint32_t>(); }
};

double peak_of(const std::vector<double> &values) {
    double peak = 0;
    for (const double v : values) peak = std::max(peak, std::abs(v));
    return peak;
}

// The kernel of a case at its own length L, as a node of `builder`.
Expected<ValueId> kernel(Builder &builder, const Case &c, uint32_t copies) {
    const uint32_t heads = c.number("d_model"), scales = c.number("num_scales"), dim = c.number("kernel_dim");
    const std::string mode = c.config.at("mode");
    const auto as_heads =
        [&](const std::string &key,
            double otherwise) { // learnable modes store a scalar multiplier, others no decay
            const auto found = c.tensors.find(key);
            return found == c.tensors.end() || found->second.data.size() != heads
                       ? std::vector<double>(heads, otherwise)
                       : c.data(key);
        };
    const auto growth = as_heads("w.multiplier", 1), decay = as_heads("w.decay", 0);
    std::vector<ValueId> inputs;
    std::vector<std::vector<double>> lists;
    for (uint32_t i = 0; i < scales; ++i) {
        lists.push_back(c.data("w.kernel_list." + std::to_string(i)));
        inputs.push_back(builder.constant("kernel_list", {copies, heads, dim}, lists.back()));
    }
    const KernelMode parsed = KernelMode::parse(mode);
    const MultiScale shape{dim, scales, c.number("init_scale"), parsed.sum, parsed.nearest};
    const bool ran = c.data("w.kernel_norm_initialized")[0] != 0;
    inputs.push_back(builder.constant(
        "kernel_norm", {copies, heads},
        ran ? c.data("w.kernel_norm") : first_forward_norm(shape, parsed.learnable, lists, growth, decay)));
    inputs.push_back(builder.constant("growth", {heads}, growth));
    inputs.push_back(builder.constant("decay", {heads}, decay));
    return builder.node("sgconv_kernel", inputs,
                        {{"mode", mode},
                         {"kernel_dim", int64_t{dim}},
                         {"num_scales", int64_t{scales}},
                         {"init_scale", c.config.at("init_scale").get<int64_t>()},
                         {"l_max", c.config.at("l_max").get<int64_t>()},
                         {"resolution", int64_t{c.number("L")}},
                         {"channels", int64_t{copies}},
                         {"heads", int64_t{heads}}},
                        "layer");
}

// The whole published layer, from u to y.
Expected<Graph> layer(const Case &c) {
    const uint32_t heads = c.number("d_model"), channels = c.number("channels");
    const bool two_sided = c.flag("bidirectional");
    Builder builder("layer");
    const ValueId u = builder.input({.name = "u", .kind = GraphInput::Kind::features}, {.dims = {heads}});
    LW_ASSIGN(const ValueId k, kernel(builder, c, two_sided ? 2 * channels : channels));
    const ValueId d = builder.constant("D", {channels, heads}, c.data("w.D"));
    LW_ASSIGN(ValueId y,
              builder.node("long_conv", {u, k, d},
                           {{"channels", int64_t{channels}}, {"two_sided", int64_t{two_sided}}}, "layer"));
    if (!c.flag("linear")) {
        LW_ASSIGN(y, builder.node("gelu", {y}, {}, "layer"));
        if (c.flag("ln")) {
            const ValueId weight =
                builder.constant("weight", {heads * channels}, c.data("w.norm.norm.weight"));
            const ValueId bias = builder.constant("bias", {heads * channels}, c.data("w.norm.norm.bias"));
            LW_ASSIGN(y, builder.node("layer_norm", {y, weight, bias}, {{"eps", 1e-5}}, "layer"));
        }
        const bool glu = c.config.at("postact") == "glu";
        const std::string prefix = glu ? "w.output_linear.0." : "w.output_linear.";
        const ValueId weight = builder.constant("weight", {c.shape(prefix + "weight")[0], heads * channels},
                                                c.data(prefix + "weight"));
        const ValueId bias = builder.constant("bias", c.shape(prefix + "bias"), c.data(prefix + "bias"));
        LW_ASSIGN(y, builder.node("linear", {y, weight, bias}, {{"bias", int64_t{1}}}, "layer"));
        if (glu) {
            LW_ASSIGN(y, builder.node("glu", {y}, {}, "layer"));
        }
    }
    builder.output("y", y);
    builder.output("k", k);
    return std::move(builder).take();
}

// Batch element b of a (B,H,L) or (B,L,H) tensor as rows of channels.
Array element(const Case &c, const std::string &key, size_t b) {
    const auto shape = c.shape(key);
    const auto data = c.data(key);
    const bool transposed = c.flag("transposed");
    const size_t rows = shape[transposed ? 2 : 1], width = shape[transposed ? 1 : 2];
    Array out{rows, width, std::vector<double>(rows * width)};
    for (size_t t = 0; t < rows; ++t)
        for (size_t h = 0; h < width; ++h)
            out.row(t)[h] = data[b * rows * width + (transposed ? h * rows + t : t * width + h)];
    return out;
}

} // namespace

TEST_CASE("sgconv: kernel and output equal the published operator in every mode") {
    size_t cases = 0;
    for (const auto &entry : std::filesystem::directory_iterator(oracles())) {
        const std::string name = entry.path().stem();
        if (entry.path().extension() != ".json" || !name.starts_with("sgconv_op_")) continue;
        CAPTURE(name);
        const Case c(name);
        const auto graph = layer(c);
        REQUIRE_MESSAGE(graph, graph.status().message());
        ++cases;

        for (size_t b = 0; b < c.number("batch"); ++b) {
            const auto out = evaluate(*graph, {{"u", element(c, "in.x", b)}});
            REQUIRE(out);
            const Array expected = element(c, "ref.y", b);
            CHECK(largest_difference(out->at(0).data, expected.data) <=
                  2e-7 * peak_of(expected.data)); // the fixture's own float32
            if (b) continue;
            const auto shape = c.shape("ref.k"); // [C', H, L], zeros behind a shorter kernel
            const auto k = c.data("ref.k");
            const size_t length = shape[2], taps = out->at(1).data.size() / (shape[0] * shape[1]);
            REQUIRE(taps <= length);
            double error = 0;
            for (size_t i = 0; i < k.size(); ++i)
                error = std::max(error, std::abs(k[i] - (i % length < taps
                                                             ? out->at(1).data[i / length * taps + i % length]
                                                             : 0.0)));
            CHECK(error <= 2e-7 * peak_of(k));
        }
    }
    CHECK(cases >= 8); // those of the repository
    std::cout << "compared " << cases << " sgconv fixtures\n";
}

} // namespace oracles_test
