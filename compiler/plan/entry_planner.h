// Plans one entry: gives every stored value a buffer, every region a kernel call, every state its place.
// Why here: after regions are known; whole runs and streams differ only in rows per firing, rings and what
// survives between firings. Needs: the whole-sequence graph, or the graph from make_streaming with checked
// blocks. Fails: ops whose kernel does not exist for these shapes, by layer.
#pragma once
#include "compiler/plan/fuse_regions.h"
#include "compiler/passes/make_streaming.h"
#include "compiler/plan/choose.h"
#include "compiler/ops/costs.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/lifetimes.h"
#include "compiler/plan/rounding.h"
#include "compiler/plan/state_record.h"
#include "compiler/plan/storage.h"
#include <map>
#include <set>

namespace longwave::compiler {

// What an algorithm was chosen for, and instead of which.
struct AlgorithmReport {
    std::string layer, op;
    Choice choice;
    uint64_t elements = 0; // valid output elements of a firing
};

// What the buffer of a value must hold, for every reader in one entry.
struct Demand {
    uint32_t history = 0;  // older rows
    uint32_t rows = 1;     // new rows at once, written or read
    uint32_t multiple = 1; // a ring is a whole number of these
    uint32_t granule = 1;  // a run: views find their rows in pieces of this size
    // A stream, between two blocks. `needs`: rows before the next block that the ops read, whatever the
    // algorithm. `keeps`: rows that the chosen algorithms read; at least `needs`.
    uint32_t needs = 0, keeps = 0;
    std::string layer, name; // a stream: the first op that needs older rows; empty: no op does
};

// Where a value lies: rows in a buffer. In a whole run `history` zero rows stand before the first one. In a
// stream the buffer is a ring of `ring` rows.
struct Stored {
    BufferId buffer = 0;
    uint32_t row_bytes = 0;
    uint32_t rows = 1;    // new rows each time (run: rows of the sequence)
    uint32_t ring = 1;    // rows of the buffer
    uint32_t history = 0; // run: zero rows before the first
};

// The ring of a value in the record of a stream; none: 0 rows.
struct Ring {
    BufferId field = 0;
    uint32_t rows = 0;
};

class PlannedCall;

class EntryPlanner {
public:
    struct Options {
        EntryPlan::Kind kind = EntryPlan::Kind::run;
        uint32_t block = 0;      // input ticks
        std::string convolution; // algorithm to force, or empty
        const costs::Tables *costs = &costs::shipped();
        const targets::Target *gpu = nullptr; // on this one: every call takes all rows, as one dispatch
        // But for these layers of a run on a GPU, which the CPU computes as in a run of its own.
        std::set<std::string> cpu_layers;
        bool halves = false; // then some buffers will hold float16 (passes/store_halves.h)
    };
    EntryPlanner(const ir::Graph &graph, Options options, Storage &storage, StateRecord &record);

    // 1. Algorithms and regions; what every value's buffer must hold.
    Status survey();
    const std::vector<Demand> &demands() const { return demands_; }
    uint32_t rows_of(ir::ValueId value) const; // new rows each firing, or rows of the sequence
    bool stores(ir::ValueId value) const;      // an input of the entry, or what leaves a region
    // 2. The plan; `rings` by value, for a stream.
    Expected<EntryPlan> plan(const std::vector<Ring> &rings);

    const std::vector<AlgorithmReport> &algorithms() const { return reports_; }
    // Layers that a failure was about, each with the reason; more than the first where several have no algorithm.
    const std::map<std::string, std::string> &refused() const { return refused_; }

private:
    friend class PlannedCall;

    Status choose_algorithms();
    void demand(const Region &region);
    void place_values(const std::vector<Ring> &rings);
    Status plan_region(const Region &region);
    Status plan_call(PlannedCall &call, const Region &region);
    Status in_layer(const ir::Node &node, const Status &status);
    void plan_ports();

    ir::PlanContext context(size_t node) const;
    uint32_t input_of(ir::ValueId value) const; // number of the graph input that a value is made of
    Pace pace(ir::ValueId value) const;
    const Stored &stored(ir::ValueId value) const { return stored_[value]; }
    BufferId buffer(std::string name, Space space, uint64_t bytes, int value = -1);
    // Of a whole run. On a GPU a call is a dispatch, and what stays in a cache is not a plan's business.
    uint32_t rows_of_call(uint32_t rows, bool gpu) const { return gpu ? rows : tile_rows(rows); }
    bool gpu_alone() const { return options_.gpu && options_.cpu_layers.empty(); }
    const targets::Target *gpu_of(const ir::Node &node) const { // null: the CPU
        return options_.cpu_layers.contains(node.layer) ? nullptr : options_.gpu;
    }
    // Bytes of which the rows before the first are a multiple: on a GPU buffers begin at multiples of 64 bytes, also
    // where their elements become half as long.
    uint32_t line_of(ir::ValueId value) const {
        const bool input = graph_.values[value].kind == ir::Value::Kind::input;
        return !options_.gpu ? 1 : options_.halves && !input ? 128 : 64;
    }
    bool streaming() const { return options_.kind == EntryPlan::Kind::stream; }
    bool plans(const Region &region) const;             // whether any reader uses its result here
    const ir::Node &reader(const Region &region) const; // the anchor, or the producer that it absorbs
    ir::Reach reach_of(const Region &region) const;
    uint32_t history_of(const ir::Node &node) const; // older rows of its first input that the op declares
    uint32_t stride_of(const Region &region) const; // rows of the first input for one output row
    void clear_around(ir::ValueId value, uint32_t written, const std::string &name);
    void clear_tail(ir::ValueId value,
                    const std::string &name); // runs: rows after the end of the sequence become zero
    Step clear(BufferId buffer, uint64_t offset, uint64_t bytes, const std::string &name) const;

    const ir::Graph &graph_;
    const Options options_;
    Storage &storage_;
    StateRecord &record_;
    EntryPlan plan_;
    std::vector<Region> regions_;
    std::vector<Demand> demands_;           // by value
    std::vector<Stored> stored_;            // by value
    std::vector<ir::PlanContext> situations_; // by node
    std::vector<Choice> choices_;           // by node
    std::vector<std::string> suffixes_;     // by node: tells it from others of its op in its layer
    std::vector<AlgorithmReport> reports_;
    std::map<std::string, std::string> refused_;
};

} // namespace longwave::compiler
