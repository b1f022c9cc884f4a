// Golden vectors: inputs and what the float64 references make of them, kept in the artifact so that
// `verify` can run them on any machine. Each entry has a short one with all its rows. An entry
// whose layers reach further has a long one as well: the input of the short one, repeated beyond
// the longest reach of a layer, and the last rows of the outputs (of layers that look ahead: also
// the first rows). Each of these rows depends on every lag.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/look_back.h"
#include "formats/artifact/plan_generated.h"
#include "formats/base/expected.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longwave::compiler {

// How far from float64 an artifact may be, relative to the peak of an output
// (formats/artifact/precision.h).
struct Precision {
    double rounding = 0;  // of every value to float32
    double terms = 0;     // of the longest sum of a matrix multiplication
    double halves = 0;    // of what a GPU stores as float16; 0: it stores none
    uint32_t between = 0; // buffers between dispatches of one operation that it stores so, at most
    double limit() const;
    double fp16_limit() const; // of its whole runs
};

class GoldenVectors {
public:
    // `reach`: of the model's layers. `block`: input ticks of the longest stream call. `workers`:
    // threads, on whose number nothing depends.
    GoldenVectors(const LookBack &reach, uint32_t block, unsigned workers)
        : reach_(reach), block_(block), workers_(workers) {}

    // The vectors of an entry; deterministic input. `entry` is the index in the artifact.
    // Errors (Fault::input): a model that float32 cannot compute.
    Status add(const ir::Graph &graph, const EntryPlan &plan, uint16_t entry);

    // The vectors of another entry with the same inputs and outputs, which has been added, for this
    // one as well.
    void again(uint16_t of, uint16_t entry);

    // The same for an entry that stores these values of the graph, the one added last, as float16;
    // its vectors have a limit of their own. Errors (Fault::input): a model that float16 cannot
    // hold.
    Status again_in_fp16(uint16_t of, uint16_t entry, const ir::Graph &graph,
                         const std::set<ir::ValueId> &halves, uint32_t between);

    // Input ticks of the longest reference that the vectors of an entry need.
    uint64_t longest(const ir::Graph &graph, const EntryPlan &plan) const;

    // Input ticks of the longest vector of the entry; it exercises the lags below.
    uint32_t ticks(uint16_t entry) const;

    // How far each output of `exact`, which has the inputs and outputs of the graph added last, is
    // from that graph's on the same input, relative to its peak; in float64.
    Expected<std::vector<double>> changes_from(const ir::Graph &exact) const;

    const Precision &precision() const { return precision_; } // of all of them
    std::vector<fb::GoldenT> take_vectors();                  // the limit is that of all, or of all in halves
    std::vector<uint8_t> take_bytes() { return std::move(bytes_); }

private:
    using Inputs = std::map<std::string, ir::Array>;
    // What became of the inputs of a graph. The stream of a causal model is the same graph as its
    // offline run.
    struct Reference {
        std::string graph; // as text
        uint32_t ticks = 0;
        Inputs inputs;
        std::vector<ir::Array> outputs;
    };

    uint64_t append(const void *bytes, size_t size);
    Inputs make_inputs(const ir::Graph &graph, uint32_t ticks, fb::GoldenT &golden);
    Status evaluate(const ir::Graph &graph, const EntryPlan &plan, uint32_t ticks, Inputs inputs,
                    Reference &into);
    Status useless_output(const ir::Graph &graph, const EntryPlan &plan, const Inputs &inputs, size_t output,
                          double apart) const;
    Status add_long(const ir::Graph &graph, const EntryPlan &plan, const fb::GoldenT &brief,
                    const Inputs &inputs);
    double all_lags() const;
    uint32_t long_ticks(const ir::Graph &graph, const EntryPlan &plan, uint32_t brief) const;
    // `count` rows of an array from `row` on: they are rows `first` and those behind it of `total`
    // rows.
    struct Part {
        size_t row, count, first, total;
    };
    void store(fb::GoldenT &golden, size_t port, const ir::Array &rows, const Part &part);
    // golden_windows.cc. Rows of every output that these windows add, each window on its own.
    // `full`: the first window that the input fills.
    Expected<std::vector<ir::Array>> slide(const ir::Graph &graph, const EntryPlan &plan,
                                           const Inputs &inputs, bool full);

    const LookBack reach_;
    const uint32_t block_;
    const unsigned workers_;
    Precision precision_;
    std::vector<fb::GoldenT> vectors_;
    std::set<uint16_t> in_fp16_; // entries
    std::vector<uint8_t> bytes_; // the segment
    Reference short_, long_;     // of the graph added last
    bool long_used_ = false;     // by the entry added last
};

} // namespace longwave::compiler
