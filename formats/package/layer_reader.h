// Reads the list of layers of model.json: types, names, references, attributes.
#pragma once
#include "formats/package/names.h"
#include "formats/package/package.h"
#include <set>

namespace longwave::package {

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

} // namespace longwave::package
