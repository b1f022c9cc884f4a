// Reads the list of layers of model.json: types, names, references, attributes.
#pragma once
#include "formats/package/package.h"
#include "formats/package/problems.h"
#include <set>

namespace longwave::package {

class LayerReader {
public:
    // `inputs`: names of the model's inputs, which share one space of names with the layers.
    LayerReader(const std::vector<std::string> &inputs, Problems &problems);

    std::vector<Layer> read(const nlohmann::json &list);
    // The address that `reference` means at the top level; reports and returns it unchanged when there is
    // none.
    std::string resolve(const nlohmann::json &reference, const std::string &path) {
        return resolve(reference, path, "");
    }

private:
    std::vector<Layer> list(const nlohmann::json &list, const std::string &path, const std::string &scope);
    Layer layer(const nlohmann::json &object, const std::string &path, const std::string &scope);
    Layer norm(const nlohmann::json &object, const std::string &path, const Layer &residual);
    void body(const nlohmann::json &object, Layer &layer, const std::vector<std::string> &others);
    void references(const nlohmann::json &object, bool two, Layer &layer, const std::string &scope);
    std::string resolve(const nlohmann::json &reference, const std::string &path, std::string scope);
    void define(const std::string &address, const std::string &path);

    Problems &problems_;
    std::map<std::string, std::string> known_; // address -> JSON path
    size_t layers_ = 0, depth_ = 0;
};

} // namespace longwave::package
