// Two SGConv layers in residuals (models.md §1.1-1.4). The kernel of 256 taps is built here from
// its definition: five scales of 16 weights, linear between them, each scale half as loud as the
// one before, L2 norm 1.
#include "tests/conformance/endless/endless_model.h"

namespace longwave::test::endless {
namespace {

constexpr size_t dim = 16, scales = 5, taps = dim << (scales - 1);
constexpr double growth = 2;

std::vector<float> kernel(const std::vector<std::vector<float>> &weights) {
    std::vector<float> k(width * taps);
    for (size_t c = 0; c < width; ++c) {
        std::vector<double> row;
        for (size_t i = 0; i < scales; ++i) {
            const size_t s = i < 2 ? 1 : size_t{1} << (i - 1);
            for (size_t m = 0; m < dim * s; ++m) {
                const double source =
                    std::max(0.0, (static_cast<double>(m) + 0.5) / static_cast<double>(s) - 0.5);
                const size_t low = static_cast<size_t>(source), high = std::min(low + 1, dim - 1);
                const double part = source - static_cast<double>(low);
                row.push_back(std::pow(growth, static_cast<double>(scales - 1 - i)) *
                              ((1 - part) * weights[i][c * dim + low] + part * weights[i][c * dim + high]));
            }
        }
        double square = 0;
        for (const double value : row) square += value * value;
        for (size_t j = 0; j < taps; ++j) k[c * taps + j] = static_cast<float>(row[j] / std::sqrt(square));
    }
    return k;
}

class Layer {
public:
    Layer(Tensors &weights, const std::string &name, uint32_t seed)
        : d_(weights, name + ".D", seed, {1, width}, 0, 1),
          out_(weights, name + ".output_linear.weight", seed + 1),
          bias_(weights, name + ".output_linear.bias", seed + 2, {width}, 0, 0.1),
          convolution_(made(weights, name, seed + 3)) {}
    Row operator()(const Row &x) {
        Row y = convolution_(x);
        for (size_t c = 0; c < width; ++c) y[c] = gelu(y[c] + d_[c] * x[c]);
        y = out_(y);
        for (size_t c = 0; c < width; ++c) y[c] += x[c] + bias_[c];
        return y;
    }

private:
    static std::vector<float> made(Tensors &weights, const std::string &name, uint32_t seed) {
        std::vector<std::vector<float>> lists;
        for (size_t i = 0; i < scales; ++i) {
            lists.push_back(random_numbers(width * dim, seed + static_cast<uint32_t>(i), 1));
            weights[name + ".kernel_list." + std::to_string(i)] = {{1, width, dim},
                                                                   std::vector<float>(lists.back())};
        }
        weights[name + ".kernel_norm_initialized"] = {{}, {0.0f}};
        weights[name + ".multiplier"] = {{1, width, 1},
                                         std::vector<float>(width, static_cast<float>(growth))};
        return kernel(lists);
    }
    Vector d_;
    Product out_;
    Vector bias_;
    Convolution convolution_;
};

} // namespace

Model sgconv() {
    Model model{.name = "sgconv", .json = R"({"format": "longwave-model", "version": 1, "name": "sgconv",
        "inputs": [{"name": "x", "kind": "features", "width": 4}],
        "layers": [{"type": "residual", "name": "0", "norm": null, "layers": [
                       {"type": "sgconv", "name": "conv", "prefix": "0.conv", "kernel_dim": 16, "l_max": 256}]},
                   {"type": "residual", "name": "1", "norm": null, "layers": [
                       {"type": "sgconv", "name": "conv", "prefix": "1.conv", "kernel_dim": 16, "l_max": 256}]},
                   {"type": "mean", "name": "pool"}],
        "outputs": [{"name": "y", "from": "1"}, {"name": "pool", "from": "pool"}]})"};
    auto first = std::make_shared<Layer>(model.weights, "0.conv", 10),
         second = std::make_shared<Layer>(model.weights, "1.conv", 30);
    model.step = [=](const Row &x) { return (*second)((*first)(x)); };
    return model;
}

} // namespace longwave::test::endless
