// A kernel call in the plan of one entry: places and scalars for what an op's kernel rule (compiler/ops/kernel_call.h) asks for.
#pragma once
#include "compiler/ops/kernel_call.h"
#include "compiler/planner/convolution.h"
#include "compiler/planner/entry_plan.h"
#include "compiler/planner/storage.h"
#include <nlohmann/json.hpp>
#include <utility>

namespace longwave::compiler {

class EntryPlanner;

// Where a value of this entry lies: rows in a buffer. In a whole run `history` zero rows stand before the first one. In a stream the buffer is a ring of `ring` rows.
struct Stored {
    BufferId buffer = 0;
    uint32_t row = 0;     // elements of a row
    uint32_t rows = 1;    // new rows each time (run: rows of the sequence)
    uint32_t ring = 1;    // rows of the buffer
    uint32_t history = 0; // run: zero rows before the first
};

class PlannedCall final : public ir::KernelCall {
public:
    // Of `of`, whose result, after what is fused behind it, is `output`. `gated`: a glu is part of that.
    PlannedCall(EntryPlanner &planner, const ir::Node &of, ir::ValueId output, bool gated);

    // ---- for every op ----
    const ir::Type &type(size_t input) const override;
    const ir::Type &result() const override;
    const ir::Numbers &constant(size_t input) const override { return constant(node, input); }
    const ir::Numbers &constant(const ir::Node &of, size_t input) const override;
    const ir::Node *producer(size_t input) const override;
    bool gated() const override { return gated_; }
    uint32_t rows() const override { return rows_; }
    uint32_t rows_of_input(size_t input) const override;
    void kernel(const std::string &name) override { spec_["kernel"] = name; }
    void param(const std::string &name, ir::Attribute value) override;
    void one_call() override;
    void read_rows(size_t input) override;
    void read_ring(size_t input, uint32_t reads = 1) override;
    void read_all(size_t input) override;
    void weight(const std::string &name, const std::vector<float> &packed) override;
    void write() override;
    void valid_rows(size_t input) override;
    void carry(const std::string &name, uint64_t bytes) override { carry(name, bytes, 0); }
    Status convolution() override;

    // ---- for the convolution algorithms ----
    const ir::Graph &graph() const;
    bool streaming() const { return streaming_; }
    uint32_t sequence_rows() const { return sequence_rows_; } // output rows of all calls of a firing
    const ConvolutionChoice &choice() const;                  // of this node in this entry
    Storage &storage() const;
    void carry(const std::string &name, uint64_t bytes, uint64_t tile_bytes);
    std::pair<Place, Place> carried(const std::string &name, uint64_t bytes, uint64_t tile_bytes); // the same, where it is read and written
    Place rows_of_large_blocks(size_t input, uint32_t rows,
                               uint32_t ago); // streams: an input's rows of the large block `ago` before this, which fires once in it
    void add(Place rows);                     // rows as those of the result are added to it, before everything else behind the op
    void also(Step step);                     // a step of its own before this one
    BufferId remember(const std::string &name, uint64_t bytes); // state of this stream only (cleared arena of a run)
    void clear_tail(size_t input);                              // whole runs: rows after the end of the sequence become zero first
    void channel_tiles(uint32_t tiles, uint64_t tile_bytes);    // all rows, `tiles` groups of channels; places of rows move by tile_bytes
    void weight(Place place) { weights_.push_back(place); }
    void input(Place place) { inputs_.push_back(place); }
    void output(Place place) { outputs_.push_back(place); }
    void scalar(Scalar scalar) { scalars_.push_back(scalar); }

    // ---- for the planner: a pointwise op applied to the result, reading `value` as its first operand, and the finished step ----
    Status epilogue(const ir::Node &op, ir::ValueId value);
    Step step() const;
    uint32_t written_rows() const { return channel_bytes_ ? rows_ : rows_ * tiles_; }

private:
    Place rows_place(ir::ValueId value) const;

    EntryPlanner &planner_;
    const ir::ValueId output_;
    const bool gated_, streaming_;
    nlohmann::json spec_;
    uint32_t rows_ = 1, sequence_rows_ = 1, tiles_ = 1;
    uint64_t channel_bytes_ = 0; // channel tiles: step of a tile in a row
    std::vector<Place> inputs_, weights_, operands_, outputs_;
    std::vector<Scalar> scalars_;
};

} // namespace longwave::compiler
