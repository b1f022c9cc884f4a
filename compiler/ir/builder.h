// Builds graphs: every node's type is inferred and checked as it is added, so a finished graph is well typed.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::ir {

class Builder {
public:
    explicit Builder(std::string name) { graph_.name = std::move(name); }

    ValueId input(GraphInput input, Type type);
    ValueId constant(std::string key, std::vector<uint32_t> shape, Numbers data);
    ValueId constant(const Constant &constant, const Type &type); // shares the data
    // Errors (Fault::input): unknown op, attribute missing, unknown or of the wrong kind, input shapes or
    // clocks that do not fit; the message names the layer. Fault::internal for an input id that does not
    // exist.
    Expected<ValueId> node(const std::string &op, std::vector<ValueId> inputs, Attributes attributes,
                           std::string layer);
    void output(std::string name, ValueId value);
    void certificate(Certificate certificate) { graph_.certificates.push_back(std::move(certificate)); }

    const Graph &graph() const { return graph_; }
    Graph take() && { return std::move(graph_); }

private:
    Graph graph_;
};

// Copies a graph node by node while `rewrite` may replace any of them: it sees a node of the old graph with
// its inputs already mapped and returns the value that stands for its output in the new one. Values that
// nothing reads any more are dropped.
class Rewriter {
public:
    explicit Rewriter(const Graph &from);
    Builder &to() { return to_; }
    ValueId map(ValueId old) const { return mapped_[old]; } // only values already visited
    Expected<ValueId> keep(const Node &node);               // copy as it is
    // Visits the nodes in order. Rewrite: Expected<ValueId>(Rewriter &, const Node &).
    template <class Rewrite> Expected<Graph> run(Rewrite &&rewrite) {
        for (const Node &node : from_.nodes) {
            carry(node.output);
            LW_ASSIGN(mapped_[node.output], rewrite(*this, node));
        }
        return finish();
    }

private:
    void carry(ValueId end); // inputs and constants with smaller ids, so that a pass that changes nothing
                             // returns the same graph
    Expected<Graph> finish();
    const Graph &from_;
    Builder to_;
    std::vector<ValueId> mapped_;
    ValueId carried_ = 0;
};

// Copies what `value` of `from` depends on, down to constants and to the values already in `mapped` (old id
// -> id in `to`); returns its copy. Fails (Fault::internal) when that reaches an input which is not mapped.
Expected<ValueId> copy_into(Builder &to, const Graph &from, ValueId value,
                            std::map<ValueId, ValueId> &mapped);

// Removes nodes and constants that no output depends on.
Graph drop_unused(const Graph &graph);

} // namespace longwave::ir
