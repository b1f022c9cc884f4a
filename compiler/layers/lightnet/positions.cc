#include "compiler/layers/lightnet/positions.h"
#include "compiler/layers/layers.h"
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
ir::ValueId rotation_rates(Lowering &lowering, const Layer &layer, const std::string &parameter, double base,
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

Expected<Flow> rotate(Lowering &lowering, const Layer &layer, ir::ValueId x, ir::ValueId theta,
                      uint32_t heads, const Positions &positions) {
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

// lrpe: rotates queries or keys by their positions, with the op of that name, which doubles their
// width.
Expected<Flow> lower_lrpe(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    const uint32_t heads = integer(layer, "heads");
    if (width % heads)
        return lowering.failure(layer, "heads", "a divisor of the " + std::to_string(width) + " features",
                                std::to_string(heads));
    LW_ASSIGN(const Positions positions, read_positions(lowering, layer));
    const ir::ValueId theta = rotation_rates(lowering, layer, "theta", 0, heads, width, positions);
    return rotate(lowering, layer, inputs[0].value, theta, heads, positions);
}

// tpe, exponential_sums: positions by decaying sums over earlier rows (TPE of LightNet). The sums
// run along the sequence, or along every axis of an image and are added. tpe is the form of the
// published library: one decay per head, and exponential_scan -> rms_norm -> linear per axis.
// exponential_sums is the form of the paper (Eq. 11): the scans alone, with several decays per
// channel.

namespace {

// The matrix state of a linear attention whose queries, keys and decays do not change with time
// collapses: what is left of it is one decaying sum a channel, scaled by q·k of its head.
Expected<Flow> along_axis(Lowering &lowering, const Layer &layer, Flow x, const std::string &prefix,
                          const Positions &positions, size_t axis) {
    const uint32_t width = lowering.width(x), heads = integer(layer, "heads"), of_head = width / heads;
    const std::vector<double> q = lowering.numbers(layer, prefix + "q", {width}),
                              k = lowering.numbers(layer, prefix + "k", {width}),
                              decay = lowering.numbers(layer, prefix + "log_decay", {heads});
    std::vector<double> lambda, gain;
    if (!q.empty() && !k.empty() && !decay.empty())
        for (uint32_t h = 0; h < heads; ++h) {
            double product = 0;
            for (uint32_t i = h * of_head; i < (h + 1) * of_head; ++i) product += q[i] * k[i];
            lambda.insert(lambda.end(), of_head, 1 / (1 + std::exp(-decay[h])));
            gain.insert(gain.end(), of_head, product);
        }
    const ir::ValueId lambdas =
                          lowering.constant(layer.key(prefix + "log_decay") + ".lambda", {width, 1}, lambda),
                      gains = lowering.constant(layer.key(prefix + "q") + ".gain", {width, 1}, gain);
    LW_ASSIGN(Flow y, scan(lowering, layer, x, lambdas, gains, positions, axis));
    LW_ASSIGN(y, lowering.node(layer, "rms_norm",
                               {y.value, lowering.weight(layer, prefix + "norm.weight", {width})},
                               {{"eps", number(layer, "norm_eps")}}, Form::features));
    return lowering.product(layer, prefix + "o_proj", y, width, false);
}

Expected<Flow> sum(Lowering &lowering, const Layer &layer, const std::vector<Flow> &parts) {
    Flow total = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
        LW_ASSIGN(total, lowering.node(layer, "add", {total.value, parts[i].value}, {}, Form::features));
    }
    return total;
}

} // namespace

Expected<Flow> lower_tpe(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    LW_ASSIGN(const Positions positions, read_positions(lowering, layer));
    if (width % integer(layer, "heads"))
        return lowering.failure(layer, "heads", "a divisor of the " + std::to_string(width) + " features",
                                std::to_string(integer(layer, "heads")));
    std::vector<Flow> parts;
    const size_t axes = std::max<size_t>(1, positions.axes.size());
    for (size_t i = 0; i < axes; ++i) { // the published list begins with the fastest axis
        const std::string prefix = positions.axes.empty() ? "" : "tpes." + std::to_string(i) + ".";
        LW_ASSIGN(const Flow part, along_axis(lowering, layer, inputs[0], prefix, positions, axes - 1 - i));
        parts.push_back(part);
    }
    return sum(lowering, layer, parts);
}

Expected<Flow> lower_exponential_sums(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    LW_ASSIGN(const Positions positions, read_positions(lowering, layer));
    const uint32_t modes = integer(layer, "modes"),
                   axes = std::max<uint32_t>(1, static_cast<uint32_t>(positions.axes.size()));
    const std::vector<std::vector<uint32_t>> stored = {{axes, width, modes}};
    const std::vector<double> lambda = lowering.numbers(layer, "lambda", stored[0]),
                              c = lowering.numbers(layer, "c", stored[0]);
    std::vector<Flow> parts;
    for (uint32_t axis = 0; axis < axes; ++axis) {
        const auto slice = [&](const std::vector<double> &all, const char *name) {
            const ptrdiff_t size = ptrdiff_t{width} * modes;
            std::vector<double> of_axis;
            if (!all.empty()) of_axis.assign(all.begin() + axis * size, all.begin() + (axis + 1) * size);
            return lowering.constant(layer.key(name) + "." + std::to_string(axis), {width, modes}, of_axis);
        };
        const ir::ValueId lambdas = slice(lambda, "lambda"), cs = slice(c, "c");
        LW_ASSIGN(const Flow part, scan(lowering, layer, inputs[0], lambdas, cs, positions, axis));
        parts.push_back(part);
    }
    return sum(lowering, layer, parts);
}

} // namespace longwave::compiler::layers
