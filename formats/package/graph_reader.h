// Reads the graph of a version 2 model.json: nodes, their inputs and attributes. Which ops there
// are and what they accept is checked where the graph is built.
#pragma once
#include "formats/package/names.h"
#include "formats/package/package.h"

namespace longwave::package {

// Adds to package.graph. A node with "type" is a layer: it is added to package.layers, in order,
// and its node has its name and no op. Nodes that cannot be read are reported.
void read_graph(const nlohmann::json &list, Names &names, Problems &problems, Package &package);

} // namespace longwave::package
