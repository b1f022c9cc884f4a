// Golden vectors: a short input and what the float64 references make of it, kept in the artifact so that
// `verify` can run them on any machine.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/plan/entry_plan.h"
#include "formats/artifact/plan_generated.h"
#include "formats/base/expected.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longwave::compiler {

// How far from float64 an artifact may be, relative to the peak of an output (formats/artifact/precision.h).
struct Precision {
    double rounding = 0;  // of every value to float32
    double halves = 0;    // of what a GPU stores as float16; 0: it stores none
    uint32_t between = 0; // buffers between dispatches of one operation that it stores so, at most
    double limit() const;
    double fp16_limit() const; // of its whole runs
};

class GoldenVectors {
public:
    explicit GoldenVectors(unsigned workers)
        : workers_(workers) {} // threads; the numbers do not depend on them

    // One vector, of a few hundred steps at most; deterministic input. `entry` is the index in the artifact.
    // Errors (Fault::input): a model that float32 cannot compute.
    Status add(const ir::Graph &graph, const EntryPlan &plan, uint16_t entry);

    // The vector of another entry with the same inputs and outputs, which has been added, for this one as well.
    void again(uint16_t of, uint16_t entry);

    // The same for an entry that stores these values of the graph, the one added last, as float16; its vector has a
    // limit of its own. Errors (Fault::input): a model that float16 cannot hold.
    Status again_in_fp16(uint16_t of, uint16_t entry, const ir::Graph &graph,
                           const std::set<ir::ValueId> &halves, uint32_t between);

    // How far each output of `exact`, which has the inputs and outputs of the graph added last, is from that
    // graph's on the same input, relative to its peak; in float64.
    Expected<std::vector<double>> changes_from(const ir::Graph &exact) const;

    const Precision &precision() const { return precision_; } // of all of them
    std::vector<fb::GoldenT> take_vectors();                  // the limit is that of all, or of all in halves
    std::vector<uint8_t> take_bytes() { return std::move(bytes_); }

private:
    uint64_t append(const void *bytes, size_t size);
    std::map<std::string, ir::Array> make_inputs(const ir::Graph &graph, uint32_t ticks, fb::GoldenT &golden);
    Status evaluate(const ir::Graph &graph, uint32_t ticks, std::map<std::string, ir::Array> inputs);
    // golden_windows.cc. Rows of every output, from row 0 of the stream on: each window on its own.
    Expected<std::vector<ir::Array>> slide(const ir::Graph &graph, const EntryPlan &plan,
                                           const std::map<std::string, ir::Array> &inputs);

    unsigned workers_;
    Precision precision_;
    std::vector<fb::GoldenT> vectors_;
    std::set<uint16_t> in_fp16_; // entries
    std::vector<uint8_t> bytes_;   // the segment
    // The last graph, as text, and what became of so many ticks: the stream of a causal model is the same
    // graph.
    std::string graph_;
    uint32_t ticks_ = 0;
    std::map<std::string, ir::Array> inputs_;
    std::vector<ir::Array> outputs_;
};

} // namespace longwave::compiler
