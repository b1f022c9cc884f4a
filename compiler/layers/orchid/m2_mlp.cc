// m2_mlp: LayerNorm(x + W_o(gelu(a)·b)) with [a b] = W_g x, as in M2-BERT. The matrices are dense
// or block-diagonal.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {
namespace {

class Mlp {
public:
    Mlp(Lowering &lowering, const Layer &layer, uint32_t width)
        : lowering_(lowering), layer_(layer), width_(width), blocks_(integer(layer, "blocks")),
          inner_(integer(layer, "intermediate")) {}

    // Half 0 or 1 of the gated layers' outputs.
    Expected<Flow> half(Flow x, uint32_t number) {
        const std::vector<uint32_t> whole = blocks_
                                                ? std::vector{blocks_, 2 * inner_ / blocks_, width_ / blocks_}
                                                : std::vector{2 * inner_, width_};
        std::vector<uint32_t> shape = whole;
        shape[0] /= 2;
        const std::vector<double> all = lowering_.numbers(layer_, "gated_layers.weight", whole);
        const auto size = static_cast<ptrdiff_t>(all.size() / 2);
        std::vector<float> values(all.begin() + number * size, all.begin() + (number + 1) * size);
        const ir::ValueId weight =
            lowering_.constant(layer_.key("gated_layers.weight") + "." + std::to_string(number), shape,
                               SharedArray<float>(std::move(values)));
        return product(x, {weight}, number * blocks_ / 2);
    }
    Expected<Flow> out(Flow x) {
        const std::vector<uint32_t> shape =
            blocks_ ? std::vector{blocks_, width_ / blocks_, inner_ / blocks_} : std::vector{width_, inner_};
        return product(
            x, {lowering_.weight(layer_, "wo.weight", shape), lowering_.weight(layer_, "wo.bias", {width_})},
            0);
    }
    Status check() const {
        if (blocks_ == 0) return Status::ok();
        const auto failure = [&](const std::string &expected) {
            return lowering_.failure(layer_, "blocks", expected, std::to_string(blocks_));
        };
        if (blocks_ % 2)
            return failure("0 or an even number: the first half of the blocks makes the gelu's input");
        if (width_ % blocks_) return failure("a divisor of the " + std::to_string(width_) + " features");
        if (inner_ % blocks_)
            return failure("a divisor of the intermediate width, " + std::to_string(inner_));
        return Status::ok();
    }

private:
    Expected<Flow> product(Flow x, std::vector<ir::ValueId> operands, uint32_t first) {
        ir::Attributes attributes{{"bias", int64_t{operands.size() == 2}}};
        operands.insert(operands.begin(), x.value);
        if (blocks_) attributes["first"] = int64_t{first};
        return lowering_.node(layer_, blocks_ ? "block_linear" : "linear", std::move(operands),
                              std::move(attributes), Form::features);
    }

    Lowering &lowering_;
    const Layer &layer_;
    const uint32_t width_, blocks_, inner_;
};

} // namespace

Expected<Flow> lower_m2_mlp(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    Mlp mlp(lowering, layer, width);
    LW_TRY(mlp.check());
    LW_ASSIGN(Flow a, mlp.half(inputs[0], 0));
    LW_ASSIGN(a, lowering.node(layer, "gelu", {a.value}, {}, Form::features));
    LW_ASSIGN(const Flow b, mlp.half(inputs[0], 1));
    LW_ASSIGN(Flow y, lowering.node(layer, "mul", {b.value, a.value}, {}, Form::features));
    LW_ASSIGN(y, mlp.out(y));
    LW_ASSIGN(y, lowering.node(layer, "add", {y.value, inputs[0].value}, {}, Form::features));
    return lowering.node(layer, "layer_norm",
                         {y.value, lowering.weight(layer, "layernorm.weight", {width}),
                          lowering.weight(layer, "layernorm.bias", {width})},
                         {{"eps", number(layer, "eps")}}, Form::features);
}

} // namespace longwave::compiler::layers
