#include "compiler/plan/fp16_storage.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longwave::compiler {
namespace {

// Of a place before: half of it begins at a multiple of 64 bytes for kernels, and of 4 for clears.
constexpr uint64_t kernel_unit = 128, clear_unit = 8;

bool call_allows(const Step &step, const Place &place, const schedules::KernelArg &arg) {
    return arg.fp16 && step.tiles == 1 && place.slots == 1 && place.offset % kernel_unit == 0;
}

bool clear_allows(const Step &step, const Place &place) {
    return place.offset % clear_unit == 0 && step.bytes % clear_unit == 0 && step.row_bytes % clear_unit == 0;
}

// Buffers of which no step and no port wants float32.
std::vector<bool> find_fp16(const EntryPlan &plan, const KernelSignatures &signatures) {
    std::vector<bool> called(plan.buffers.size(), false), halves(plan.buffers.size());
    for (size_t b = 0; b < plan.buffers.size(); b++) halves[b] = plan.buffers[b].space == Space::arena;
    for (const InputPort &port : plan.inputs) halves[port.place.buffer] = false;
    for (const OutputPort &port : plan.outputs) halves[port.place.buffer] = false;
    for (const Step &step : plan.steps) {
        const bool call = step.kind == Step::Kind::call;
        for (size_t a = 0; a < step.args.size(); a++) {
            const auto *place = std::get_if<Place>(&step.args[a]);
            if (!place || !of_entry(place->buffer)) continue;
            called[place->buffer] = called[place->buffer] || call;
            if (!(call ? call_allows(step, *place, signatures.at(step.spec).args.at(a))
                       : clear_allows(step, *place)))
                halves[place->buffer] = false;
        }
    }
    for (size_t b = 0; b < halves.size(); b++) halves[b] = halves[b] && called[b];
    return halves;
}

} // namespace

void store_fp16(EntryPlan &plan, const KernelSignatures &signatures) {
    const std::vector<bool> halves = find_fp16(plan, signatures);
    for (size_t b = 0; b < halves.size(); b++) {
        if (!halves[b]) continue;
        plan.buffers[b].half = true;
        plan.buffers[b].bytes /= 2;
    }
    for (Step &step : plan.steps) {
        std::vector<size_t> arguments;
        for (size_t a = 0; a < step.args.size(); a++) {
            auto *place = std::get_if<Place>(&step.args[a]);
            if (!place || !of_entry(place->buffer) || !halves[place->buffer]) continue;
            place->offset /= 2;
            if (step.kind == Step::Kind::call) arguments.push_back(a);
            else step.bytes /= 2, step.row_bytes /= 2;
        }
        step.spec = with_fp16(step.spec, arguments);
    }
}

namespace {

constexpr char fp16_member[] = ",\"float16\":[";

} // namespace

std::string with_fp16(const std::string &spec, const std::vector<size_t> &arguments) {
    if (arguments.empty()) return spec;
    return fmt::format("{}{}{}]}}", spec.substr(0, spec.size() - 1), fp16_member, fmt::join(arguments, ","));
}

Fp16Spec split_fp16(const std::string &spec) {
    const size_t at = spec.rfind(fp16_member);
    if (at == std::string::npos) return {spec, {}};
    Fp16Spec split{spec.substr(0, at) + "}", {}};
    size_t number = 0;
    for (const char *c = spec.c_str() + at + std::strlen(fp16_member); *c; ++c) {
        if (*c >= '0' && *c <= '9') {
            number = number * 10 + static_cast<size_t>(*c - '0');
            continue;
        }
        split.arguments.push_back(number);
        number = 0;
        if (*c == ']') break;
    }
    return split;
}

} // namespace longwave::compiler
