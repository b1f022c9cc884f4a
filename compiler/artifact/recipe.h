// How the weights that an artifact stores follow from the tensors of its package, so that others may
// take their place without the compiler (formats/artifact/recipe.fbs).
//
// No op says where it stores a number. The compiler plans the model a second time, with probes: each
// number of the package is another one. A stored number that is a probe tells its place in the
// package. One that is the same for package and probes belongs to the shape. Any other one was
// computed of several numbers, and the model cannot be packed.
#pragma once
#include "compiler/plan/plan_memory.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

// Shares everything but the weights. Fault::usage: more numbers than there are probes.
Expected<package::Package> with_probes(const package::Package &package);

// The recipe segment. `rounding`: as identity_of. `stored`: for the package; `probed`: for the package
// with probes, in the same places. Fault::input names every layer that mixes numbers, one line each.
Expected<std::vector<uint8_t>> make_recipe(const package::Package &package, const std::string &rounding,
                                           const Storage &stored, const Storage &probed);

} // namespace longwave::compiler
