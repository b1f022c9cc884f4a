// Merges parallel branches on one value (structural re-parameterisation, Ding et al. 2021). A
// branch is a filter per channel: causal or two-sided, with one copy per channel or several. Norms
// after the filters, identities and scaled identities join it. The result is one filter, written as
// the op that all branches were, or as the op that can express any filter. D becomes part of tap 0.
// Why here: kernels are taps. Norms are not folded yet, because a norm after a convolution belongs
// to its branch.
// Needs: constant taps. One branch may have taps that are prepared when the model is opened: the
// other branches join it as a short kernel, and a norm scales the parameters of the prepared taps.
// Keeps: whatever is not exact. A norm before a convolution stays, because its shift would meet the
// zeros before the start. Prepared taps stay apart from filters that are longer or reach further.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge. Each merge adds a
// certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> merge_branches(const ir::Graph &graph);

} // namespace longwave::compiler
