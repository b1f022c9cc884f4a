// lightnet_attention: attention with an additive decay (LightNet). Projections -> short
// convolutions -> activation and scale of the queries -> cumulative_softmax of the keys -> lrpe ->
// decaying_attention -> gate and norm -> projection; options leave out parts. If it is not causal:
// sequence_softmax and linear_attention_offline instead. Parameter names are those of the first
// author's library.
#include "compiler/layers/layers.h"
#include "compiler/layers/lightnet/positions.h"

namespace longwave::compiler::layers {
namespace {

class LightNet {
public:
    LightNet(Lowering &to, const Layer &layer, std::span<const Flow> inputs)
        : to_(to), layer_(layer), inputs_(inputs), in_(to.width(inputs[0])), heads_(integer(layer, "heads")),
          keys_(given(layer, "key_width") ? integer(layer, "key_width") : in_),
          values_(given(layer, "value_width") ? integer(layer, "value_width") : in_) {}

    Expected<Flow> lower() {
        LW_ASSIGN(const Flow q, queries());
        LW_ASSIGN(const Flow k, projected("k", keys_));
        LW_ASSIGN(const Flow v, projected("v", values_));
        LW_ASSIGN(const Positions positions, read_positions(to_, layer_));
        LW_TRY(check());
        LW_ASSIGN(Flow o, core(q, k, v, positions));
        LW_ASSIGN(o, gated(o));
        if (!flag(layer_, "output_projection")) return o;
        const bool bias = flag(layer_, given(layer_, "output_bias") ? "output_bias" : "bias");
        return to_.product(layer_, "o_proj", o, in_, bias);
    }

private:
    Expected<Flow> apply(const std::string &op, Flow x) {
        return op == "identity" ? Expected<Flow>(x) : to_.node(layer_, op, {x.value}, {}, Form::features);
    }

    // A projection and, with `short_conv`, its causal depthwise convolution.
    Expected<Flow> projected(const std::string &which, uint32_t width) {
        LW_ASSIGN(const Flow x,
                  to_.product(layer_, which + "_proj", inputs_[0], width, flag(layer_, "bias")));
        if (!given(layer_, "short_conv")) return x;
        const uint32_t taps = integer(layer_, "short_conv");
        const bool bias = flag(layer_, "conv_bias");
        const std::string name = which + "_conv1d";
        std::vector<ir::ValueId> operands = {
            x.value, to_.weight(layer_, name + ".weight", {width, 1, taps, 1}, {{width, 1, taps}})};
        if (bias) operands.push_back(to_.weight(layer_, name + ".bias", {width}));
        return to_.node(layer_, "conv2d", std::move(operands),
                        {{"stride_t", int64_t{1}},
                         {"stride_f", int64_t{1}},
                         {"groups", int64_t{width}},
                         {"bias", int64_t{bias}},
                         {"frequency", int64_t{0}}},
                        Form::features);
    }

    Expected<Flow> queries() {
        LW_ASSIGN(Flow q, projected("q", keys_));
        LW_ASSIGN(q, apply(layer_.attributes.at("query_activation"), q));
        const double scale = number(layer_, "scale");
        if (scale == 1) return q;
        const ir::ValueId factor = to_.constant(layer_.address + ".scale", {keys_},
                                                std::vector<double>(keys_, scale)),
                          zero = to_.constant("zeros", {keys_}, std::vector<double>(keys_, 0.0));
        return to_.node(layer_, "affine", {q.value, factor, zero}, {}, Form::features);
    }

    Status check() const {
        for (const auto &[name, width] : {std::pair("key_width", keys_), std::pair("value_width", values_)})
            if (width % heads_)
                return to_.failure(layer_, name, "a multiple of the " + std::to_string(heads_) + " heads",
                                   std::to_string(width));
        if (inputs_.size() < 2) return Status::ok();
        if (to_.width(inputs_[1]) != 1)
            return to_.failure(layer_, "inputs", "a mask of width 1",
                               "rows of " + std::to_string(to_.width(inputs_[1])));
        if (!flag(layer_, "causal"))
            return to_.failure(layer_, "inputs", "one input where causal is false", "a mask",
                               "give the sequence without its padding");
        if (given(layer_, "short_conv"))
            return to_.failure(layer_, "inputs", "one input where there are short convolutions", "a mask",
                               "they reach into padded rows: give the sequence without its padding");
        return Status::ok();
    }

    Expected<Flow> core(Flow q, Flow k, Flow v, const Positions &positions) {
        const bool causal = flag(layer_, "causal");
        const ir::Attributes attributes{{"heads", int64_t{heads_}}};
        std::vector<ir::ValueId> keys = {k.value};
        if (inputs_.size() > 1) keys.push_back(inputs_[1].value);
        const int64_t start = integer(layer_, "initial_sum");
        LW_ASSIGN(const Flow w,
                  causal ? to_.node(layer_, "cumulative_softmax", keys, {{"start", start}}, Form::features)
                         : to_.node(layer_, "sequence_softmax", keys, {}, Form::features));
        Flow rotated = w;
        if (given(layer_, "lrpe")) {
            const ir::ValueId theta = rotation_rates(to_, layer_, "lrpe.theta", number(layer_, "lrpe_base"),
                                                     heads_, keys_, positions);
            LW_ASSIGN(q, rotate(to_, layer_, q.value, theta, heads_, positions));
            LW_ASSIGN(rotated, rotate(to_, layer_, w.value, theta, heads_, positions));
        }
        if (!causal)
            return to_.node(layer_, "linear_attention_offline", {q.value, rotated.value, v.value}, attributes,
                            Form::features);
        std::vector<ir::ValueId> operands = {q.value, w.value, v.value};
        if (rotated.value != w.value) operands.push_back(rotated.value);
        return to_.node(layer_, "decaying_attention", std::move(operands), attributes, Form::features);
    }

    Expected<Flow> gate() {
        const bool bias = flag(layer_, "gate_bias");
        Flow g = inputs_[0];
        if (given(layer_, "gate_rank")) {
            const uint32_t rank = integer(layer_, "gate_rank");
            LW_ASSIGN(g, to_.product(layer_, "output_gate.0", g, rank, bias));
            LW_ASSIGN(g, to_.product(layer_, "output_gate.1", g, values_, bias));
        } else {
            LW_ASSIGN(g, to_.product(layer_, "output_gate", g, values_, bias));
        }
        return apply(layer_.attributes.at("gate_activation"), g);
    }

    // Over all heads together.
    Expected<Flow> norm(Flow x) {
        if (!given(layer_, "norm")) return x;
        const bool centred = layer_.attributes.at("norm") == "layer";
        std::vector<ir::ValueId> operands = {x.value, to_.weight(layer_, "norm.weight", {values_})};
        if (centred) operands.push_back(to_.weight(layer_, "norm.bias", {values_}));
        return to_.node(layer_, centred ? "layer_norm" : "rms_norm", std::move(operands),
                        {{"eps", number(layer_, "norm_eps")}}, Form::features);
    }

    Expected<Flow> gated(Flow o) {
        if (!given(layer_, "gate")) return norm(o);
        const bool before = layer_.attributes.at("gate") == "before_norm";
        LW_ASSIGN(const Flow g, gate());
        if (!before) {
            LW_ASSIGN(o, norm(o));
        }
        LW_ASSIGN(o, to_.node(layer_, "mul", {o.value, g.value}, {}, Form::features));
        return before ? norm(o) : Expected<Flow>(o);
    }

    Lowering &to_;
    const Layer &layer_;
    const std::span<const Flow> inputs_;
    const uint32_t in_, heads_, keys_, values_;
};

} // namespace

Expected<Flow> lower_lightnet_attention(Lowering &lowering, const Layer &layer,
                                        std::span<const Flow> inputs) {
    LW_TRY(feature_width(lowering, layer, inputs[0]).status());
    return LightNet(lowering, layer, inputs).lower();
}

// linear_attention: projections to queries, keys and values, then the op of that name: o_t =
// q_t·Σ_{τ ≤ t} k_τ v_τᵀ per head.
Expected<Flow> lower_linear_attention(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t in = lowering.width(inputs[0]), heads = integer(layer, "heads");
    const bool bias = flag(layer, "bias");
    const auto width = [&](const char *attribute) {
        return given(layer, attribute) ? integer(layer, attribute) : in;
    };
    const uint32_t key_width = width("key_width"), value_width = width("value_width");
    std::vector<ir::ValueId> projected;
    for (const auto &[name, out] :
         {std::pair("q_proj", key_width), std::pair("k_proj", key_width), std::pair("v_proj", value_width)}) {
        LW_ASSIGN(const Flow flow, lowering.product(layer, name, inputs[0], out, bias));
        projected.push_back(flow.value);
    }
    for (const auto &[name, out] : {std::pair("key_width", key_width), std::pair("value_width", value_width)})
        if (out % heads)
            return lowering.failure(layer, name, "a multiple of the " + std::to_string(heads) + " heads",
                                    std::to_string(out));
    return lowering.node(layer, "linear_attention", std::move(projected), {{"heads", int64_t{heads}}},
                         Form::features);
}

} // namespace longwave::compiler::layers
