// Small models whose streams have no end, each with its float64 recurrence from the definition: a
// step of both costs the same after ten rows and after ten million.
#pragma once
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <array>
#include <cmath>
#include <functional>
#include <memory>

namespace longwave::test::endless {

constexpr size_t width = 4; // of rows, and of every layer
using Row = std::array<double, width>;

struct Model {
    const char *name;
    std::string json; // one input x, outputs y (a row a tick) and pool (its running mean)
    Tensors weights;
    std::function<Row(const Row &x)> step; // the next row of y; called from the first tick on
};

Model sgconv();
Model chela();
Model lightnet();

// Weights of a row-by-row product, (out, in), as they lie in a package.
class Product {
public:
    Product(Tensors &weights, const std::string &key, uint32_t seed, size_t out = width, size_t in = width,
            double scale = 0.7)
        : out_(out), in_(in), w_(random_numbers(out * in, seed, scale)) {
        weights[key] = {{out, in}, std::vector<float>(w_)};
    }
    std::vector<double> operator()(const double *x) const {
        std::vector<double> y(out_);
        for (size_t o = 0; o < out_; ++o)
            for (size_t i = 0; i < in_; ++i) y[o] += double{w_[o * in_ + i]} * x[i];
        return y;
    }
    Row operator()(const Row &x) const {
        Row y{};
        for (size_t o = 0; o < width; ++o)
            for (size_t i = 0; i < width; ++i) y[o] += double{w_[o * width + i]} * x[i];
        return y;
    }

private:
    size_t out_, in_;
    std::vector<float> w_;
};

// A vector of parameters, uniform in mean ± scale.
class Vector {
public:
    Vector(Tensors &weights, const std::string &key, uint32_t seed, std::vector<uint64_t> shape, double mean,
           double scale) {
        size_t n = 1;
        for (const uint64_t d : shape) n *= d;
        v_ = random_numbers(n, seed, scale);
        for (float &value : v_) value += static_cast<float>(mean);
        weights[key] = {std::move(shape), std::vector<float>(v_)};
    }
    double operator[](size_t i) const { return v_[i]; }

private:
    std::vector<float> v_;
};

// The last `taps` rows, newest first: (k ∗ x)[t] with taps [channel][lag].
class Convolution {
public:
    explicit Convolution(std::vector<float> taps)
        : n_(taps.size() / width), taps_(std::move(taps)), past_(2 * n_) {}
    Row operator()(const Row &x) {
        at_ = (at_ + n_ - 1) % n_;
        past_[at_] = past_[at_ + n_] = x; // twice, so that the last n rows are always in one piece
        Row y{};
        for (size_t j = 0; j < n_; ++j)
            for (size_t c = 0; c < width; ++c) y[c] += double{taps_[c * n_ + j]} * past_[at_ + j][c];
        return y;
    }

private:
    size_t n_, at_ = 0;
    std::vector<float> taps_;
    std::vector<Row> past_;
};

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu(double x) { return x * logistic(x); }
inline double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
template <class F> Row map(Row x, F f) {
    for (double &value : x) value = f(value);
    return x;
}
// x / √(mean x² + eps), times weights.
template <class Weight> Row rms_norm(Row x, double eps, const Weight &weight) {
    double sum = 0;
    for (const double value : x) sum += value * value;
    const double scale = 1 / std::sqrt(sum / width + eps);
    for (size_t c = 0; c < width; ++c) x[c] *= scale * weight(c);
    return x;
}

} // namespace longwave::test::endless
