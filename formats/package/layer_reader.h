// Reads the list of layers of model.json: types, names, references, attributes.
#pragma once
#include "formats/package/package.h"
#include "formats/package/problems.h"
#include <map>
#include <set>

namespace longwave::package {

// The names of a model: inputs, and layers or nodes. Each is used once; references are to earlier
// ones.

class Names {
public:
    // `thing`: what the list of the model holds, "layer" or "node". `inputs`: names of the model's
    // inputs.
    Names(const char *thing, const std::vector<std::string> &inputs, Problems &problems);

    // The address that `reference` means inside `scope` ("" or "a/b/"); names inside a scope hide
    // those outside. Reports and returns it unchanged when there is none.
    std::string resolve(const nlohmann::json &reference, const std::string &path, std::string scope = "");
    void define(const std::string &address, const std::string &path);

private:
    std::string expected_;
    Problems &problems_;
    std::map<std::string, std::string> known_; // address -> JSON path
};

class LayerReader {
public:
    // `names`: of the inputs so far; the layers are added.
    LayerReader(Names &names, Problems &problems) : names_(names), problems_(problems) {}

    std::vector<Layer> read(const nlohmann::json &list);
    // A layer among the nodes of a graph. It names its inputs, because no layer is before it.
    Layer read_one(const nlohmann::json &object, const std::string &path);

private:
    std::vector<Layer> list(const nlohmann::json &list, const std::string &path, const std::string &scope);
    Layer layer(const nlohmann::json &object, const std::string &path, const std::string &scope);
    Layer norm(const nlohmann::json &object, const std::string &path, const Layer &residual);
    void body(const nlohmann::json &object, Layer &layer, const std::vector<std::string> &others);
    void references(const nlohmann::json &object, bool two, Layer &layer, const std::string &scope);

    Names &names_;
    Problems &problems_;
    size_t layers_ = 0, depth_ = 0;
};

// Reads the graph of a version 2 model.json: nodes, their inputs and attributes. Which ops there
// are and what they accept is checked where the graph is built.

// Adds to package.graph. A node with "type" is a layer: it is added to package.layers, in order,
// and its node has its name and no op. Nodes that cannot be read are reported.
void read_graph(const nlohmann::json &list, Names &names, Problems &problems, Package &package);

} // namespace longwave::package
