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

// Merges a short filter per channel and the filter after it into one (serial re-parameterisation):
// g, then k becomes g*k with K + r - 1 taps.
// Why here: each set of branches is one filter now, and norms are folded, so a remaining bias is a
// real one.
// Needs: constant taps of both filters, one of them short; no other reader of the value between
// them.
// Keeps: whatever is not exact. A filter that reads rows ahead stays, because the signal between
// the two is cut at the ends of the sequence. A bias in the first filter stays, because it meets
// the zeros before the start.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge. Each merge adds a
// certificate.

Expected<ir::Graph> merge_chains(const ir::Graph &graph);

} // namespace longwave::compiler
