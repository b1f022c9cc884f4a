// A LightNet block (Eq. 7; models.md §4.1): attention with cosine positions, RMSNorm and sigmoid
// gate in a residual, and its GLU in another. Two heads of 2 × 2.
#include "tests/conformance/endless/endless_model.h"

namespace longwave::test::endless {
namespace {

constexpr size_t heads = 2, of_head = width / heads, hidden = 8;

class Block {
public:
    explicit Block(Tensors &w)
        : q_(w, "a.q_proj.weight", 200), k_(w, "a.k_proj.weight", 201, width, width, 3),
          v_(w, "a.v_proj.weight", 202), o_(w, "a.o_proj.weight", 203), gate_(w, "a.output_gate.weight", 204),
          w1_(w, "g.w1.weight", 205, hidden), w2_(w, "g.w2.weight", 206, hidden),
          w3_(w, "g.w3.weight", 207, width, hidden), norm_(w, "a.norm.weight", 208, {width}, 1, 0.3),
          theta_(w, "a.lrpe.theta", 209, {of_head}, 0.5, 0.4),
          before_a_(w, "token.norm.weight", 210, {width}, 1, 0.3),
          before_g_(w, "channel.norm.weight", 211, {width}, 1, 0.3) {
        z_.fill(-INFINITY);
    }

    Row operator()(const Row &x) {
        const Row n = normed(x, 1e-6, before_a_), gate = map(gate_(n), logistic);
        Row a = normed(attention(n), 1e-6, norm_);
        for (size_t c = 0; c < width; ++c) a[c] *= gate[c];
        a = o_(a);
        for (size_t c = 0; c < width; ++c) a[c] += x[c];
        const Row m = normed(a, 1e-6, before_g_);
        std::vector<double> up = w1_(m.data());
        const std::vector<double> by = w2_(m.data());
        for (size_t i = 0; i < hidden; ++i) up[i] = silu(up[i]) * by[i];
        const std::vector<double> y = w3_(up.data());
        for (size_t c = 0; c < width; ++c) a[c] += y[c];
        return a;
    }

private:
    static Row normed(const Row &x, double eps, const Vector &weight) {
        return rms_norm(x, eps, [&](size_t c) { return weight[c]; });
    }

    // C ← C + k̄(rotated v − C) with k̄ = e^k / Σe^k, in long double.
    Row attention(const Row &n) {
        const Row q = map(q_(n), silu), k = k_(n), v = v_(n);
        Row o{};
        for (size_t i = 0; i < width; ++i) {
            const long double top = std::max<long double>(z_[i], k[i]);
            z_[i] = top + std::log(std::exp(z_[i] - top) + std::exp(k[i] - top));
            const long double weight = std::exp(k[i] - z_[i]);
            const double phase = std::fmod(static_cast<double>(t_) * theta_[i % of_head], 2 * M_PI);
            const double turns[] = {std::cos(phase), std::sin(phase)};
            const size_t head = i / of_head * of_head;
            for (size_t part = 0; part < 2; ++part)
                for (size_t c = 0; c < of_head; ++c) {
                    long double &element = c_[i][part][c];
                    element += weight * (turns[part] * v[head + c] - element);
                    o[head + c] += q[i] * turns[part] * static_cast<double>(element);
                }
        }
        t_++;
        return o;
    }

    Product q_, k_, v_, o_, gate_, w1_, w2_, w3_;
    Vector norm_, theta_, before_a_, before_g_;
    std::array<long double, width> z_;
    std::array<std::array<std::array<long double, of_head>, 2>, width> c_{};
    uint64_t t_ = 0;
};

} // namespace

Model lightnet() {
    Model model{.name = "lightnet", .json = R"({"format": "longwave-model", "version": 1, "name": "lightnet",
        "inputs": [{"name": "x", "kind": "features", "width": 4}],
        "layers": [{"type": "residual", "name": "token", "norm": {"type": "rms_norm"}, "layers": [
                       {"type": "lightnet_attention", "name": "a", "heads": 2, "lrpe": "cosine"}]},
                   {"type": "residual", "name": "channel", "norm": {"type": "rms_norm"}, "layers": [
                       {"type": "gated_mlp", "name": "g", "hidden": 8}]},
                   {"type": "mean", "name": "pool"}],
        "outputs": [{"name": "y", "from": "channel"}, {"name": "pool", "from": "pool"}]})"};
    auto block = std::make_shared<Block>(model.weights);
    model.step = [=](const Row &x) { return (*block)(x); };
    return model;
}

} // namespace longwave::test::endless
