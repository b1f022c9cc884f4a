#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/selection/selection.h"
#include "compiler/passes/passes.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace longwave::compiler {

namespace {

using Index = std::vector<double>;

bool takes(const ir::Graph &graph, const ir::Node &node) {
    return node.op->rewrites.takes_elements && ir::constants_from(graph, node, 1);
}

// Each element of the result depends on the same element of the inputs alone.
bool is_pointwise(const ir::Graph &graph, const ir::Node &node) {
    const bool of_rows =
        node.op->pointwise == ir::Pointwise::unary || node.op->pointwise == ir::Pointwise::with_rows;
    return of_rows && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId input) {
               return graph.producer(input) && graph.type(input).dims == graph.type(node.output).dims;
           });
}

// Values whose elements may lie in any order, if all of them do in the same one.
struct Group {
    std::set<ir::ValueId> values;
    std::vector<const ir::Node *> into, out; // the takes that make values, and those that read them
};

class Groups {
public:
    explicit Groups(const ir::Graph &graph) : graph_(graph) {}

    // The values that hang together with one that a take makes. Empty: something else reads or makes one.
    std::optional<Group> of(const ir::Node &take) const {
        Group group;
        std::vector<ir::ValueId> open{take.output};
        while (!open.empty()) {
            const ir::ValueId value = open.back();
            open.pop_back();
            if (!group.values.insert(value).second) continue;
            if (is_output(value) || !made(value, group, open) || !read(value, group, open))
                return std::nullopt;
        }
        return group;
    }

private:
    bool is_output(ir::ValueId value) const {
        return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                           [&](const ir::GraphOutput &output) { return output.value == value; });
    }
    bool made(ir::ValueId value, Group &group, std::vector<ir::ValueId> &open) const {
        const ir::Node *node = graph_.producer(value);
        if (!node) return false;
        if (takes(graph_, *node)) {
            group.into.push_back(node);
            return true;
        }
        open.insert(open.end(), node->inputs.begin(), node->inputs.end());
        return is_pointwise(graph_, *node);
    }
    bool read(ir::ValueId value, Group &group, std::vector<ir::ValueId> &open) const {
        for (const ir::Node &node : graph_.nodes) {
            if (std::find(node.inputs.begin(), node.inputs.end(), value) == node.inputs.end()) continue;
            if (takes(graph_, node)) group.out.push_back(&node);
            else if (is_pointwise(graph_, node)) open.push_back(node.output);
            else return false;
        }
        return true;
    }

    const ir::Graph &graph_;
};

Index index_of(const ir::Graph &graph, const ir::Node &take) {
    return graph.constant(take.inputs[1])->data.to_vector();
}

size_t runs(const Index &index) {
    size_t count = 1;
    for (size_t i = 1; i < index.size(); ++i)
        count += index[i] != index[i - 1] + 1 && (index[i] >= 0 || index[i - 1] >= 0);
    return count;
}

// Where the elements go when they lie in the order in which the first take reads them.
class Order {
public:
    explicit Order(const Index &first) : from_(first.size()), to_(first.size()) {
        std::iota(from_.begin(), from_.end(), size_t{0});
        std::stable_sort(from_.begin(), from_.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
        for (size_t i = 0; i < from_.size(); ++i) to_[from_[i]] = static_cast<double>(i);
    }
    Index into(const Index &index) const {
        Index moved;
        for (const size_t from : from_) moved.push_back(index[from]);
        return moved;
    }
    Index out_of(const Index &index) const {
        Index moved = index;
        for (double &element : moved)
            if (element >= 0) element = to_[static_cast<size_t>(element)];
        return moved;
    }

private:
    std::vector<size_t> from_;
    Index to_;
};

// The indexes of takes that change, by the value that each makes.
using Changes = std::map<ir::ValueId, Index>;

void reorder(const ir::Graph &graph, const Group &group, Changes &changes) {
    const auto now = [&](const ir::Node &take) {
        const auto changed = changes.find(take.output);
        return changed == changes.end() ? index_of(graph, take) : changed->second;
    };
    const Order order(now(*group.into.front()));
    Changes moved;
    size_t before = 0, after = 0;
    for (const ir::Node *take : group.into) {
        const Index index = now(*take);
        moved[take->output] = order.into(index);
        before += runs(index), after += runs(moved[take->output]);
    }
    for (const ir::Node *take : group.out) {
        // A take from one value of the group to another one changes both ways.
        const bool both = moved.contains(take->output);
        const Index index = both ? moved[take->output] : now(*take);
        moved[take->output] = order.out_of(index);
        if (!both) before += runs(index);
        after += runs(moved[take->output]);
    }
    if (after >= before) return;
    for (auto &[value, index] : moved) changes[value] = std::move(index);
}

} // namespace

Expected<ir::Graph> order_elements(const ir::Graph &graph) {
    const Groups groups(graph);
    std::set<ir::ValueId> done;
    Changes changes;
    for (const ir::Node &node : graph.nodes) {
        if (!takes(graph, node) || done.contains(node.output)) continue;
        const std::optional<Group> group = groups.of(node);
        if (!group) continue;
        done.insert(group->values.begin(), group->values.end());
        if (!group->out.empty()) reorder(graph, *group, changes);
    }
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        const auto changed = changes.find(node.output);
        if (changed == changes.end()) return rewrite.keep(node);
        return ir::make_taken(rewrite.to(), rewrite.map(node.inputs[0]), changed->second,
                              node.integer("bands"), node.layer);
    });
}

} // namespace longwave::compiler
