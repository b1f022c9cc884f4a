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
constexpr double useless = 0.05; // of the peak: nobody can read such an output

// Input ticks: enough for some rows of the slowest output, in whole blocks, and at most what a run holds.
uint32_t golden_ticks(const ir::Graph &graph, const EntryPlan &plan) {
    uint32_t slowest = 1;
    for (const auto &value : graph.values)
        if (!value.type.clock.timeless())
            slowest = std::max(slowest, value.type.clock.den / std::max(1u, value.type.clock.num));
    uint32_t wanted = slowest == 1 ? most_steps : std::min(most_steps, 8u) * slowest;
    if (plan.kind == EntryPlan::Kind::run) return std::max(plan.least, std::min(plan.block, wanted));
    uint32_t span = plan.block * plan.period;
    return (wanted + span - 1) / span * span;
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

} // namespace

double Precision::limit() const { return artifact::golden_limit(rounding); }
double Precision::fp16_limit() const {
    return artifact::golden_fp16_limit(rounding, halves, between);
}

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

Status GoldenVectors::evaluate(const ir::Graph &graph, uint32_t ticks,
                               std::map<std::string, ir::Array> inputs) {
    std::string text = ir::print(graph);
    if (text == graph_ && ticks == ticks_) return Status::ok();
    LW_ASSIGN(outputs_, ir::evaluate(graph, inputs, 0, {.workers = workers_}));
    LW_ASSIGN(const auto rounded, ir::evaluate(graph, inputs, 0, {.workers = workers_, .rounded = true}));
    graph_ = std::move(text);
    ticks_ = ticks;
    inputs_ = std::move(inputs);
    for (size_t i = 0; i < outputs_.size(); i++) {
        const double apart = distance(outputs_[i], rounded[i]);
        if (apart > useless)
            return Status::input(
                fmt::format("output {}: float32 cannot compute this model. Rounding between layers moves the "
                            "output by {:.2g} of its peak. Check whether activations grow from layer to layer",
                            graph.outputs[i].name, apart));
        precision_.rounding = std::max(precision_.rounding, apart);
    }
    return Status::ok();
}

Expected<std::vector<double>> GoldenVectors::changes_from(const ir::Graph &exact) const {
    LW_ASSIGN(const auto outputs, ir::evaluate(exact, inputs_, 0, {.workers = workers_}));
    std::vector<double> changes;
    for (size_t i = 0; i < outputs.size(); i++) changes.push_back(distance(outputs[i], outputs_[i]));
    return changes;
}

Status GoldenVectors::add(const ir::Graph &graph, const EntryPlan &plan, uint16_t entry) {
    fb::GoldenT golden;
    golden.entry = entry;
    const uint32_t ticks = plan.window ? ticks_of_windows(plan) : golden_ticks(graph, plan);
    auto inputs = make_inputs(graph, ticks, golden);
    std::vector<ir::Array> windows;
    if (plan.window) {
        LW_ASSIGN(windows, slide(graph, plan, inputs));
    } else {
        LW_TRY(evaluate(graph, ticks, std::move(inputs)));
    }
    const std::vector<ir::Array> &outputs = plan.window ? windows : outputs_;
    for (size_t i = 0; i < outputs.size(); i++) {
        fb::GoldenTensorT tensor;
        tensor.port = static_cast<uint16_t>(i);
        tensor.rows = static_cast<uint32_t>(outputs[i].rows);
        tensor.width = static_cast<uint32_t>(outputs[i].width);
        const std::vector<float> values(outputs[i].data.begin(), outputs[i].data.end());
        tensor.offset = append(values.data(), values.size() * sizeof(float));
        golden.outputs.push_back(std::make_unique<fb::GoldenTensorT>(tensor));
    }
    vectors_.push_back(std::move(golden));
    return Status::ok();
}

void GoldenVectors::again(uint16_t of, uint16_t entry) {
    const auto added = std::find_if(vectors_.begin(), vectors_.end(),
                                    [&](const fb::GoldenT &golden) { return golden.entry == of; });
    fb::GoldenT golden = *added;
    golden.entry = entry;
    vectors_.push_back(std::move(golden));
}

Status GoldenVectors::again_in_fp16(uint16_t of, uint16_t entry, const ir::Graph &graph,
                                      const std::set<ir::ValueId> &halves, uint32_t between) {
    LW_ASSIGN(const auto rounded, ir::evaluate(graph, inputs_, 0, {.workers = workers_, .halves = &halves}));
    for (size_t i = 0; i < outputs_.size(); i++) {
        const double apart = distance(outputs_[i], rounded[i]);
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
    precision_.between = std::max(precision_.between, between);
    in_fp16_.insert(entry);
    again(of, entry);
    return Status::ok();
}

std::vector<fb::GoldenT> GoldenVectors::take_vectors() {
    for (fb::GoldenT &each : vectors_)
        each.error_limit = static_cast<float>(in_fp16_.contains(each.entry) ? precision_.fp16_limit()
                                                                              : precision_.limit());
    return std::move(vectors_);
}

} // namespace longwave::compiler
