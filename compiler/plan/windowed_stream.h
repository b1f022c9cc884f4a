// A stream for models that look ahead: the plan of a whole sequence of N ticks (the window) becomes
// a stream entry that runs it over the last N ticks of the stream, every M ticks (the hop). Before
// N ticks have come the window holds zeros in front.
//
// The state is the input alone: one history field of N rows, a ring of N/M slots. The port writes
// the newest slot. The first steps copy the slots, oldest first, to the place where the run reads
// its input. The other steps are those of the run, so the outputs are bit-identical to a run over
// the same window.
//
// Why here: a plan of a run has everything except the place of its input. Ops, kernels, runtime and
// artifact do not know windows. Needs: a planned run whose capacity is the window.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/state_record.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

// The rows of an output that one window adds. Without a time axis: the one row of the window that
// ends there, delay 0. With the rows of a clock: those of the hop in the window's middle, so that
// each has as much past as future. Where no whole row begins in the middle, the past gets the odd
// row and the delay is the shorter.
struct WindowRows {
    uint32_t first = 0, rows = 1; // of the window
    uint32_t delay = 0;           // input ticks
};
WindowRows rows_in_window(ir::Clock clock, uint32_t window, uint32_t hop);

// Whether a window of `window` ticks every `hop` ticks fits the graph: one input, at most 64 hops
// in a window, whole rows of every output in a hop. Errors (Fault::usage): one line with what would
// fit.
Status check_window(const ir::Graph &graph, uint32_t window, uint32_t hop);

// The stream entry of block `hop`. `run.block` is the window, checked by check_window. Its input
// ring becomes the only field of `record`, the same on every device. A device whose streams cannot
// clear memory copies zeros from the weights of `storage` instead.
EntryPlan windowed_stream(EntryPlan run, const ir::Graph &graph, uint32_t hop, StateRecord &record,
                          Storage &storage);

} // namespace longwave::compiler
