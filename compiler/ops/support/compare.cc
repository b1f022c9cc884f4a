#include "compiler/ops/support/compare.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/support/reference.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace longwave::ir {

namespace {

// A fixed sequence in [−1, 1): certificates must not depend on the standard library.
class Noise {
public:
    double next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(static_cast<int64_t>(state_) >> 11) * 0x1p-52;
    }

private:
    uint64_t state_ = 0x9e3779b97f4a7c15u;
};

} // namespace

Expected<double> largest_difference(const Graph &before, const Graph &after, size_t rows, size_t nonzero) {
    if (before.inputs.size() != 1 || after.inputs.size() != 1 || before.outputs.empty() ||
        after.outputs.empty())
        return Status::internal("a comparison needs graphs with one input and an output");
    const size_t width = before.type(before.inputs[0].value).width();
    Array x{rows, width, std::vector<double>(rows * width)};
    Noise noise;
    const size_t steps = nonzero == 0 || nonzero >= rows ? rows : std::max<size_t>(nonzero, 2);
    for (size_t i = 0; i < steps; ++i) {
        const size_t t = steps == rows ? i : i * (rows - 1) / (steps - 1);
        std::generate_n(x.row(t), width, [&] { return noise.next(); });
    }
    LW_ASSIGN(const auto a, evaluate(before, {{before.inputs[0].name, x}}));
    LW_ASSIGN(const auto b, evaluate(after, {{after.inputs[0].name, x}}));
    if (a[0].data.size() != b[0].data.size())
        return Status::internal(fmt::format("a rewrite changed the size of its value from {} to {}",
                                            a[0].data.size(), b[0].data.size()));
    double error = 0, peak = 0;
    for (size_t i = 0; i < a[0].data.size(); ++i) {
        const double difference = std::abs(a[0].data[i] - b[0].data[i]);
        error = difference > error || std::isnan(difference) ? difference : error;
        peak = std::max(peak, std::abs(a[0].data[i]));
    }
    return peak > 0 ? error / peak : error;
}

Expected<Graph> excerpt(const Graph &graph, ValueId from, const std::vector<ValueId> &terms) {
    Builder builder(graph.name);
    Type type = graph.type(from);
    type.clock = {1, 1};
    type.whole = 1;
    std::map<ValueId, ValueId> mapped{
        {from, builder.input({.name = "x", .kind = GraphInput::Kind::features}, type)}};
    std::optional<ValueId> sum;
    for (const ValueId term : terms) {
        LW_ASSIGN(const ValueId copy, copy_into(builder, graph, term, mapped));
        if (sum) {
            LW_ASSIGN(sum, make_sum(builder, *sum, copy, "sum"));
        } else sum = copy;
    }
    if (!sum) return Status::internal("an excerpt of nothing");
    builder.output("y", *sum);
    return std::move(builder).take();
}

Expected<Certificate> certify(std::string pass, std::string layer, std::string what, const Graph &before,
                              const Graph &after, size_t rows, size_t nonzero) {
    LW_ASSIGN(const double error, largest_difference(before, after, rows, nonzero));
    if (!(error <= rewrite_bound))
        return Status::internal(
            fmt::format("{}: layer {}: {}: expected an exact rewrite, found an error of {:.1e}", pass, layer,
                        what, error));
    return Certificate{std::move(pass), std::move(layer), std::move(what), error};
}

} // namespace longwave::ir
