#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/selection/selection.h"
#include "compiler/passes/passes.h"
#include <map>

namespace longwave::compiler {

namespace {

class Copying {
public:
    Copying(const ir::Graph &from, const std::vector<ValueCopy> &copies)
        : from_(from), to_(from.name), mapped_(from.values.size()) {
        for (const ValueCopy &copy : copies) copies_[copy.value] = {&copy};
    }

    Expected<ir::Graph> run() {
        for (const ir::Certificate &certificate : from_.certificates) to_.certificate(certificate);
        for (ir::ValueId id = 0; id < from_.values.size(); id++) {
            const ir::Value &value = from_.values[id];
            if (const ir::Constant *constant = from_.constant(id))
                mapped_[id] = to_.constant(*constant, value.type);
            else if (value.kind == ir::Value::Kind::input)
                LW_TRY(made(id, to_.input(from_.inputs[value.index], value.type)));
        }
        for (size_t n = 0; n < from_.nodes.size(); n++) {
            const ir::Node &node = from_.nodes[n];
            std::vector<ir::ValueId> inputs;
            for (const ir::ValueId id : node.inputs) inputs.push_back(as_read(id, n));
            LW_ASSIGN(const ir::ValueId output,
                      to_.node(node.op->name, std::move(inputs), node.attributes, node.layer));
            LW_TRY(made(node.output, output));
        }
        for (const ir::GraphOutput &output : from_.outputs) {
            const auto copied = copies_.find(output.value);
            const bool is_copy = copied != copies_.end() && copied->second.of->output;
            to_.output(output.name, is_copy ? copied->second.made : mapped_[output.value]);
        }
        return std::move(to_).take();
    }

private:
    struct Copied {
        const ValueCopy *of = nullptr;
        ir::ValueId made = 0;
    };

    ir::ValueId as_read(ir::ValueId id, size_t node) const {
        const auto copied = copies_.find(id);
        const bool is_copy = copied != copies_.end() && copied->second.of->readers.contains(node);
        return is_copy ? copied->second.made : mapped_[id];
    }

    // The copy is made where the value is.
    Status made(ir::ValueId old, ir::ValueId now) {
        mapped_[old] = now;
        const auto copied = copies_.find(old);
        if (copied == copies_.end()) return Status::ok();
        LW_ASSIGN(copied->second.made, ir::make_reordered(to_, now, layer_of(*copied->second.of)));
        return Status::ok();
    }

    // A copy counts to the layer that reads it.
    std::string layer_of(const ValueCopy &copy) const {
        if (!copy.readers.empty()) return from_.nodes[*copy.readers.begin()].layer;
        const ir::Node *producer = from_.producer(copy.value);
        return producer ? producer->layer : "";
    }

    const ir::Graph &from_;
    ir::Builder to_;
    std::vector<ir::ValueId> mapped_;
    std::map<ir::ValueId, Copied> copies_;
};

} // namespace

Expected<ir::Graph> reorder_values(const ir::Graph &graph, const std::vector<ValueCopy> &copies) {
    return Copying(graph, copies).run();
}

} // namespace longwave::compiler
