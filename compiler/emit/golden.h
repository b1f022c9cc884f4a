// Golden vectors: a short input and what the float64 references make of it, kept in the artifact so that
// `verify` can run them on any machine.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"
#include "compiler/planner/entry_plan.h"
#include "formats/artifact/plan_generated.h"
#include "formats/base/expected.h"
#include <map>
#include <string>
#include <vector>

namespace longwave::compiler {

// How far from float64 an artifact may be, relative to the peak of an output (formats/artifact/precision.h).
struct Precision {
    double rounding = 0;
    double limit() const;
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

    // How far each output of `exact`, which has the inputs and outputs of the graph added last, is from that
    // graph's on the same input, relative to its peak; in float64.
    Expected<std::vector<double>> changes_from(const ir::Graph &exact) const;

    const Precision &precision() const { return precision_; }               // of all of them
    std::vector<fb::GoldenT> take_vectors() { return std::move(vectors_); } // the limit is that of all
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
    std::vector<uint8_t> bytes_; // the segment
    // The last graph, as text, and what became of so many ticks: the stream of a causal model is the same
    // graph.
    std::string graph_;
    uint32_t ticks_ = 0;
    std::map<std::string, ir::Array> inputs_;
    std::vector<ir::Array> outputs_;
};

} // namespace longwave::compiler
