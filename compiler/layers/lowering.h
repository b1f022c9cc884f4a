// Shared by all layers while a model is lowered: the graph under construction, the weights, and the
// list of problems.
//
// Lowering continues to the end of the model, so that one run reports every problem. A weight that
// is missing or has the wrong shape is reported, and a constant without data replaces it. A layer
// that cannot be lowered is replaced by a value of the type that its result would have.
#pragma once
#include "compiler/ir/builder.h"
#include "formats/package/package.h"
#include "formats/package/problems.h"
#include <map>
#include <optional>
#include <span>

namespace longwave::compiler::layers {

using package::Layer;

// How the next layer reads the features of a row.
enum class Form {
    features, // one list of features
    image,    // frequency × channel, made by conv2d; {C} is one frequency of C channels
    flat      // rows of two dimensions counted as one list of features, slowest first
};

struct Flow {
    ir::ValueId value = 0;
    Form form = Form::features;
};

class Lowering {
public:
    Lowering(const package::Package &package, ir::Builder &builder) : package_(package), builder_(builder) {}

    // ---- the graph
    ir::Type type(Flow flow) const { return builder_.graph().type(flow.value); }
    uint32_t width(Flow flow) const { return type(flow).width(); }
    // The op's result keeps the form of `like`.
    Expected<Flow> node(const Layer &layer, const std::string &op, std::vector<ir::ValueId> inputs,
                        ir::Attributes attributes, Form form);
    ir::ValueId constant(std::string key, std::vector<uint32_t> shape, ir::Numbers data);
    const ir::GraphInput *graph_input(Flow flow) const; // null when the value is not an input of the model

    // ---- weights
    // The tensor of a parameter as a constant of `shape`. `stored`: other shapes that the tensor
    // may have in the package, with the same elements.
    ir::ValueId weight(const Layer &layer, const std::string &parameter, const std::vector<uint32_t> &shape,
                       const std::vector<std::vector<uint32_t>> &stored = {});
    // The same as numbers; empty if a problem was reported.
    std::vector<double> numbers(const Layer &layer, const std::string &parameter,
                                const std::vector<uint32_t> &shape,
                                const std::vector<std::vector<uint32_t>> &stored = {});
    // The tensor `key` as a constant of its own shape; nothing when a problem was reported at
    // `path`.
    std::optional<ir::ValueId> tensor(const std::string &key, const std::string &path);
    const package::Tensor *find(const Layer &layer,
                                const std::string &parameter) const; // null when the package has none
    // x times the matrix `name`.weight (out, width of x) and, with `bias`, plus `name`.bias (out).
    Expected<Flow> product(const Layer &layer, const std::string &name, Flow x, uint32_t out, bool bias);

    // ---- problems
    // `attribute` may be empty. The line starts with the JSON path.
    void problem(const Layer &layer, const std::string &attribute, const std::string &expected,
                 const std::string &found, const std::string &way_out = {});
    Status failure(const Layer &layer, const std::string &attribute, const std::string &expected,
                   const std::string &found, const std::string &way_out = {}) const;
    package::Problems &problems() { return problems_; }

    // ---- chains of layers
    void define(const std::string &address, Flow flow) { values_[address] = flow; }
    const Flow *at(const std::string &address) const;
    Flow layer(const Layer &layer, Flow previous); // one layer; reports problems instead of failing
    Flow chain(const std::vector<Layer> &layers, Flow previous);

private:
    Flow stand_in(const Layer &layer, Flow input);
    const package::Tensor *checked(const Layer &layer, const std::string &parameter,
                                   const std::vector<uint32_t> &shape,
                                   const std::vector<std::vector<uint32_t>> &stored);

    const package::Package &package_;
    ir::Builder &builder_;
    package::Problems problems_;
    std::map<std::string, Flow> values_; // by address
    // layers that name the same tensor share it
    std::map<std::pair<std::string, std::vector<uint32_t>>, ir::ValueId> constants_;
};

// Attributes. The package reader has checked them and filled in defaults.
inline uint32_t integer(const Layer &layer, const char *name) {
    return layer.attributes.at(name).get<uint32_t>();
}
inline double number(const Layer &layer, const char *name) { return layer.attributes.at(name).get<double>(); }
inline bool flag(const Layer &layer, const char *name) { return layer.attributes.at(name).get<bool>(); }
inline bool given(const Layer &layer, const char *name) { // an option without a default, or with null as one
    return layer.attributes.contains(name) && !layer.attributes.at(name).is_null();
}

// A part of a layer that is built like a layer of type `type`. Its parameters are the parameters of
// `layer` that start with `name.`; its address is the address of `layer` followed by the name.
Layer part_of(const Layer &layer, const std::string &name, const std::string &type,
              nlohmann::json attributes);

// The width of a row of plain features. Fails for images and pairs, which need `flatten` or
// `linear` first.
Expected<uint32_t> feature_width(const Lowering &lowering, const Layer &layer, Flow input);

} // namespace longwave::compiler::layers
