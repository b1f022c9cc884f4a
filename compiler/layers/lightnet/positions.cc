#include "compiler/layers/lightnet/positions.h"
#include "compiler/ops/attention/positions.h"
#include <cmath>

namespace longwave::compiler::layers {

Expected<Positions> read_positions(const Lowering &lowering, const Layer &layer) {
    Positions positions;
    if (layer.attributes.contains("conditions")) positions.conditions = integer(layer, "conditions");
    if (layer.attributes.contains("shape")) positions.shape = layer.attributes.at("shape");
    auto axes = ir::axes_of(positions.shape);
    if (!axes)
        return lowering.failure(layer, "shape", "sizes of 1 to 3 axes such as \"8x11\"",
                                package::in_quotes(positions.shape));
    positions.axes = std::move(*axes);
    if (positions.conditions && positions.axes.empty())
        return lowering.failure(layer, "conditions", "0 without \"shape\"",
                                std::to_string(positions.conditions),
                                "conditions stand before an image: give its shape");
    return positions;
}

// A list of one head serves all. Over an image a list may have d entries, one for each feature of a
// head, or ⌈d / axes⌉ of them that all axes share (`theta_layout` "shared").
ir::ValueId turning_rates(Lowering &lowering, const Layer &layer, const std::string &parameter, double base,
                          uint32_t heads, uint32_t width, const Positions &positions) {
    const uint32_t d = width / heads,
                   axes = std::max<uint32_t>(1, static_cast<uint32_t>(positions.axes.size())),
                   entries = layer.attributes.at("theta_layout") == "shared" ? (d + axes - 1) / axes : d;
    std::vector<double> stored;
    bool one_head = true;
    if (const package::Tensor *tensor = lowering.find(layer, parameter); tensor || base == 0) {
        one_head = !tensor || heads == 1 || tensor->data.size() != size_t{heads} * entries;
        const std::vector<uint32_t> shape = {one_head ? 1 : heads, entries};
        stored = lowering.numbers(layer, parameter, shape, {shape, {entries}});
    } else {
        for (uint32_t i = 0; i < entries; ++i)
            stored.push_back(static_cast<float>(std::pow(base, -2.0 * i / entries)));
    }
    std::vector<double> theta;
    if (entries > 0 && !stored.empty()) // none when something was reported
        for (uint32_t h = 0; h < heads; ++h)
            for (uint32_t i = 0; i < d; ++i)
                theta.push_back(stored[(one_head ? 0 : h * entries) + i % entries]);
    return lowering.constant(layer.key(parameter) + ".each", {width}, std::move(theta));
}

Expected<Flow> turn(Lowering &lowering, const Layer &layer, ir::ValueId x, ir::ValueId theta, uint32_t heads,
                    const Positions &positions) {
    ir::Attributes attributes{{"heads", int64_t{heads}}};
    if (!positions.shape.empty()) {
        attributes["shape"] = positions.shape;
        attributes["conditions"] = int64_t{positions.conditions};
    }
    return lowering.node(layer, "lrpe", {x, theta}, std::move(attributes), Form::features);
}

Expected<Flow> scan(Lowering &lowering, const Layer &layer, Flow x, ir::ValueId lambda, ir::ValueId c,
                    const Positions &positions, size_t axis) {
    ir::Attributes attributes;
    if (!positions.shape.empty()) {
        attributes["shape"] = positions.shape;
        attributes["axis"] = static_cast<int64_t>(axis);
    }
    return lowering.node(layer, "exponential_scan", {x.value, lambda, c}, std::move(attributes),
                         Form::features);
}

} // namespace longwave::compiler::layers
