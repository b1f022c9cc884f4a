// Plans one entry: gives every stored value a buffer, every region a kernel call, every state its place.
// Why here: after regions are known; whole runs and streams differ only in rows per firing, rings and what survives between firings.
// Needs: the whole-sequence graph, or the graph from make_streaming with a checked block. Fails: ops whose kernel does not exist for these shapes, by layer.
#pragma once
#include "compiler/passes/fuse_regions.h"
#include "compiler/passes/make_streaming.h"
#include "compiler/planner/planned_call.h"

namespace longwave::compiler {

struct ConvolutionReport {
    std::string layer;
    ConvolutionShape shape;
    ConvolutionChoice choice;
};

class EntryPlanner {
public:
    EntryPlanner(const ir::Graph &graph, EntryPlan::Kind kind, uint32_t block, std::string force_convolution, Storage &storage);
    Expected<EntryPlan> plan();
    const std::vector<ConvolutionReport> &convolutions() const { return reports_; }

private:
    friend class PlannedCall;

    Status choose_convolutions();
    Status place_values();
    Status plan_region(const Region &region);
    void plan_ports();

    uint32_t input_of(ir::ValueId value) const; // number of the graph input that a value is made of
    uint32_t rows_of(ir::ValueId value) const;  // new rows each firing, or rows of the sequence
    Pace pace(ir::ValueId value) const;
    const Stored &stored(ir::ValueId value) const;
    BufferId buffer(std::string name, Space space, uint64_t bytes);
    bool streaming() const { return plan_.kind == EntryPlan::Kind::stream; }
    ir::ValueId anchor_input(const Region &region) const;
    uint32_t history_of(const Region &region) const; // older rows its anchor reads of that input
    uint32_t stride_of(const Region &region) const;  // rows of that input for one output row
    void clear_around(ir::ValueId value, uint32_t written, const std::string &name);
    Step clear(BufferId buffer, uint64_t offset, uint64_t bytes, const std::string &name) const;

    const ir::Graph &graph_;
    const uint32_t block_;
    const std::string force_;
    Storage &storage_;
    EntryPlan plan_;
    std::vector<Region> regions_;
    std::vector<Stored> stored_;             // by value
    std::vector<ConvolutionChoice> choices_; // by node
    std::vector<ConvolutionReport> reports_;
};

// Sets Buffer::first and last, and the period of the plan.
void measure_lifetimes(EntryPlan &plan);

// Rows of one call of a whole run: all when they are few, else a tile that stays in the first cache.
uint32_t tile_rows(uint32_t rows);

} // namespace longwave::compiler
