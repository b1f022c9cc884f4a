// Packages of one input and random weights, written layer by layer, for tests whose subject is what
// becomes of them.
#pragma once
#include "tests/support/compiled_model.h"
#include <nlohmann/json.hpp>

namespace longwave::test {

nlohmann::json features_input(uint64_t width);
nlohmann::json tokens_input(uint64_t vocabulary);

class LayerPackage {
public:
    explicit LayerPackage(nlohmann::json input) : input_(std::move(input)) {}

    struct Long {
        uint32_t kernel_dim = 16;
        bool two_sided = false;
        float norm = 2; // divides the kernel, whose first scales are the largest
        uint32_t copies = 1;
        bool alone = false; // the convolution, without activation and projection
    };

    void plain(const std::string &type, const std::string &name); // without weights
    void linear(const std::string &name, uint64_t in, uint64_t out, float gain = 1);
    void layer_norm(const std::string &name, uint64_t channels);
    void embedding(const std::string &name, uint64_t vocabulary, uint64_t channels);
    void conv1d(const std::string &name, uint64_t in, uint64_t out, uint64_t kernel, uint64_t stride = 1);
    void sgconv(const std::string &name, uint64_t channels, uint32_t l_max, const Long &how); // with GLU
    void sgconv(const std::string &name, uint64_t channels, uint32_t l_max) {
        sgconv(name, channels, l_max, Long());
    }

    // Its output is that of the last layer.
    Expected<compiler::Compiled> compile(const compiler::Options &options) const;

private:
    void tensor(const std::string &name, std::vector<uint64_t> shape, float scale, float mean = 0);

    nlohmann::json input_, layers_ = nlohmann::json::array();
    Tensors weights_;
    uint32_t seed_ = 1;
};

} // namespace longwave::test
