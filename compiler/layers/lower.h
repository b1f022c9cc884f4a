// Turns the layers of a model package into a graph of primitive ops.
// Why here: later passes know ops only. Layer types, tensor keys and official names end in this
// pass.
// Needs: a package as package::read returns it: attributes checked, defaults filled in, references
// resolved.
// Gives: a well typed graph. Its weights are constants under their tensor keys, and its outputs are
// in the order of the package. Fails: Fault::input with every missing weight, wrong shape and
// unsupported option of the model, one per line.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"

namespace longwave::compiler {

Expected<ir::Graph> lower(const package::Package &package);

} // namespace longwave::compiler
