// Builds graphs. The builder infers and checks the type of every new node, so a finished graph is
// well typed.
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
    // Errors (Fault::input): an unknown op; an attribute that is missing, unknown or of the wrong
    // kind; shapes or clocks of inputs that do not fit. The message names the layer.
    // Fault::internal: an input id does not exist.
    Expected<ValueId> node(const std::string &op, std::vector<ValueId> inputs, Attributes attributes,
                           std::string layer);
    void output(std::string name, ValueId value);
    void certificate(Certificate certificate) { graph_.certificates.push_back(std::move(certificate)); }

    const Graph &graph() const { return graph_; }
    Graph take() && { return std::move(graph_); }

private:
    Graph graph_;
};

// Copies a graph node by node. `rewrite` sees each node of the old graph, after the inputs of that
// node are mapped. It returns the value that replaces the node's output in the new graph. Values
// without readers are dropped.
class Rewriter {
public:
    explicit Rewriter(const Graph &from);
    Builder &to() { return to_; }
    ValueId map(ValueId old) const { return mapped_[old]; }         // only values already visited
    Expected<ValueId> keep(const Node &node);                       // copy as it is
    void redirect(ValueId old, ValueId now) { mapped_[old] = now; } // for the nodes visited next
    // Visits the nodes in order. Rewrite: Expected<ValueId>(Rewriter &, const Node &).
    template <class Rewrite> Expected<Graph> run(Rewrite &&rewrite) {
        for (const Node &node : from_.nodes) {
            carry(node.output);
            LW_ASSIGN(mapped_[node.output], rewrite(*this, node));
        }
        return finish();
    }

private:
    void carry(ValueId end); // copies inputs and constants with smaller ids: a pass that changes nothing
                             // returns the same graph
    Expected<Graph> finish();
    const Graph &from_;
    Builder to_;
    std::vector<ValueId> mapped_;
    ValueId carried_ = 0;
};

// Copies `value` of `from` and everything it depends on, down to constants and to the values in
// `mapped` (old id -> id in `to`). Returns the copy. Fault::internal: it depends on an input that
// is not mapped.
Expected<ValueId> copy_into(Builder &to, const Graph &from, ValueId value,
                            std::map<ValueId, ValueId> &mapped);

// Removes nodes and constants that no output depends on.
Graph drop_unused(const Graph &graph);

} // namespace longwave::ir
