// The one table of layer types: their attributes with kinds, defaults and ranges, and the names of
// their parameters. docs/model-format.md shows the same table. A test compares both. What a layer
// computes is compiler/layers.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::package {

constexpr double max_dim = 1 << 24; // of anything that becomes a dimension

struct AttributeType {
    enum class Kind { integer, number, boolean, text, pair, branches };
    std::string name;
    Kind kind = Kind::integer;
    bool required = true;
    std::string fallback = {};             // JSON text of the default; empty: absent unless given
    double low = 1, high = max_dim;        // integer, number, both of a pair
    std::vector<std::string> choices = {}; // text: the only values; "null" stands for JSON null
};

struct ParameterType {
    std::string name; // "weight"; '#' stands for an index: "kernel_list.#"
    std::vector<std::string> when =
        {}; // it is read when these attributes are true (or not null); "!linear": when `linear` is not
};

struct LayerType {
    std::string name;
    std::vector<AttributeType> attributes;
    std::vector<ParameterType> parameters;
    bool norm = false; // may be the norm of a residual
    bool two_inputs = false;
    bool may_mask = false; // `inputs` may name a second one, of width 1: 0 where a row is padding
    std::vector<std::string> values = {}; // what other layers may read inside it, as "<address>/<value>"
};

const std::vector<LayerType> &layer_types();
std::vector<LayerType> family_types(); // those of CHELA, Orchid, LightNet and S4D, a part of layer_types()
const LayerType *find_layer_type(std::string_view name); // null when unknown

// Elements of the attribute `branches`, in the same form: "conv1d" and "identity".
const std::vector<LayerType> &branch_kinds();

// The parameters that `type` reads with these checked attributes; of indexed ones as many as there
// may be ("kernel_list.0" … "kernel_list.63").
std::vector<std::string> read_parameters(const LayerType &type, const nlohmann::json &attributes);

} // namespace longwave::package
