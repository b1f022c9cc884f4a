// merge_branches against the oracle fixtures of re-parameterisation: the merged kernel and bias,
// and the output of the branches.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "formats/package/package.h"
#include "tests/oracles/oracle_package.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <fstream>
#include <nlohmann/json.hpp>

namespace oracles_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

std::map<std::string, package::Tensor> tensors;
nlohmann::json config;

void load(const std::string &name) {
    const std::string path = longwave::oracles::oracle_folder() + "/" + name;
    config = nlohmann::json::parse(std::ifstream(path + ".json")).at("config");
    auto read = package::read_safetensors(path + ".safetensors");
    REQUIRE_MESSAGE(read, read.status().message());
    tensors = *std::move(read);
}

std::vector<double> data(const std::string &key) {
    return {tensors.at(key).data.begin(), tensors.at(key).data.end()};
}

// torch order, oldest first, to lag form: the weight of lag j·dilation is W[r − 1 − j].
std::vector<double> lags(const std::vector<double> &weight, size_t heads, size_t dilation) {
    const size_t r = weight.size() / heads, length = dilation * (r - 1) + 1;
    std::vector<double> out(heads * length);
    for (size_t h = 0; h < heads; ++h)
        for (size_t j = 0; j < r; ++j) out[h * length + j * dilation] = weight[h * r + r - 1 - j];
    return out;
}

// The sum of all branches of a fixture, and of the long convolution where it has one.
Expected<Graph> branches(uint32_t heads) {
    Builder builder("branches");
    const ValueId x = builder.input({.name = "x", .kind = GraphInput::Kind::features}, {.dims = {heads}});
    const ValueId none = builder.constant("none", {1, heads}, std::vector<double>(heads)),
                  ones = builder.constant("ones", {heads}, std::vector<double>(heads, 1.0));
    std::optional<ValueId> sum;
    const auto add = [&](ValueId value) -> Status {
        if (sum) {
            LW_ASSIGN(sum, builder.node("add", {*sum, value}, {}, "sum"));
        } else sum = value;
        return Status::ok();
    };
    const Attributes causal{{"channels", int64_t{1}}, {"two_sided", int64_t{0}}};
    for (size_t i = 0; i < config["short_branches"].size(); ++i) {
        const auto &branch = config["short_branches"][i];
        const std::string prefix = "w.short." + std::to_string(i) + ".";
        ValueId y = x;
        if (branch["type"] == "conv") {
            const auto taps = lags(data(prefix + "conv.weight"), heads, branch["dilation"]);
            const ValueId k =
                builder.constant("k", {1, heads, static_cast<uint32_t>(taps.size() / heads)}, taps);
            LW_ASSIGN(y, builder.node("long_conv", {x, k, none}, causal, "short"));
        }
        if (branch["bias"]) {
            const ValueId bias = builder.constant("bias", {heads}, data(prefix + "conv.bias"));
            LW_ASSIGN(y, builder.node("affine", {y, ones, bias}, {}, "short"));
        }
        if (branch["bn"]) {
            std::vector<ValueId> inputs{y};
            for (const char *p : {"weight", "bias", "running_mean", "running_var"})
                inputs.push_back(builder.constant(p, {heads}, data(prefix + "bn." + p)));
            LW_ASSIGN(y,
                      builder.node("batch_norm", inputs, {{"eps", config["bn_eps"].get<double>()}}, "short"));
        }
        LW_TRY(add(y));
    }
    if (tensors.count("w.long.k0")) {
        const ValueId k = builder.constant("k", {1, heads, config["K"].get<uint32_t>()}, data("w.long.k0")),
                      d = builder.constant("D", {1, heads}, data("w.long.D"));
        LW_ASSIGN(const ValueId y, builder.node("long_conv", {x, k, d}, causal, "long"));
        LW_TRY(add(y));
    }
    builder.output("y", *sum);
    return std::move(builder).take();
}

void check_fixture(const std::string &name) {
    CAPTURE(name);
    load(name);
    const auto shape = tensors.at("in.x").shape; // (B, L, d)
    const auto heads = static_cast<uint32_t>(shape[2]);
    const auto graph = branches(heads);
    REQUIRE_MESSAGE(graph, graph.status().message());
    const auto merged = compiler::merge_branches(*graph);
    REQUIRE_MESSAGE(merged, merged.status().message());
    REQUIRE(merged->nodes.size() == 2);
    CHECK(merged->nodes[0].op->name == std::string("long_conv"));

    const bool with_long = tensors.count("w.long.k0") != 0;
    const auto expected = data(with_long ? "ref.fused_k0" : "ref.fused_lag");
    check_close(merged->constant(merged->nodes[0].inputs[1])->data.to_vector(), expected, 5e-7);
    check_close(merged->constant(merged->nodes[1].inputs[2])->data.to_vector(), data("ref.fused_bias"), 5e-7);

    const auto x = data("in.x"), y = data(with_long ? "ref.y_long" : "ref.y");
    const size_t size = shape[1] * shape[2];
    for (size_t b = 0; b < shape[0]; ++b) {
        const auto at = static_cast<ptrdiff_t>(b * size), end = static_cast<ptrdiff_t>((b + 1) * size);
        const Array in = rows_of(heads, {x.begin() + at, x.begin() + end});
        check_close(run(*graph, in).data, {y.begin() + at, y.begin() + end}, 2e-6);
        check_close(run(*merged, in).data, {y.begin() + at, y.begin() + end}, 2e-6);
    }
}

} // namespace

TEST_CASE("merge_branches: the fixtures' branches, norms, biases, dilations and identities") {
    check_fixture("chela_fuse_causal_3_7_id_bn");
    check_fixture("chela_fuse_causal_dilated");
    check_fixture("chela_fuse_causal_nobn_bias_id");
}

TEST_CASE("merge_branches: the fixture's short branches go into the long kernel") {
    check_fixture("chela_fuse_parallel_long_causal");
}

} // namespace oracles_test
