#include "compiler/ops/support/reference.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/support/transform_error.h"
#include "formats/base/half.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace longwave::ir {

namespace {

Status check_input(const GraphInput &input, const Type &type, const std::map<std::string, Array> &inputs) {
    const auto fail = [&](const std::string &message) {
        return Status::input(fmt::format("input \"{}\" {}", input.name, message));
    };
    const auto found = inputs.find(input.name);
    if (found == inputs.end()) return fail("is missing");
    const Array &array = found->second;
    if (array.width != type.width())
        return fail(fmt::format("expected rows of {}, found {}", type.width(), array.width));
    if (array.data.size() != array.rows * array.width)
        return fail(
            fmt::format("expected {} elements, found {}", array.rows * array.width, array.data.size()));
    if (input.kind != GraphInput::Kind::tokens) return Status::ok();
    for (const double id : array.data)
        if (!(id >= 0 && id < input.vocabulary && id == std::floor(id)))
            return fail(fmt::format("expected ids below {}, found {}", input.vocabulary, id));
    return Status::ok();
}

class Interpreter {
public:
    Interpreter(const Graph &graph, size_t length, bool keep, const Evaluation &how)
        : graph_(graph), length_(length), keep_(keep), how_(how), values_(graph.values.size()),
          ticks_(values_.size()) {
        if (!keep) count_readers();
    }

    Status run(const std::map<std::string, Array> &inputs) {
        for (const auto &[name, array] : inputs)
            if (std::none_of(graph_.inputs.begin(), graph_.inputs.end(),
                             [&, &name = name](const GraphInput &input) { return input.name == name; }))
                return Status::input("there is no input \"" + name + "\"");
        for (const GraphInput &input : graph_.inputs) {
            LW_TRY(check_input(input, graph_.type(input.value), inputs));
            values_[input.value] = inputs.at(input.name);
            ticks_[input.value] = values_[input.value].rows;
            if (length_ > ticks_[input.value])
                return Status::input(fmt::format("length {} is beyond the {} ticks of \"{}\"", length_,
                                                 ticks_[input.value], input.name));
        }
        for (const Node &node : graph_.nodes) LW_TRY(step(node));
        return Status::ok();
    }

    Array take(ValueId id) {
        if (const Constant *constant = graph_.constant(id))
            return {1, constant->data.size(), constant->data.to_vector()};
        return keep_ ? std::move(values_[id]) : values_[id]; // an output may be named twice
    }

private:
    void count_readers() {
        readers_.resize(values_.size());
        for (const Node &node : graph_.nodes)
            for (const ValueId id : node.inputs) ++readers_[id];
        for (const GraphOutput &output : graph_.outputs) ++readers_[output.value];
    }

    // Each row as integer kernels take it: in whole steps of the largest magnitude of so many
    // inputs.
    static Array in_steps(Array rows, int64_t steps, size_t together) {
        for (size_t t = 0; t < rows.rows; ++t)
            for (size_t first = 0; first < rows.width; first += together) {
                const std::span group(rows.row(t) + first, std::min(together, rows.width - first));
                double peak = 0;
                for (const double value : group) peak = std::max(peak, std::fabs(value));
                const double step = peak / static_cast<double>(steps);
                for (double &value : group)
                    if (step > 0) value = step * std::nearbyint(value / step);
            }
        return rows;
    }

    Operand operand(ValueId id) const {
        const Constant *constant = graph_.constant(id);
        return constant ? Operand(*constant) : Operand(values_[id]);
    }

    uint32_t rows_of_transform(const Node &node) const {
        if (!how_.rounded || !how_.transformed) return 0;
        const auto found = how_.transformed->find(node.output);
        return found == how_.transformed->end() ? 0 : found->second;
    }

    Status step(const Node &node) {
        size_t ticks = 0;
        std::vector<Operand> inputs;
        for (const ValueId id : node.inputs) {
            const bool timed = !graph_.type(id).clock.timeless();
            if (timed && ticks && ticks_[id] != ticks)
                return Status::input(
                    fmt::format("layer {}: expected inputs of one length, found {} and {} ticks", node.layer,
                                ticks, ticks_[id]));
            if (timed) ticks = ticks_[id];
            inputs.push_back(operand(id));
        }
        Array stepped; // lives as long as `inputs`
        if (how_.rounded && node.has(activation_steps.name)) {
            LW_ASSIGN(const schedules::WeightFormat format, weight_format(node));
            const int64_t steps = node.integer(activation_steps.name);
            const size_t together = schedules::inputs_of_unit(format, static_cast<int>(steps));
            stepped = in_steps(values_[node.inputs[0]], steps,
                               together ? together : std::max<size_t>(values_[node.inputs[0]].width, 1));
            inputs[0] = Operand(stepped);
        }
        const uint32_t transform = rows_of_transform(node);
        if (transform > 0) {
            stepped = values_[node.inputs[0]];
            add_transform_error(stepped, transform, node.output);
            inputs[0] = Operand(stepped);
        }
        const size_t length = graph_.type(node.inputs[0]).rows(length_ ? length_ : ticks);
        ticks_[node.output] = ticks;
        values_[node.output] =
            evaluate_node(graph_, node, inputs, graph_.type(node.output).rows(ticks), length, how_.workers);
        if (transform > 0) add_transform_error(values_[node.output], transform, ~node.output);
        if (how_.rounded)
            for (double &value : values_[node.output].data) value = static_cast<float>(value);
        if (how_.halves && how_.halves->contains(node.output))
            for (double &value : values_[node.output].data) value = to_half(value);
        if (!keep_)
            for (const ValueId id : node.inputs)
                if (--readers_[id] == 0) values_[id] = {};
        return Status::ok();
    }

    const Graph &graph_;
    size_t length_;
    bool keep_;
    const Evaluation how_;
    std::vector<Array> values_;
    std::vector<size_t> ticks_;   // of the graph input each value comes from
    std::vector<size_t> readers_; // that are still to come: values are let go after the last
};

} // namespace

Array evaluate_node(const Graph &graph, const Node &node, std::span<const Operand> inputs, size_t rows,
                    size_t length, unsigned workers) {
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph.type(id));
    std::vector<const Operand *> operands;
    for (const Operand &input : inputs) operands.push_back(&input);
    Operand first = inputs[0]; // has rows, also where it is a constant
    if (first.data.doubles().empty()) first.data = first.data.to_vector();
    operands[0] = &first;
    const size_t width = graph.type(node.output).width();
    Array out{rows, width, std::vector<double>(rows * width)};
    node.op->reference(node, operands, {length, types, workers}, out);
    return out;
}

std::vector<double> evaluate_constant(const Graph &graph, const Node &node) {
    std::vector<Operand> inputs;
    for (const ValueId id : node.inputs) inputs.emplace_back(*graph.constant(id));
    return evaluate_node(graph, node, inputs, 1, 1).data;
}

Expected<std::vector<Array>> evaluate(const Graph &graph, const std::map<std::string, Array> &inputs,
                                      size_t length, const Evaluation &how) {
    Interpreter interpreter(graph, length, false, how);
    LW_TRY(interpreter.run(inputs));
    std::vector<Array> out;
    for (const GraphOutput &output : graph.outputs) out.push_back(interpreter.take(output.value));
    return out;
}

Expected<std::vector<Array>> evaluate_all(const Graph &graph, const std::map<std::string, Array> &inputs,
                                          size_t length) {
    Interpreter interpreter(graph, length, true, {});
    LW_TRY(interpreter.run(inputs));
    std::vector<Array> out;
    for (ValueId id = 0; id < graph.values.size(); ++id) out.push_back(interpreter.take(id));
    return out;
}

} // namespace longwave::ir
