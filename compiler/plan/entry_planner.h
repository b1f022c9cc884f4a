// Plans one entry: gives every stored value a buffer, every region a kernel call, every state its
// place. Why here: regions must be known first. Offline runs and streams differ only in the rows
// per firing, in their rings, and in the values that survive between firings. Needs: the offline
// graph, or the graph from make_streaming with checked blocks. Fails: ops without a kernel for
// these shapes, by layer.
#pragma once
#include "compiler/ops/costs.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/channel_major.h"
#include "compiler/plan/choose.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/fuse_regions.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/state_record.h"
#include <map>
#include <set>

namespace longwave::compiler {

// The algorithm of one op, for the report.
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
    // A stream, between two blocks. `needs`: rows before the next block that the ops read, whatever
    // the algorithm. `keeps`: rows that the chosen algorithms read; at least `needs`.
    uint32_t needs = 0, keeps = 0;
    std::string layer, name; // a stream: the first op that needs older rows; empty: no op does
    // A stream: regions that read older rows, and whether their ops can keep them channel by channel.
    uint32_t remembering = 0;
    bool by_channel = true;
};

// Where a value lies: rows in a buffer. In an offline run `history` zero rows stand before the
// first one. In a stream the buffer is a ring of `ring` rows.
struct Stored {
    BufferId buffer = 0;
    uint32_t row_bytes = 0;
    uint32_t rows = 1;    // new rows each time (run: rows of the sequence)
    uint32_t ring = 1;    // rows of the buffer
    uint32_t history = 0; // run: zero rows before the first
};

// The ring of a value in the record of a stream; none: 0 rows. `again`: slots behind it that repeat its first
// rows, where its only reader keeps it channel by channel. The value itself then lies in the arena.
struct Ring {
    BufferId field = 0;
    uint32_t rows = 0, again = 0;
};

// Scalar::add of the rows of a sequence.
inline uint32_t whole_of(const ir::Type &type) { return type.whole > 1 ? type.whole : 0; }

class PlannedCall;

class EntryPlanner {
public:
    struct Options {
        EntryPlan::Kind kind = EntryPlan::Kind::run;
        uint32_t block = 0;      // input ticks
        std::string convolution; // algorithm to force, or empty
        const costs::Tables *costs = &costs::shipped();
        const devices::Traits *device = &devices::host();
        // Layers of an offline run that the host computes instead of `device`.
        std::set<std::string> cpu_layers;
        bool fp16_storage = false;  // some buffers will hold float16 (fp16_storage.h)
        ChannelMajor channel_major; // values that lie [channel][row]
        // Leaves out the layers that no kernel computes and lists them in refused(), instead of
        // failing.
        bool draft = false;
    };
    EntryPlanner(const ir::Graph &graph, Options options, Storage &storage, StateRecord &record);

    // 1. Algorithms and regions; what every value's buffer must hold.
    Status survey();
    const std::vector<Demand> &demands() const { return demands_; }
    uint32_t rows_of(ir::ValueId value) const; // new rows each firing, or rows of the sequence
    bool stores(ir::ValueId value) const;      // an input of the entry, or what leaves a region
    // Whether this entry can keep the older rows of a value channel by channel: one kernel reads them.
    bool can_keep_channels(ir::ValueId value) const;
    // 2. The plan; `rings` by value, for a stream.
    Expected<EntryPlan> plan(const std::vector<Ring> &rings);

    const std::vector<AlgorithmReport> &algorithms() const { return reports_; }
    // Layers that no kernel of the device computes, each with the reason. A draft finds all of
    // them.
    const std::map<std::string, std::string> &refused() const { return refused_; }

private:
    friend class PlannedCall;

    Status choose_algorithms();
    void demand(const Region &region);
    void place_values(const std::vector<Ring> &rings);
    Status check_rows() const; // of the buffers of a run
    ir::EndRule end_of(const ir::Node &node) const;
    uint32_t rows_of_transform(const Region &region) const; // Algorithm::transformed of its op
    void find_fixed_length();
    Status plan_region(const Region &region);
    Status plan_call(PlannedCall &call, const Region &region);
    Status in_layer(const ir::Node &node, const Status &status);
    bool leaves_out(const Status &failed) const; // a draft goes on without the layer
    void plan_ports();

    ir::PlanContext context(size_t node) const;
    uint32_t input_of(ir::ValueId value) const; // number of the graph input that a value is made of
    Pace pace(ir::ValueId value) const;
    const Stored &stored(ir::ValueId value) const { return stored_[value]; }
    BufferId buffer(std::string name, Space space, uint64_t bytes, int value = -1);
    // Rows of one call of an offline run.
    static uint32_t rows_of_call(uint32_t rows, bool tiles) { return tiles ? tile_rows(rows) : rows; }
    bool mixed() const { return !options_.cpu_layers.empty(); }
    // Whether any call may be cut into tiles. Buffers then have room for the last tile.
    bool tiles() const { return mixed() || options_.device->tiles; }
    bool on_host(const ir::Node &node) const { return options_.cpu_layers.contains(node.layer); }
    const devices::Traits &device_of(const ir::Node &node) const {
        return on_host(node) ? devices::host() : *options_.device;
    }
    // The bytes before the first row of a value are a multiple of this. Inputs never become
    // float16.
    uint32_t alignment_of(ir::ValueId value) const {
        const bool input = graph_.values[value].kind == ir::Value::Kind::input;
        return options_.fp16_storage && !input ? options_.device->fp16_row_alignment
                                               : options_.device->row_alignment;
    }
    bool streaming() const { return options_.kind == EntryPlan::Kind::stream; }
    bool plans(const Region &region) const;             // whether any reader uses its result here
    const ir::Node &reader(const Region &region) const; // the anchor, or the producer that it absorbs
    ir::Reach reach_of(const Region &region) const;
    ir::StreamRule rule_of(const ir::Node &node) const;
    bool has_silence_around(ir::ValueId value) const;
    Status silence_around(const Region &region);     // streams: rows outside the sequence become zero
    uint32_t history_of(const ir::Node &node) const; // older rows of its first input that the op declares
    uint32_t rows_read(const Region &region,
                       uint32_t rows) const; // of the first input, for so many output rows
    void clear_around(ir::ValueId value, uint32_t written, const std::string &name);
    void clear_last_tile(ir::ValueId value, uint32_t written, const std::string &name);
    bool reads_behind_end(const Region &region) const;
    void clear_tail(ir::ValueId value,
                    const std::string &name); // runs: rows after the end of the sequence become zero
    void clear_channels(ir::ValueId value, const std::string &name); // the same, channel by channel
    Step clear(BufferId buffer, uint64_t offset, uint64_t bytes, const std::string &name) const;

    const ir::Graph &graph_;
    const Options options_;
    Storage &storage_;
    StateRecord &record_;
    EntryPlan plan_;
    std::vector<Region> regions_;
    std::vector<Demand> demands_;           // by value
    std::vector<Stored> stored_;            // by value
    std::vector<Ring> channel_rings_;       // by value: those that lie channel by channel
    std::vector<ir::PlanContext> contexts_; // by node
    std::vector<Choice> choices_;           // by node
    std::vector<std::string> suffixes_;     // by node: tells it from others of its op in its layer
    std::vector<AlgorithmReport> reports_;
    std::map<std::string, std::string> refused_;
};

} // namespace longwave::compiler
