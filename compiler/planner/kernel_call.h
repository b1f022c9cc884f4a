// How an op says which kernel computes it: an op's kernel rule fills a KernelCall, the same way for a whole sequence and for a block of a stream.
//
//     Status linear_kernel(KernelCall &call) {
//         call.kernel("linear");
//         call.param("in", call.type(0).row());
//         call.read_rows(0);
//         call.weight("weight", packed);
//         call.write();
//         return Status::ok();
//     }
//
// Arguments are put in the kernel's order (schedules/README.md): inputs, weights, operands of the epilogue, scalars, outputs.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/planner/convolution.h"
#include "compiler/planner/entry_plan.h"
#include "compiler/planner/storage.h"
#include <nlohmann/json.hpp>

namespace longwave::compiler {

class EntryPlanner;

// Where a value of this entry lies: rows in a buffer. In a whole run `history` zero rows stand before the first one. In a stream the buffer is a ring of `ring` rows.
struct Stored {
    BufferId buffer = 0;
    uint32_t row = 0;      // elements of a row
    uint32_t rows = 1;     // new rows each time (run: rows of the sequence)
    uint32_t ring = 1;     // rows of the buffer
    uint32_t history = 0;  // run: zero rows before the first
};

class KernelCall {
public:
    KernelCall(EntryPlanner &planner, const ir::Node &node, ir::ValueId output, bool glu);

    const ir::Node &node;
    const bool glu;        // linear: the glu behind it is part of the kernel
    const bool streaming;

    const ir::Type &type(size_t input) const;
    const ir::Type &result() const;
    const std::vector<double> &constant(size_t input) const; // data of a constant input
    uint32_t rows() const { return rows_; }                  // output rows of one call
    uint32_t sequence_rows() const { return sequence_rows_; } // output rows of all calls of a firing

    uint32_t rows_of_input(size_t input) const;              // its rows of one firing

    void kernel(const std::string &name) { spec_["kernel"] = name; }
    void param(const std::string &name, nlohmann::json value) { spec_["params"][name] = std::move(value); }

    // ---- arguments. `reads`: rows of the input consumed for one output row (the stride of the op) ----
    void read_rows(size_t input);                            // the rows that belong to this call's output rows
    void read_ring(size_t input, uint32_t reads = 1);        // the whole ring; sets `ring` and appends the scalar `position`
    void read_all(size_t input);                             // every row of the firing, whatever the tile (channel tiles: tile_bytes)
    void weight(const std::string &name, const std::vector<float> &packed);
    void weight64(const std::string &name, const std::vector<double> &packed);
    void weight(Place place) { weights_.push_back(place); }
    void input(Place place) { inputs_.push_back(place); }
    void output(Place place) { outputs_.push_back(place); }
    void scalar(Scalar scalar) { scalars_.push_back(scalar); }
    void clear_tail(size_t input);                           // whole runs: rows after the end of the sequence become zero first
    // Running state of this kernel: read one slot, write the other. Cleared at reset; in a whole run cleared before the call. Appends to inputs and to the outputs.
    void ping_pong(const std::string &name, uint64_t bytes, uint64_t tile_bytes = 0);
    // State of this stream only (or cleared arena of a run).
    BufferId remember(const std::string &name, uint64_t bytes);
    void write();                                            // the result's rows, at this place in the order of the outputs

    // ---- tiling of a whole run: by rows (default), by channels, or not at all ----
    void one_call();                                         // all rows at once
    void channel_tiles(uint32_t tiles, uint64_t tile_bytes); // all rows, `tiles` groups of channels; places of rows move by tile_bytes

    Storage &storage() const;
    const ConvolutionChoice &convolution() const;            // of this node in this entry
    EntryPlanner &planner() { return planner_; }

private:
    friend class EntryPlanner;
    Place rows_place(ir::ValueId value, uint32_t rows_per_call) const;

    EntryPlanner &planner_;
    ir::ValueId output_;
    nlohmann::json spec_;
    uint32_t rows_ = 1, sequence_rows_ = 1, tiles_ = 1;
    uint64_t channel_bytes_ = 0; // channel tiles: step of a tile in a row
    std::vector<Place> inputs_, weights_, operands_, outputs_;
    std::vector<Scalar> scalars_;
};

// The rule of an op, or null when it never becomes a kernel of its own (constants, expand_scales).
using KernelRule = Status (*)(KernelCall &);
KernelRule kernel_rule(const std::string &op);

} // namespace longwave::compiler
