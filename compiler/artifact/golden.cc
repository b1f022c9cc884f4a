#include "compiler/artifact/golden.h"
#include "compiler/artifact/golden_windows.h"
#include "compiler/ir/text.h"
#include "compiler/ops/support/reference.h"
#include "formats/artifact/precision.h"
#include "formats/base/half.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <random>

namespace longwave::compiler {

namespace {

constexpr uint32_t most_steps = 256;
constexpr uint32_t least_steps = 16;
constexpr size_t kept_values = 1 << 16;   // of an output, in a long vector: 16 to 256 rows
constexpr size_t kept_in_short = 1 << 18; // the same in a short one; narrower outputs are kept whole
constexpr double useless = 0.05;          // of the peak: nobody can read such an output

// The longest vector whose reference takes about a minute: `work` multiply-adds a tick, twice.
constexpr double most_work = 3e10;

// Multiply-adds of the reference for one row, roughly. Long filters go through transforms.
double work_of(const ir::Graph &graph, const ir::Node &node) {
    const ir::Type &type = graph.type(node.output);
    double work = type.width();
    if (node.op->work) {
        std::vector<ir::Type> types;
        for (const ir::ValueId id : node.inputs) types.push_back(graph.type(id));
        return work + node.op->work(node, types, type);
    }
    for (const ir::ValueId id : node.inputs)
        if (const ir::Constant *constant = graph.constant(id))
            work += static_cast<double>(constant->data.size());
    const bool looks_up = node.op->rewrites.gathers_rows || node.op->rewrites.filter;
    return looks_up ? std::min(work, 512.0 * type.width()) : work;
}

// The same for one input tick.
double work_of(const ir::Graph &graph) {
    double work = 0;
    for (const ir::Node &node : graph.nodes) {
        const ir::Clock &clock = graph.type(node.output).clock;
        if (!clock.timeless()) work += work_of(graph, node) * clock.num / clock.den;
    }
    return work;
}

// Products in the longest sum of a matrix multiplication.
double terms_of(const ir::Graph &graph) {
    double most = 0;
    for (const ir::Node &node : graph.nodes)
        if (node.op->rewrites.is_product && node.op->rewrites.is_product(graph, node))
            most = std::max(most, work_of(graph, node) / graph.type(node.output).width());
    return most;
}

// Input ticks: enough for some rows of the slowest output, and fewer of a model whose rows cost
// much.
uint32_t wanted_ticks(const ir::Graph &graph) {
    uint32_t slowest = 1;
    for (const auto &value : graph.values)
        if (!value.type.clock.timeless())
            slowest = std::max({slowest, value.type.clock.den / value.type.clock.num, value.type.whole});
    if (slowest > 1) return std::min(most_steps, 8u) * slowest;
    return static_cast<uint32_t>(std::clamp<double>(2 * most_work / work_of(graph), least_steps, most_steps));
}

// In whole blocks, and at most what a run holds.
uint32_t golden_ticks(const ir::Graph &graph, const EntryPlan &plan) {
    const uint32_t wanted = wanted_ticks(graph);
    if (plan.kind == EntryPlan::Kind::run) return std::max(plan.least, std::min(plan.block, wanted));
    // In whole periods of its steps, unless these are very long.
    constexpr uint64_t most_span = 1 << 20;
    uint64_t span = uint64_t{plan.block} * plan.period;
    if (span > most_span) span = plan.block;
    return static_cast<uint32_t>((wanted + span - 1) / span * span);
}

bool prime(uint32_t n) {
    for (uint32_t d = 2; d * d <= n; d++)
        if (n % d == 0) return false;
    return true;
}

// Rows that repeat with this period differ at the distance of any two partitions, blocks or slots
// of a ring: those are products of small factors.
uint32_t period_of(uint32_t rows) {
    while (rows > 2 && !prime(rows)) rows--;
    return rows;
}

std::map<std::string, ir::Array> repeated(const std::map<std::string, ir::Array> &inputs, uint32_t period,
                                          uint32_t ticks) {
    std::map<std::string, ir::Array> longer;
    for (const auto &[name, from] : inputs) {
        ir::Array array{.rows = ticks, .width = from.width, .data = {}};
        array.data.reserve(array.rows * array.width);
        for (uint32_t t = 0; t < ticks; t++)
            array.data.insert(array.data.end(), from.row(t % period), from.row(t % period) + from.width);
        longer.emplace(name, std::move(array));
    }
    return longer;
}

// Whether the rows of a shorter run are the first ones of a longer run.
bool prefixes_hold(const ir::Graph &graph) {
    return std::all_of(graph.outputs.begin(), graph.outputs.end(), [&](const ir::GraphOutput &output) {
        const ir::Type &type = graph.type(output.value);
        return type.causal && !type.clock.timeless();
    });
}

// The largest difference, relative to the peak.
double distance(const ir::Array &exact, const ir::Array &other) {
    double peak = 0, worst = 0;
    for (size_t i = 0; i < exact.data.size(); i++) {
        peak = std::max(peak, std::fabs(exact.data[i]));
        const double apart = std::fabs(exact.data[i] - other.data[i]);
        worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
    }
    return peak > 0 ? worst / peak : worst;
}

// Names the first layer whose values are not finite, which is why the output is not.
Status not_finite(const ir::Graph &graph, const std::map<std::string, ir::Array> &inputs,
                  const std::string &output) {
    LW_ASSIGN(const auto values, ir::evaluate_all(graph, inputs));
    const auto some = [&](const ir::Node &node, bool (*is)(double)) {
        return std::any_of(values[node.output].data.begin(), values[node.output].data.end(), is);
    };
    for (const ir::Node &node : graph.nodes) {
        if (some(node, [](double value) { return std::isnan(value); }))
            return Status::input(fmt::format("output {}: layer {} ({}) gives NaN for some inputs between -1 "
                                             "and 1. Keep its inputs where it has values, "
                                             "for example with `abs` or `clamp` before it",
                                             output, node.layer, node.op->name));
        if (some(node, [](double value) { return !std::isfinite(static_cast<float>(value)); }))
            return Status::input(
                fmt::format("output {}: layer {} ({}) gives values that float32 cannot hold. Check whether "
                            "activations grow from layer to layer",
                            output, node.layer, node.op->name));
    }
    return Status::input(fmt::format("output {}: float32 cannot compute this model", output));
}

} // namespace

double Precision::limit() const { return artifact::golden_limit(rounding, terms); }
double Precision::fp16_limit() const { return artifact::golden_fp16_limit(rounding, terms, halves, between); }

uint64_t GoldenVectors::append(const void *bytes, size_t size) {
    bytes_.resize((bytes_.size() + 63) / 64 * 64);
    const uint64_t offset = bytes_.size();
    bytes_.insert(bytes_.end(), static_cast<const uint8_t *>(bytes),
                  static_cast<const uint8_t *>(bytes) + size);
    return offset;
}

std::map<std::string, ir::Array> GoldenVectors::make_inputs(const ir::Graph &graph, uint32_t ticks,
                                                            fb::GoldenT &golden) {
    std::mt19937 random(20211); // the generator's bits are fixed by the standard, its distributions are not
    std::map<std::string, ir::Array> inputs;
    for (size_t i = 0; i < graph.inputs.size(); i++) {
        const auto &input = graph.inputs[i];
        const uint32_t width = graph.type(input.value).width();
        ir::Array array{.rows = ticks, .width = width, .data = std::vector<double>(size_t(ticks) * width)};
        fb::GoldenTensorT tensor;
        tensor.port = static_cast<uint16_t>(i);
        tensor.rows = ticks;
        tensor.width = width;
        if (input.kind == ir::GraphInput::Kind::tokens) {
            std::vector<int32_t> ids(array.data.size());
            for (auto &id : ids) id = static_cast<int32_t>(random() % std::max(1u, input.vocabulary));
            std::copy(ids.begin(), ids.end(), array.data.begin());
            tensor.offset = append(ids.data(), ids.size() * sizeof(int32_t));
        } else {
            const float scale = input.kind == ir::GraphInput::Kind::audio ? 0.2f : 2.f;
            std::vector<float> samples(array.data.size());
            for (auto &s : samples) s = scale * (static_cast<float>(random() >> 8) / 16777216.f - 0.5f);
            std::copy(samples.begin(), samples.end(), array.data.begin());
            tensor.offset = append(samples.data(), samples.size() * sizeof(float));
        }
        inputs.emplace(input.name, std::move(array));
        golden.inputs.push_back(std::make_unique<fb::GoldenTensorT>(tensor));
    }
    return inputs;
}

Status GoldenVectors::evaluate(const ir::Graph &graph, const EntryPlan &plan, uint32_t ticks, Inputs inputs,
                               Reference &into) {
    std::string text = ir::print(graph);
    const bool known = text == into.graph && ticks == into.ticks;
    if (known && plan.transformed.empty()) return Status::ok();
    if (!known) {
        LW_ASSIGN(into.outputs, ir::evaluate(graph, inputs, 0, {.workers = workers_}));
    }
    LW_ASSIGN(const auto rounded,
              ir::evaluate(graph, inputs, 0,
                           {.workers = workers_, .rounded = true, .transformed = &plan.transformed}));
    precision_.terms = std::max(precision_.terms, terms_of(graph));
    into.graph = std::move(text);
    into.ticks = ticks;
    for (size_t i = 0; i < into.outputs.size(); i++) {
        const double apart = distance(into.outputs[i], rounded[i]);
        if (!(apart <= useless)) return useless_output(graph, plan, inputs, i, apart);
        precision_.rounding = std::max(precision_.rounding, apart);
    }
    into.inputs = std::move(inputs);
    return Status::ok();
}

// Which of the two float32 cannot do: hold the values, or transform them.
Status GoldenVectors::useless_output(const ir::Graph &graph, const EntryPlan &plan, const Inputs &inputs,
                                     size_t output, double apart) const {
    const std::string name = graph.outputs[output].name;
    LW_ASSIGN(const auto exact, ir::evaluate(graph, inputs, 0, {.workers = workers_}));
    if (!plan.transformed.empty()) {
        LW_ASSIGN(const auto summed, ir::evaluate(graph, inputs, 0, {.workers = workers_, .rounded = true}));
        if (distance(exact[output], summed[output]) <= useless)
            return Status::input(fmt::format("output {}: the transforms of its long convolutions move it by "
                                             "{:.2g} of its peak in float32, because "
                                             "values grow from layer to layer. Compile with --convolution "
                                             "direct, or add norms between the layers",
                                             name, apart));
    }
    if (!std::isfinite(apart)) return not_finite(graph, inputs, name);
    return Status::input(
        fmt::format("output {}: float32 cannot compute this model. Rounding between layers moves the "
                    "output by {:.2g} of its peak. Check whether activations grow from layer to layer",
                    name, apart));
}

Expected<std::vector<double>> GoldenVectors::changes_from(const ir::Graph &exact) const {
    LW_ASSIGN(const auto outputs, ir::evaluate(exact, short_.inputs, 0, {.workers = workers_}));
    std::vector<double> changes;
    for (size_t i = 0; i < outputs.size(); i++) changes.push_back(distance(outputs[i], short_.outputs[i]));
    return changes;
}

void GoldenVectors::store(fb::GoldenT &golden, size_t port, const ir::Array &rows, const Part &part) {
    fb::GoldenTensorT tensor;
    tensor.port = static_cast<uint16_t>(port);
    tensor.rows = static_cast<uint32_t>(part.total);
    tensor.width = static_cast<uint32_t>(rows.width);
    if (part.count < part.total) {
        tensor.first = static_cast<uint32_t>(part.first);
        tensor.stored = static_cast<uint32_t>(part.count);
    }
    const std::vector<float> values(rows.row(part.row), rows.row(part.row + part.count));
    tensor.offset = append(values.data(), values.size() * sizeof(float));
    golden.outputs.push_back(std::make_unique<fb::GoldenTensorT>(tensor));
}

Status GoldenVectors::add(const ir::Graph &graph, const EntryPlan &plan, uint16_t entry) {
    fb::GoldenT golden;
    golden.entry = entry;
    const uint32_t ticks = plan.window ? ticks_of_windows(plan, false) : golden_ticks(graph, plan);
    const Inputs inputs = make_inputs(graph, ticks, golden);
    std::vector<ir::Array> windows;
    if (plan.window) {
        LW_ASSIGN(windows, slide(graph, plan, inputs, false));
    } else {
        LW_TRY(evaluate(graph, plan, ticks, inputs, short_));
    }
    const std::vector<ir::Array> &outputs = plan.window ? windows : short_.outputs;
    for (size_t i = 0; i < outputs.size(); i++) {
        const size_t all = outputs[i].rows,
                     kept = std::min(all, std::max<size_t>(kept_in_short / outputs[i].width, least_steps));
        store(golden, i, outputs[i], {all - kept, kept, all - kept, all});
    }
    long_used_ = false;
    vectors_.push_back(std::move(golden));
    return add_long(graph, plan, fb::GoldenT(vectors_.back()), inputs);
}

// Ticks after which the last two blocks, and all rows that are stored, have read every lag.
double GoldenVectors::all_lags() const {
    return static_cast<double>(reach_.ticks) + std::max(2.0 * block_, double{most_steps});
}

// Ticks of the long vector of an entry; 0: it needs none.
uint32_t GoldenVectors::long_ticks(const ir::Graph &graph, const EntryPlan &plan, uint32_t brief) const {
    if (plan.window) return ticks_of_windows(plan, true);
    const bool run = plan.kind == EntryPlan::Kind::run;
    const bool whole = run && reach_.whole;
    if (!whole && double(reach_.ticks) + 1 + 2.0 * block_ <= brief) return 0;
    double wanted = whole ? plan.block : all_lags();
    if (run) wanted = std::min<double>(wanted, plan.block);
    wanted = std::min(wanted, std::max<double>(plan.least, std::floor(most_work / work_of(graph))));
    return wanted <= brief ? 0 : static_cast<uint32_t>(wanted);
}

Status GoldenVectors::add_long(const ir::Graph &graph, const EntryPlan &plan, const fb::GoldenT &brief,
                               const Inputs &inputs) {
    const uint32_t stored = brief.inputs[0]->rows, ticks = long_ticks(graph, plan, stored);
    if (ticks == 0) return Status::ok();
    fb::GoldenT golden;
    golden.entry = brief.entry;
    const uint32_t period = period_of(std::min(stored, wanted_ticks(graph))); // the same for runs and streams
    for (const auto &tensor : brief.inputs) {
        golden.inputs.push_back(std::make_unique<fb::GoldenTensorT>(*tensor));
        golden.inputs.back()->rows = ticks;
        golden.inputs.back()->stored = period;
    }
    std::vector<ir::Array> windows;
    if (plan.window) {
        LW_ASSIGN(windows, slide(graph, plan, repeated(inputs, period, ticks), true));
    } else {
        // Of a causal model, the rows of a run are the first ones of a stream that goes on: one
        // reference does.
        const double all = all_lags();
        const bool shared = prefixes_hold(graph) && all <= 2.0 * ticks && all <= most_work / work_of(graph);
        const uint32_t rows = std::max(ticks, shared ? static_cast<uint32_t>(all) : 0);
        LW_TRY(evaluate(graph, plan, rows, repeated(inputs, period, rows), long_));
        long_used_ = true;
    }
    for (size_t i = 0; i < graph.outputs.size(); i++) {
        if (plan.window) {
            const size_t first = first_row_of_full_window(plan, plan.outputs[i]), added = windows[i].rows;
            store(golden, i, windows[i], {0, added, first, first + added});
            continue;
        }
        const ir::Array &rows = long_.outputs[i];
        const size_t all = graph.type(graph.outputs[i].value).rows(ticks);
        const size_t kept = std::min(all, std::clamp<size_t>(kept_values / rows.width, 16, most_steps));
        // The last rows read all rows before them. Where a layer looks ahead, the first ones read
        // all rows behind.
        if (reach_.ahead && kept < all) store(golden, i, rows, {0, std::min(kept, all - kept), 0, all});
        store(golden, i, rows, {all - kept, kept, all - kept, all});
    }
    vectors_.push_back(std::move(golden));
    return Status::ok();
}

uint64_t GoldenVectors::longest(const ir::Graph &graph, const EntryPlan &plan) const {
    if (plan.window) return plan.window;
    const uint32_t brief = golden_ticks(graph, plan), rest = long_ticks(graph, plan, brief);
    // A long reference may serve the stream as well (add_long).
    return std::max<uint64_t>(
        brief, rest ? std::max<uint64_t>(
                          rest, std::min<uint64_t>(static_cast<uint64_t>(all_lags()), 2 * uint64_t{rest}))
                    : 0);
}

uint32_t GoldenVectors::ticks(uint16_t entry) const {
    uint32_t most = 0;
    for (const fb::GoldenT &golden : vectors_)
        if (golden.entry == entry) most = std::max(most, golden.inputs[0]->rows);
    return most;
}

void GoldenVectors::again(uint16_t of, uint16_t entry) {
    const size_t before = vectors_.size();
    for (size_t i = 0; i < before; i++) {
        if (vectors_[i].entry != of) continue;
        fb::GoldenT golden = vectors_[i];
        golden.entry = entry;
        vectors_.push_back(std::move(golden));
    }
}

Status GoldenVectors::again_in_fp16(uint16_t of, uint16_t entry, const ir::Graph &graph,
                                    const std::set<ir::ValueId> &halves, uint32_t between) {
    for (const Reference *reference : {&short_, long_used_ ? &long_ : nullptr}) {
        if (!reference) continue;
        LW_ASSIGN(const auto rounded,
                  ir::evaluate(graph, reference->inputs, 0, {.workers = workers_, .halves = &halves}));
        for (size_t i = 0; i < rounded.size(); i++) {
            const double apart = distance(reference->outputs[i], rounded[i]);
            if (apart > useless)
                return Status::input(fmt::format(
                    "output {}: float16 cannot hold what the layers of this model hand to each other: {}; "
                    "compile it "
                    "without --gpu-storage f16",
                    graph.outputs[i].name,
                    std::isfinite(apart) ? fmt::format("it moves the output by {:.2g} of its peak", apart)
                                         : fmt::format("values beyond {}", most_half)));
            precision_.halves = std::max(precision_.halves, apart);
        }
    }
    precision_.between = std::max(precision_.between, between);
    in_fp16_.insert(entry);
    again(of, entry);
    return Status::ok();
}

std::vector<fb::GoldenT> GoldenVectors::take_vectors() {
    for (fb::GoldenT &each : vectors_)
        each.error_limit =
            static_cast<float>(in_fp16_.contains(each.entry) ? precision_.fp16_limit() : precision_.limit());
    return std::move(vectors_);
}

} // namespace longwave::compiler
