// attention: softmax attention with its projections: queries; keys, values and the feature that
// says that a row exists -> rotary -> softmax_attention -> projection. Parameter names are those of
// the other attention layers. With relative positions they are those of Transformer-XL (Dai et al.
// 2019, §3.3).
#include "compiler/layers/layers.h"
#include <cmath>

namespace longwave::compiler::layers {
namespace {

class Attention {
public:
    Attention(Lowering &to, const Layer &layer, std::span<const Flow> inputs)
        : to_(to), layer_(layer), x_(inputs[0]), in_(to.width(inputs[0])), heads_(integer(layer, "heads")),
          width_(given(layer_, "head_width") ? heads_ * integer(layer, "head_width") : in_),
          window_(given(layer_, "window") ? integer(layer, "window") : 0), bias_(flag(layer, "bias")) {}

    Expected<Flow> lower() {
        LW_TRY(check());
        LW_ASSIGN(Flow q, to_.product(layer_, "q_proj", x_, width_, bias_));
        LW_ASSIGN(Flow kv, keys_and_values());
        if (flag(layer_, "rotary")) {
            LW_ASSIGN(q, rotated(q));
            LW_ASSIGN(kv, rotated(kv));
        }
        std::vector<ir::ValueId> operands = {kv.value, q.value};
        if (flag(layer_, "relative")) {
            operands.push_back(lags());
            for (const char *name : {"r_w_bias", "r_r_bias"})
                operands.push_back(to_.constant(layer_.key(name) + ".flat", {width_},
                                                to_.numbers(layer_, name, {heads_, width_ / heads_})));
        }
        LW_ASSIGN(const Flow o, to_.node(layer_, "softmax_attention", std::move(operands),
                                         {{"heads", int64_t{heads_}},
                                          {"window", int64_t{window_}},
                                          {"causal", int64_t{flag(layer_, "causal")}}},
                                         Form::features));
        if (!flag(layer_, "output_projection")) return o;
        return to_.product(layer_, "o_proj", o, in_,
                           given(layer_, "output_bias") ? flag(layer_, "output_bias") : bias_);
    }

private:
    Status check() const {
        if (width_ % heads_)
            return to_.failure(layer_, "heads", "a divisor of the " + std::to_string(width_) + " features",
                               std::to_string(heads_),
                               "give \"head_width\" where heads are narrower or wider");
        const bool causal = flag(layer_, "causal"), relative = flag(layer_, "relative"),
                   rotary = flag(layer_, "rotary");
        if (window_ && !causal)
            return to_.failure(layer_, "window", "none where causal is false", std::to_string(window_));
        if (relative && !window_)
            return to_.failure(layer_, "relative", "false without a window", "true",
                               "give \"window\": the memory of the model and the row itself");
        if (relative && rotary) return to_.failure(layer_, "rotary", "false where relative is true", "true");
        if (rotary && width_ / heads_ % 2)
            return to_.failure(layer_, "rotary", "heads of an even width", std::to_string(width_ / heads_));
        if (relative && in_ % 2)
            return to_.failure(layer_, "relative", "an even number of features", std::to_string(in_));
        return Status::ok();
    }

    // [keys | values | 1] in one multiplication: the last row of weights is zero, its bias is 1.
    Expected<Flow> keys_and_values() {
        std::vector<double> weight, bias;
        bool complete = true;
        for (const std::string name : {"k_proj", "v_proj"}) {
            const std::vector<double> part = to_.numbers(layer_, name + ".weight", {width_, in_});
            complete = complete && !part.empty();
            weight.insert(weight.end(), part.begin(), part.end());
            const std::vector<double> own =
                bias_ ? to_.numbers(layer_, name + ".bias", {width_}) : std::vector<double>(width_, 0.0);
            bias.insert(bias.end(), own.begin(), own.end());
        }
        const uint32_t out = 2 * width_ + 1;
        weight.resize(complete ? size_t{out} * in_ : 0, 0.0);
        bias.push_back(1);
        if (bias.size() != out) bias.clear(); // something was reported
        const std::string key = layer_.key("k_proj") + "+" + layer_.key("v_proj");
        return to_.node(layer_, "linear",
                        {x_.value, to_.constant(key + ".weight", {out, in_}, std::move(weight)),
                         to_.constant(key + ".bias", {out}, std::move(bias))},
                        {{"bias", int64_t{1}}}, Form::features);
    }

    Expected<Flow> rotated(Flow x) {
        const uint32_t pairs = width_ / heads_ / 2;
        std::vector<double> theta; // in float32, as every published code has it
        for (uint32_t i = 0; i < pairs; ++i)
            theta.push_back(static_cast<float>(std::pow(number(layer_, "rotary_base"), -double(i) / pairs)));
        const ir::ValueId rates = to_.constant(layer_.address + ".theta", {pairs}, std::move(theta));
        const bool interleaved = layer_.attributes.at("rotary_pairs") == "interleaved";
        return to_.node(layer_, "rotary", {x.value, rates},
                        {{"heads", int64_t{heads_}}, {"interleaved", int64_t{interleaved}}}, Form::features);
    }

    // r of each lag: a sinusoid [sin | cos] of the lag, projected.
    ir::ValueId lags() {
        const std::vector<double> projection = to_.numbers(layer_, "r_proj.weight", {width_, in_});
        std::vector<double> r, wave(in_);
        const uint32_t half = in_ / 2;
        for (uint32_t lag = 0; lag < window_ && !projection.empty(); ++lag) {
            for (uint32_t i = 0; i < half; ++i) {
                const double phase = lag * std::pow(10000.0, -double(i) / half);
                wave[i] = std::sin(phase);
                wave[half + i] = std::cos(phase);
            }
            for (uint32_t o = 0; o < width_; ++o) {
                double sum = 0;
                for (uint32_t i = 0; i < in_; ++i) sum += projection[size_t{o} * in_ + i] * wave[i];
                r.push_back(sum);
            }
        }
        return to_.constant(layer_.key("r_proj.weight") + " of lags", {window_, width_}, std::move(r));
    }

    Lowering &to_;
    const Layer &layer_;
    const Flow x_;
    const uint32_t in_, heads_, width_, window_;
    const bool bias_;
};

} // namespace

Expected<Flow> lower_attention(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_TRY(feature_width(lowering, layer, inputs[0]).status());
    return Attention(lowering, layer, inputs).lower();
}

} // namespace longwave::compiler::layers
