// Merges a short filter of each channel and the filter behind it into one (serial re-parameterisation,
// models.md §2.4): g, then k becomes g*k, of K + r − 1 taps.
// Why here: branches are one filter each by now, and norms behind them are folded, so a bias that is left is
// one.
// Needs: taps of both that are constants, one of the two short; nothing else reads the value between them.
// Keeps: what is not exact. A filter that reads rows ahead stays: the signal between the two was cut at the
// ends of the sequence. A bias in the first stays: it meets the zeros before the start. So does anything but
// a filter between the two.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge; each one that holds adds a
// certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> merge_chains(const ir::Graph &graph);

} // namespace longwave::compiler
