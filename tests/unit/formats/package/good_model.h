// A model description with everything in it, and what `package::parse` says about changes of it.
#pragma once
#include "formats/package/package.h"
#include <doctest/doctest.h>

namespace longwave::test {

using nlohmann::json;
using Weights = std::map<std::string, package::Tensor>;

// A model with everything in it that is right; each test makes one thing wrong.
inline json good_model() {
    return json::parse(R"({
      "format": "longwave-model", "version": 1, "name": "tiny",
      "inputs": [{"name": "x", "kind": "features", "width": 4}],
      "layers": [
        {"type": "linear", "name": "encoder", "out_features": 8},
        {"type": "residual", "name": "block", "norm": {"type": "batch_norm"}, "layers": [
          {"type": "sgconv", "name": "conv", "kernel_dim": 4, "l_max": 16, "postact": "glu"},
          {"type": "gelu", "name": "act"}]},
        {"type": "linear", "name": "head", "out_features": 2, "prefix": "decoder", "keys": {"bias": "decoder.b"}},
        {"type": "softmax", "name": "softmax"}],
      "outputs": [{"name": "logits", "from": "head"}, {"name": "p", "from": "softmax"}, {"name": "hidden", "from": "block/conv"}],
      "labels": ["yes", "no"],
      "decision": {"output": "p", "ignore": ["no"], "threshold": {"default": 0.8, "yes": 0.75}, "smoothing_ms": 200, "min_count": 2, "release": 0.4, "refractory_ms": 500}
    })");
}

inline std::string failure(const std::string &text, Weights weights = {}) {
    auto package = package::parse(text, std::move(weights));
    if (package) return "";
    CHECK(package.status().fault() == Fault::input);
    return package.status().message();
}

inline void refused(const std::string &text, const std::string &message) { CHECK(failure(text) == message); }

// `value` at a JSON pointer of the good model.
inline void refused_at(const char *pointer, json value, const std::string &message) {
    json model = good_model();
    model[json::json_pointer(pointer)] = std::move(value);
    CAPTURE(pointer);
    refused(model.dump(), message);
}

inline void refused_without(const char *parent, const char *key, const std::string &message) {
    json model = good_model();
    model[json::json_pointer(parent)].erase(key);
    refused(model.dump(), message);
}

} // namespace longwave::test
