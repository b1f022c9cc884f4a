#include "compiler/emit/golden.h"
#include "compiler/ops/reference.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace longwave::compiler {

namespace {

constexpr uint32_t most_steps = 256;
constexpr float limit = 2e-5f; // of the peak; covers every ISA level and block form

uint64_t append(std::vector<uint8_t> &segment, const void *bytes, size_t size) {
    segment.resize((segment.size() + 63) / 64 * 64);
    uint64_t offset = segment.size();
    segment.insert(segment.end(), static_cast<const uint8_t *>(bytes),
                   static_cast<const uint8_t *>(bytes) + size);
    return offset;
}

// Input ticks: enough for some rows of the slowest output, in whole blocks, and at most what a run holds.
uint32_t golden_ticks(const ir::Graph &graph, const EntryPlan &plan) {
    uint32_t slowest = 1;
    for (const auto &value : graph.values)
        if (!value.type.clock.timeless())
            slowest = std::max(slowest, value.type.clock.den / std::max(1u, value.type.clock.num));
    uint32_t wanted = slowest == 1 ? most_steps : std::min(most_steps, 8u) * slowest;
    if (plan.kind == EntryPlan::Kind::run) return std::min(plan.block, wanted);
    uint32_t span = plan.block * plan.period;
    return (wanted + span - 1) / span * span;
}

} // namespace

Expected<fb::GoldenT> make_golden(const ir::Graph &graph, const EntryPlan &plan, uint16_t entry,
                                  std::vector<uint8_t> &segment, unsigned workers) {
    fb::GoldenT golden;
    golden.entry = entry;
    golden.error_limit = limit;
    uint32_t ticks = golden_ticks(graph, plan);
    std::mt19937 random(20211); // the generator's bits are fixed by the standard, its distributions are not
    std::map<std::string, ir::Array> inputs;
    for (size_t i = 0; i < graph.inputs.size(); i++) {
        const auto &input = graph.inputs[i];
        uint32_t width = graph.type(input.value).width();
        ir::Array array{.rows = ticks, .width = width, .data = std::vector<double>(size_t(ticks) * width)};
        fb::GoldenTensorT tensor;
        tensor.port = static_cast<uint16_t>(i);
        tensor.rows = ticks;
        tensor.width = width;
        if (input.kind == ir::GraphInput::Kind::tokens) {
            std::vector<int32_t> ids(array.data.size());
            for (auto &id : ids) id = static_cast<int32_t>(random() % std::max(1u, input.vocabulary));
            std::copy(ids.begin(), ids.end(), array.data.begin());
            tensor.offset = append(segment, ids.data(), ids.size() * sizeof(int32_t));
        } else {
            float scale = input.kind == ir::GraphInput::Kind::audio ? 0.2f : 2.f;
            std::vector<float> samples(array.data.size());
            for (auto &s : samples) s = scale * (static_cast<float>(random() >> 8) / 16777216.f - 0.5f);
            std::copy(samples.begin(), samples.end(), array.data.begin());
            tensor.offset = append(segment, samples.data(), samples.size() * sizeof(float));
        }
        inputs.emplace(input.name, std::move(array));
        golden.inputs.push_back(std::make_unique<fb::GoldenTensorT>(tensor));
    }
    LW_ASSIGN(auto outputs, ir::evaluate(graph, inputs, 0, workers));
    for (size_t i = 0; i < outputs.size(); i++) {
        fb::GoldenTensorT tensor;
        tensor.port = static_cast<uint16_t>(i);
        tensor.rows = static_cast<uint32_t>(outputs[i].rows);
        tensor.width = static_cast<uint32_t>(outputs[i].width);
        std::vector<float> values(outputs[i].data.begin(), outputs[i].data.end());
        tensor.offset = append(segment, values.data(), values.size() * sizeof(float));
        golden.outputs.push_back(std::make_unique<fb::GoldenTensorT>(tensor));
    }
    return golden;
}

} // namespace longwave::compiler
