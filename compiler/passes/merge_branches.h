// Merges parallel branches on one value (re-parameterisation, models.md §2.4): ops that are filters of each
// channel, causal or reading rows ahead, of one copy or several; norms behind them, identities and scaled
// identities become one filter, written as the op that all of them were, else as the one that can be any
// filter. D goes into tap 0.
// Why here: after kernels are taps; before norms fold, because a norm behind a convolution belongs to its
// branch.
// Needs: taps that are constants or, in one of the branches, prepared when the model is opened: then the
// others join these as a short kernel, and a norm scales what they are made of.
// Keeps: what is not exact. A norm before a convolution stays: its shift would meet the zeros before the
// start. Taps that are unknown now stay apart from more or further ones than they have room for.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge; each one that holds adds a
// certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> merge_branches(const ir::Graph &graph);

} // namespace longwave::compiler
