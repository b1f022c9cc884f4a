// Reads the graph of a version 2 model.json: nodes, their inputs and attributes. Which ops there are and
// what they accept is checked where the graph is built.
#pragma once
#include "formats/package/names.h"
#include "formats/package/package.h"

namespace longwave::package {

// Nodes that cannot be read are reported and left out.
std::vector<Node> read_graph(const nlohmann::json &list, Names &names, Problems &problems);

} // namespace longwave::package
