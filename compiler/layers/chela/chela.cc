// chela: a block of short-long convolution and linear attention (CHELA, Eq. 8-15). It consists of
// short_long, norms, linear, affine, linear_attention or linear_attention_offline, and pointwise
// ops. Its values Z, A, M and U have addresses.
#include "compiler/layers/layers.h"
#include "compiler/layers/sgconv/sgconv.h"

namespace longwave::compiler::layers {
namespace {

class Block {
public:
    Block(Lowering &lowering, const Layer &layer, uint32_t width)
        : lowering_(lowering), layer_(layer), width_(width),
          value_width_(layer.attributes.contains("value_width") ? integer(layer, "value_width") : width) {}

    Status check() const {
        const uint32_t heads = integer(layer_, "heads"), groups = integer(layer_, "att_norm_groups");
        const auto divides = [&](const char *attribute, uint32_t parts, uint32_t features) {
            if (features % parts == 0) return Status::ok();
            return lowering_.failure(layer_, attribute,
                                     "a divisor of " + std::to_string(features) + " features",
                                     std::to_string(parts));
        };
        LW_TRY(divides("heads", heads, width_));
        LW_TRY(divides("heads", heads, value_width_));
        LW_TRY(divides("att_norm_groups", groups, value_width_));
        if (value_width_ == width_ || flag(layer_, "h_proj")) return Status::ok();
        return lowering_.failure(layer_, "value_width", std::to_string(width_) + " without \"h_proj\"",
                                 std::to_string(value_width_),
                                 "values of another width need the projection h_proj");
    }

    Expected<Flow> lower(Flow x) {
        const bool prenorm = flag(layer_, "prenorm");
        LW_ASSIGN(const Flow normed, prenorm ? norm(layer_, "norm", x) : Expected<Flow>(x));
        LW_ASSIGN(const Flow z, short_long(lowering_, layer_, normed));
        lowering_.define(layer_.address + "/Z", z);
        LW_ASSIGN(const Flow m, attended(normed, z));
        LW_ASSIGN(Flow u, mixed(m, z, layer_.attributes.at("residual") == "raw" ? x : normed));
        if (!prenorm) {
            LW_ASSIGN(u, norm(layer_, "norm", u));
        }
        lowering_.define(layer_.address + "/U", u);
        return layer_.attributes.contains("ffn_width") ? feed_forward(u) : Expected<Flow>(u);
    }

private:
    Expected<Flow> op(const Layer &part, const char *name, std::vector<ir::ValueId> inputs,
                      ir::Attributes attributes = {}) {
        return lowering_.node(part, name, std::move(inputs), std::move(attributes), Form::features);
    }
    Expected<Flow> linear(const Layer &of, const char *name, Flow x, uint32_t out) {
        return lower_linear(lowering_, part_of(of, name, "linear", {{"out_features", out}, {"bias", true}}),
                            one(x));
    }
    Expected<Flow> norm(const Layer &of, const char *name, Flow x) {
        const std::string kind = layer_.attributes.at("norm");
        if (kind == "none") return x;
        return lower_norm(lowering_, part_of(of, name, kind + "_norm", {{"eps", number(layer_, "norm_eps")}}),
                          one(x));
    }

    // gamma and beta (2, H), each of which the queries and the keys have a row of.
    void read_scales() {
        gamma_ = lowering_.numbers(layer_, "gamma", {2, width_});
        beta_ = lowering_.numbers(layer_, "beta", {2, width_});
    }
    Expected<Flow> scaled(const char *name, Flow z, uint32_t row) {
        std::vector<ir::ValueId> operands = {z.value};
        for (const auto &[parameter, both] : {std::pair("gamma", &gamma_), std::pair("beta", &beta_)}) {
            std::vector<double> values; // none when something was reported
            if (!both->empty()) {
                const auto begin = both->begin() + static_cast<ptrdiff_t>(row) * width_;
                values.assign(begin, begin + width_);
            }
            operands.push_back(lowering_.constant(layer_.key(parameter) + "." + std::to_string(row), {width_},
                                                  std::move(values)));
        }
        return op(part_of(layer_, name, "affine", {}), "affine", std::move(operands));
    }

    // Norm(A)·SiLU(W_g Z), and h_proj of it: Eq. 9-13.
    Expected<Flow> attended(Flow normed, Flow z) {
        read_scales();
        LW_ASSIGN(const Flow q, scaled("query", z, 0));
        LW_ASSIGN(const Flow k, scaled("key", z, 1));
        LW_ASSIGN(Flow v, linear(layer_, "v_proj", normed, value_width_));
        LW_ASSIGN(v, op(part_of(layer_, "v_proj", "silu", {}), "silu", {v.value}));
        const Layer attention = part_of(layer_, "attention", "linear_attention", {});
        LW_ASSIGN(const Flow a,
                  op(attention, flag(layer_, "causal") ? "linear_attention" : "linear_attention_offline",
                     {q.value, k.value, v.value}, {{"heads", int64_t{integer(layer_, "heads")}}}));
        lowering_.define(layer_.address + "/A", a);
        LW_ASSIGN(Flow m, attention_norm(a));
        LW_ASSIGN(Flow gate, linear(layer_, "g_proj", z, value_width_));
        LW_ASSIGN(gate, op(part_of(layer_, "g_proj", "silu", {}), "silu", {gate.value}));
        LW_ASSIGN(m, op(layer_, "mul", {m.value, gate.value}));
        if (flag(layer_, "h_proj")) {
            LW_ASSIGN(m, linear(layer_, "h_proj", m, width_));
        }
        lowering_.define(layer_.address + "/M", m);
        return m;
    }

    Expected<Flow> attention_norm(Flow a) {
        const std::string kind = layer_.attributes.at("att_norm");
        if (kind == "none") return a;
        const Layer part = part_of(layer_, "att_norm", kind, {});
        const bool centred = kind == "layer";
        std::vector<ir::ValueId> operands = {a.value};
        operands.push_back(kind == "srms"
                               ? lowering_.constant("ones", {value_width_}, std::vector(value_width_, 1.0))
                               : lowering_.weight(part, "weight", {value_width_}));
        if (centred) operands.push_back(lowering_.weight(part, "bias", {value_width_}));
        ir::Attributes attributes{{"eps", number(layer_, "att_norm_eps")}};
        if (const uint32_t groups = integer(layer_, "att_norm_groups"); groups > 1)
            attributes["groups"] = int64_t{groups};
        return op(part, centred ? "layer_norm" : "rms_norm", std::move(operands), std::move(attributes));
    }

    // M·o + x·(1 − o) with o = σ(W_o Z), as x + o·(M − x): Eq. 14, 15.
    Expected<Flow> mixed(Flow m, Flow z, Flow x) {
        LW_ASSIGN(Flow o, linear(layer_, "o_gate", z, width_));
        LW_ASSIGN(o, op(part_of(layer_, "o_gate", "sigmoid", {}), "sigmoid", {o.value}));
        const ir::ValueId minus = lowering_.constant("minus one", {width_}, std::vector(width_, -1.0)),
                          zero = lowering_.constant("zeros", {width_}, std::vector(width_, 0.0));
        LW_ASSIGN(Flow u, op(layer_, "affine", {x.value, minus, zero}));
        LW_ASSIGN(u, op(layer_, "add", {m.value, u.value}));
        LW_ASSIGN(u, op(layer_, "mul", {u.value, o.value}));
        return op(layer_, "add", {u.value, x.value});
    }

    Expected<Flow> feed_forward(Flow u) {
        const Layer part = part_of(layer_, "nffn", "chela", {});
        const bool prenorm = flag(layer_, "prenorm");
        LW_ASSIGN(Flow y, prenorm ? norm(part, "norm", u) : Expected<Flow>(u));
        LW_ASSIGN(y, linear(part, "fc1", y, integer(layer_, "ffn_width")));
        const std::string activation = layer_.attributes.at("ffn_activation");
        LW_ASSIGN(y, op(part, activation.c_str(), {y.value}));
        LW_ASSIGN(y, linear(part, "fc2", y, width_));
        LW_ASSIGN(y, op(part, "add", {y.value, u.value}));
        return prenorm ? Expected<Flow>(y) : norm(part, "norm", y);
    }

    Lowering &lowering_;
    const Layer &layer_;
    uint32_t width_, value_width_;
    std::vector<double> gamma_, beta_;
};

} // namespace

Expected<Flow> lower_chela(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    Block block(lowering, layer, width);
    LW_TRY(block.check());
    return block.lower(inputs[0]);
}

} // namespace longwave::compiler::layers
