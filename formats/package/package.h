// Reads a model package (docs/model-format.md): model.json as plain structs, weights by key. Knows
// nothing of graphs.
#pragma once
#include "formats/base/expected.h"
#include "formats/base/float_array.h"
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace longwave::package {

struct Tensor {
    std::vector<uint64_t> shape; // empty: a scalar
    FloatArray data; // of a large file: in the file, which must not change until the last copy is gone

    uint64_t elements() const { // by its shape: also where the data was let go
        uint64_t n = 1;
        for (const uint64_t d : shape) n *= d;
        return n;
    }
};

struct Input {
    enum class Kind { audio, features, tokens };
    std::string name;
    Kind kind = Kind::audio;
    uint32_t width = 1, sample_rate = 0, vocabulary = 0;
};

struct Layer {
    std::string path; // JSON path for messages: "layers[3].layers[0]"
    std::string type, name, prefix;
    std::string address; // the name with those of the residuals around it: "block.0/glu"; the norm of a
                         // residual: "block.0/norm"
    std::vector<std::string> inputs; // addresses of layers or inputs; empty: the layer before
    // checked against the layer type's list (layer_types.h) by the reader, defaults filled in
    nlohmann::json attributes;
    std::map<std::string, std::string> keys; // parameter -> tensor key
    std::vector<Layer> layers;               // residual
    std::shared_ptr<Layer> norm;             // residual

    // What the tensor keys of the layer begin with: "head.". Empty for the prefix "".
    std::string key_start() const { return prefix.empty() ? prefix : prefix + "."; }
    // The tensor key of parameter `p`.
    std::string key(const std::string &p) const {
        auto it = keys.find(p);
        return it != keys.end() ? it->second : key_start() + p;
    }
};

struct NodeInput {
    std::string name; // of an input, of an earlier node, or the key of a tensor
    bool tensor = false;
};

// A node of a version 2 package: one op; without op, the next layer of the package.
struct Node {
    std::string path; // JSON path for messages: "graph[3]"
    std::string name, op;
    std::vector<NodeInput> inputs;
    nlohmann::json attributes; // integers, numbers and texts

    // The layer for reports: the name up to its last '/', or the name.
    std::string layer() const {
        const size_t slash = name.rfind('/');
        return slash == std::string::npos || slash == 0 ? name : name.substr(0, slash);
    }
};

struct Output {
    std::string name, from;   // from: the address of a layer, node or input
    bool audio = false;       // a row is samples, in order
    uint32_t sample_rate = 0; // audio: Hz; 0: that of the input times samples per tick
    uint32_t lag = 0;         // audio: samples by which it lags inside its rows
};

struct Decision {
    std::string output;
    std::vector<std::string> ignore;
    float default_threshold = 0.8f;
    std::map<std::string, float> thresholds; // by label
    float smoothing_ms = 300, release = 0.5f, refractory_ms = 1000;
    uint32_t min_count = 3;
};

struct Package {
    std::string name;
    std::vector<Input> inputs;
    std::vector<Layer> layers;
    std::vector<Node> graph; // if not empty, `layers` are those among its nodes
    uint32_t length = 0;     // ticks of an offline run; 0: not given
    std::vector<Output> outputs;
    std::vector<std::string> labels;
    bool has_decision = false;
    Decision decision;
    std::map<std::string, Tensor> weights;
    // keys of weights that no layer or node reads: worth a warning (training counters are left out)
    std::vector<std::string> unused;
};

// Fault::input lists every problem, one line each. Weights are required to be finite.
Expected<Package> read(const std::string &folder);
// The same from memory (oracle fixtures, tests): `weights` as in weights.safetensors. Both check
// that every weight is finite.
Expected<Package> parse(const std::string &model_json, std::map<std::string, Tensor> weights);
// Reads one safetensors file; every offset, shape and duplicate is checked. Element types: F32;
// F16, BF16, F64, I64 and BOOL become float32 as safetensors.h says; any other is refused by name.
Expected<std::map<std::string, Tensor>> read_safetensors(const std::string &path);

// Fault::input: the numbers that are infinite or no numbers, one line for each tensor. For readers of other
// formats; read and parse have done it.
Status check_finite(const std::map<std::string, Tensor> &weights);

// The sample rate of an output whose rows are audio: that of the input, times samples per tick.

// Samples per second of rows of `width` samples, `num` rows in `den` ticks, for each second of which
// the input has `rate` ticks. As a fraction in lowest terms it has the denominator 1, or there is
// none.
inline std::optional<uint32_t> samples_per_second(uint32_t rate, uint32_t width, uint32_t num, uint32_t den) {
    const uint64_t ticks = uint64_t{rate} * width; // below 2^20 times 2^24
    if (den == 0 || num == 0 || ticks > UINT64_MAX / num || ticks * num % den != 0) return std::nullopt;
    const uint64_t samples = ticks * num / den;
    return samples <= UINT32_MAX ? std::optional(static_cast<uint32_t>(samples)) : std::nullopt;
}

// The first input that says how many ticks a second has; 0: none does. All inputs have the same.
inline uint32_t ticks_per_second(const Package &package) {
    for (const Input &input : package.inputs)
        if (input.sample_rate) return input.sample_rate;
    return 0;
}

// Of an output with these rows: what it says, or what follows from the inputs. 0: no audio.
inline uint32_t sample_rate_of(const Package &package, const std::string &name, uint32_t width, uint32_t num,
                               uint32_t den) {
    for (const Output &output : package.outputs) {
        if (output.name != name || !output.audio) continue;
        return output.sample_rate
                   ? output.sample_rate
                   : samples_per_second(ticks_per_second(package), width, num, den).value_or(0);
    }
    return 0;
}

} // namespace longwave::package
