// Turns the layers of a model package into a graph of primitive ops.
// Why here: everything behind it knows ops only; layer types, tensor keys and official names end in this
// pass. Needs: a package as package::read leaves it (attributes checked, defaults filled in, references
// resolved). Gives: a well typed graph whose weights are constants under their tensor keys; the outputs of
// the package in their order. Fails: Fault::input with every missing weight, wrong shape and unsupported
// option of the whole model, one line each.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"

namespace longwave::compiler {

Expected<ir::Graph> lower(const package::Package &package);

} // namespace longwave::compiler
