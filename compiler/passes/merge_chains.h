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
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> merge_chains(const ir::Graph &graph);

} // namespace longwave::compiler
