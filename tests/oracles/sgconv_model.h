// Model descriptions for SGConv oracles: one layer, or the s4 backbone with encoder, blocks and
// head.
#pragma once
#include "formats/package/package.h"
#include <optional>

namespace longwave::oracles {

using Weights = std::map<std::string, package::Tensor>;

// What "y" holds: one row a sequence, or a row a position, of which the fixture may keep some at
// one end.
enum class Head { pooled, first_positions, last_positions };

struct SgconvModel {
    std::string json;
    std::string input_name; // of the fixture's tensor: "x" or "ids"
    size_t documents = 1;   // 2: pairs, with inputs "ids.0" and "ids.1" and outputs "h.0" and "h.1"
    Head head = Head::pooled;
    bool first = false; // the head answers with the first position of the sequence
    // whether pooling stops at the length of a sequence; not said: where the fixture has lengths
    std::optional<bool> lengths;
    std::string input(size_t document) const {
        return documents == 1 ? input_name : input_name + "." + std::to_string(document);
    }
    std::string hidden(size_t document) const {
        return documents == 1 ? "h" : "h." + std::to_string(document);
    }
};

// The layer without its name. `config` holds the official GConv options; `positions`: length of the
// sequences.
Expected<nlohmann::json> sgconv_layer(const nlohmann::json &config, size_t positions);

// `weights` under the official state dict names; `tokens`: the input is "ids". Outputs: "y" logits,
// "h" of the backbone, "pool" logits of the running mean where the fixture has them.
Expected<SgconvModel> sgconv_model(const std::string &name, const nlohmann::json &config,
                                   const Weights &weights, bool tokens, size_t positions);

// outputs: name and the layer it comes from.
std::string model_json(const std::string &name, nlohmann::json inputs, nlohmann::json layers,
                       const std::vector<std::pair<std::string, std::string>> &outputs);

} // namespace longwave::oracles
