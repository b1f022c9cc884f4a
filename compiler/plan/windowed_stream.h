// A stream for models that look ahead: the plan of a whole sequence of N ticks (the window) becomes a stream
// entry that runs it over the last N ticks of the stream, every M ticks (the hop). Before N ticks have come
// the window holds zeros in front.
//
// Nothing is remembered but the input: one history field of N rows, a ring of N/M slots of which the port
// writes the newest. The first steps copy the slots, oldest first, to where the run reads its input; the rest
// are the steps of the run, so the numbers are those of a run of the same window, bit for bit.
//
// Why here: a plan of a run already says everything but where its input comes from; ops, kernels, runtime and
// artifact need to know nothing of windows. Needs: a planned run whose capacity is the window.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/state_record.h"
#include "compiler/plan/storage.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

// The rows of an output that one window adds. Without a time axis: the one row of the window that ends there,
// delay 0. With the rows of a clock: those of the hop in the window's middle, so that each has as much past
// as future. Where no whole row begins in the middle, the past gets the odd row and the delay is the shorter.
struct WindowRows {
    uint32_t first = 0, rows = 1; // of the window
    uint32_t delay = 0;           // input ticks
};
WindowRows rows_in_window(ir::Clock clock, uint32_t window, uint32_t hop);

// Whether a window of `window` ticks every `hop` ticks fits the graph: one input, at most 64 hops in a
// window, whole rows of every output in a hop. Errors (Fault::usage): one line with what would fit.
Status check_window(const ir::Graph &graph, uint32_t window, uint32_t hop);

// The stream entry of block `hop`; `run.block` is the window, checked by check_window. Its input ring becomes
// the only field of `record`, the same for CPUs and a GPU. Streams of a GPU have calls alone: what the run clears
// is copied from zeros among the weights of `storage`.
EntryPlan windowed_stream(EntryPlan run, const ir::Graph &graph, uint32_t hop, StateRecord &record,
                          Storage &storage);

} // namespace longwave::compiler
