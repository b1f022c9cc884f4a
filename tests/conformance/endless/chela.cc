// A CHELA block (Eq. 8-15; models.md §2.1) with LayerNorm before it, two heads, SiLU between the
// short convolution (3 taps and an identity) and the long one (48 taps and D), srms behind the
// attention, and the feed-forward part.
#include "tests/conformance/endless/endless_model.h"

namespace longwave::test::endless {
namespace {

constexpr size_t heads = 2, of_head = width / heads, hidden = 8, short_taps = 3, long_taps = 48;

class Affine { // a row-by-row product with its bias
public:
    Affine(Tensors &weights, const std::string &name, uint32_t seed, size_t out = width, size_t in = width)
        : w_(weights, name + ".weight", seed, out, in), b_(weights, name + ".bias", seed + 1, {out}, 0, 0.1) {
    }
    std::vector<double> operator()(const double *x) const {
        std::vector<double> y = w_(x);
        for (size_t o = 0; o < y.size(); ++o) y[o] += b_[o];
        return y;
    }
    Row operator()(const Row &x) const {
        Row y = w_(x);
        for (size_t c = 0; c < width; ++c) y[c] += b_[c];
        return y;
    }

private:
    Product w_;
    Vector b_;
};

class LayerNorm {
public:
    LayerNorm(Tensors &weights, const std::string &name, uint32_t seed)
        : w_(weights, name + ".weight", seed, {width}, 1, 0.3),
          b_(weights, name + ".bias", seed + 1, {width}, 0, 0.1) {}
    Row operator()(Row x) const {
        double mean = 0, square = 0;
        for (const double value : x) mean += value / width;
        for (double &value : x) {
            value -= mean;
            square += value * value / width;
        }
        for (size_t c = 0; c < width; ++c) x[c] = x[c] / std::sqrt(square + 1e-5) * w_[c] + b_[c];
        return x;
    }

private:
    Vector w_, b_;
};

class Block {
public:
    explicit Block(Tensors &w)
        : norm_(w, "b.norm", 100), ffn_norm_(w, "b.nffn.norm", 102), v_(w, "b.v_proj", 104),
          g_(w, "b.g_proj", 106), o_(w, "b.o_gate", 108), fc1_(w, "b.nffn.fc1", 110, hidden, width),
          fc2_(w, "b.nffn.fc2", 112, width, hidden), d_(w, "b.long.D", 114, {width}, 0, 1),
          gamma_(w, "b.gamma", 115, {2, width}, 1, 0.3), beta_(w, "b.beta", 116, {2, width}, 0, 0.1),
          short_(short_kernel(w)), long_(long_kernel(w)) {}

    Row operator()(const Row &x) {
        const Row n = norm_(x), a = map(short_(n), silu);
        Row z = long_(a);
        for (size_t c = 0; c < width; ++c) z[c] += d_[c] * a[c];
        Row m = rms_norm(attention(z, map(v_(n), silu)), 1e-6, [](size_t) { return 1.0; });
        const Row gate = map(g_(z), silu), o = map(o_(z), logistic);
        Row u;
        for (size_t c = 0; c < width; ++c) u[c] = m[c] * gate[c] * o[c] + x[c] * (1 - o[c]);
        std::vector<double> h = fc1_(ffn_norm_(u).data());
        for (double &value : h) value = silu(value);
        const std::vector<double> y = fc2_(h.data());
        for (size_t c = 0; c < width; ++c) u[c] += y[c];
        return u;
    }

private:
    // qᵀS of each head, S the sum of all keys with their values: long double, for it sums for ever.
    Row attention(const Row &z, const Row &v) {
        Row a{};
        for (size_t i = 0; i < width; ++i) {
            const double q = gamma_[i] * z[i] + beta_[i], k = gamma_[width + i] * z[i] + beta_[width + i];
            const size_t head = i / of_head * of_head;
            for (size_t c = 0; c < of_head; ++c) {
                long double &s = s_[i][c];
                s += static_cast<long double>(k) * v[head + c];
                a[head + c] += q * static_cast<double>(s);
            }
        }
        return a;
    }
    // In torch's order the newest row comes last.
    static std::vector<float> short_kernel(Tensors &w) {
        const std::vector<float> stored = random_numbers(width * short_taps, 117, 0.5);
        w["b.short.0.conv.weight"] = {{width, 1, short_taps}, std::vector<float>(stored)};
        std::vector<float> k(stored.size());
        for (size_t c = 0; c < width; ++c) {
            for (size_t j = 0; j < short_taps; ++j)
                k[c * short_taps + j] = stored[c * short_taps + short_taps - 1 - j];
            k[c * short_taps] += 1; // the identity
        }
        return k;
    }
    static std::vector<float> long_kernel(Tensors &w) {
        std::vector<float> k = random_numbers(width * long_taps, 118, 0.2);
        w["b.long.k0"] = {{width, long_taps}, std::vector<float>(k)};
        return k;
    }

    LayerNorm norm_, ffn_norm_;
    Affine v_, g_, o_, fc1_, fc2_;
    Vector d_, gamma_, beta_;
    Convolution short_, long_;
    std::array<std::array<long double, of_head>, width> s_{};
};

} // namespace

Model chela() {
    Model model{.name = "chela", .json = R"({"format": "longwave-model", "version": 1, "name": "chela",
        "inputs": [{"name": "x", "kind": "features", "width": 4}],
        "layers": [{"type": "chela", "name": "b", "norm": "layer", "heads": 2, "ffn_width": 8, "long_d": true,
                    "short_branches": [{"kind": "conv1d", "kernel": 3, "bias": false}, {"kind": "identity"}]},
                   {"type": "mean", "name": "pool"}],
        "outputs": [{"name": "y", "from": "b"}, {"name": "pool", "from": "pool"}]})"};
    auto block = std::make_shared<Block>(model.weights);
    model.step = [=](const Row &x) { return (*block)(x); };
    return model;
}

} // namespace longwave::test::endless
