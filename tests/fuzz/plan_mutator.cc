#include "tests/fuzz/plan_mutator.h"
#include "formats/artifact/abi.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/header.h"
#include "formats/artifact/layout.h"
#include "formats/artifact/modules_generated.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/write.h"
#include <cstring>
#include <functional>
#include <random>

namespace longwave::fuzz {
namespace {

using artifact::Header;
using Random = std::mt19937;

// The plan in `bytes`, null when header or flatbuffer are broken.
const fb::Plan *plan_in(const std::vector<uint8_t> &bytes, Header *header) {
    if (bytes.size() < sizeof *header) return nullptr;
    memcpy(header, bytes.data(), sizeof *header);
    if (header->plan_offset != artifact::header_bytes || header->plan_bytes < 64 ||
        !checked::inside(header->plan_offset, header->plan_bytes, bytes.size()))
        return nullptr;
    const uint8_t *plan = bytes.data() + header->plan_offset;
    flatbuffers::Verifier verifier(plan, header->plan_bytes, 16, 100'000);
    if (!fb::VerifyPlanBuffer(verifier) || artifact::misaligned_lists(*fb::GetPlan(plan))) return nullptr;
    return fb::GetPlan(plan);
}

// ---- what can be changed ----

struct Number {
    void *at;
    size_t bytes;
};

// A list some of whose elements may be repeated, removed or exchanged.
using Edit = std::function<void(Random &)>;

struct Parts {
    std::vector<Number> numbers;
    std::vector<Edit> lists;

    template <class T> void number(T &value) { numbers.push_back({&value, sizeof value}); }
    template <class... T> void add(T &...values) { (number(values), ...); }
    // flatbuffers structs keep their fields to themselves; four bytes at a time they are numbers
    // like any other.
    template <class T> void words(T &place) {
        for (size_t at = 0; at < sizeof place; at += 4)
            numbers.push_back({reinterpret_cast<uint8_t *>(&place) + at, 4});
    }
    template <class T> static T copy_of(const T &value) { return value; }
    template <class T> static std::unique_ptr<T> copy_of(const std::unique_ptr<T> &value) {
        return std::make_unique<T>(*value);
    }
    template <class T> void list(std::vector<T> &values) {
        lists.push_back([&values](Random &random) {
            if (values.empty()) return;
            const size_t i = random() % values.size(), j = random() % values.size();
            const uint32_t what = random() % 3;
            if (what == 0) values.insert(values.begin() + static_cast<long>(j), copy_of(values[i]));
            if (what == 1) values.erase(values.begin() + static_cast<long>(i));
            if (what == 2) std::swap(values[i], values[j]);
        });
    }
};

void collect(std::vector<std::unique_ptr<fb::StepT>> &steps, Parts &parts) {
    parts.list(steps);
    for (auto &step : steps) {
        parts.add(step->kind, step->kernel, step->period, step->phase, step->tiles, step->replay_from,
                  step->replay_to, step->bytes, step->rows, step->row_bytes, step->mul, step->den, step->lead,
                  step->whole);
        parts.lists.push_back([&step](Random &) { step->ordered = !step->ordered; });
        parts.lists.push_back([&step](Random &) { step->cpu = !step->cpu; });
        parts.list(step->args);
        for (auto &binding : step->args) {
            if (binding->place) parts.words(*binding->place);
            if (binding->scalar) parts.words(*binding->scalar);
        }
    }
}

void collect(fb::EntryT &entry, Parts &parts) {
    parts.add(entry.device, entry.kind, entry.block, entry.least, entry.arena_bytes, entry.cache_bytes,
              entry.period);
    parts.list(entry.inputs);
    parts.list(entry.outputs);
    collect(entry.steps, parts);
    collect(entry.rebuild, parts);
    for (auto &port : entry.inputs) {
        parts.add(port->input, port->rows, port->row_bytes);
        if (port->place) parts.words(*port->place);
    }
    for (auto &port : entry.outputs) {
        parts.add(port->width, port->rows, port->row_bytes, port->period, port->phase, port->clock_num,
                  port->clock_den, port->delay, port->whole, port->sample_rate, port->lag);
        if (port->place) parts.words(*port->place);
    }
}

void collect(fb::KernelT &kernel, Parts &parts) {
    parts.list(kernel.args);
    for (auto &arg : kernel.args) {
        parts.add(arg->kind, arg->elem, arg->alignment, arg->high, arg->multiple);
        parts.list(arg->dims);
        for (auto &dim : arg->dims) parts.words(dim);
    }
    parts.list(kernel.together);
    for (auto &together : kernel.together) {
        parts.add(together->kernel, together->streams);
        parts.list(together->strides);
        for (auto &stride : together->strides) parts.number(stride);
    }
}

void collect(fb::DecisionT &d, Parts &parts) {
    parts.add(d.default_threshold, d.smoothing_ms, d.min_count, d.release, d.refractory_ms);
    parts.list(d.ignore);
    parts.list(d.thresholds);
    for (auto &label : d.ignore) parts.number(label);
    for (auto &threshold : d.thresholds) parts.add(threshold->label, threshold->value);
}

void change(const Number &number, const std::vector<Number> &all, Random &random) {
    uint64_t value = 0;
    memcpy(&value, number.at, number.bytes);
    switch (random() % 9) {
    case 0: value = 0; break;
    case 1: value = 1; break;
    case 2: value = ~uint64_t{0} >> random() % 64; break;
    case 3: value += 1; break;
    case 4: value -= 1; break;
    case 5: value <<= 1 + random() % 4; break;
    case 6: value >>= 1; break;
    case 7: value += 64 * (random() % 5) - 128; break;
    case 8: { // a number that stands elsewhere
        const Number &other = all[random() % all.size()];
        value = 0;
        memcpy(&value, other.at, other.bytes);
    }
    }
    memcpy(number.at, &value, number.bytes);
}

void collect(fb::ModulesT &manifest, Parts &parts) {
    parts.add(manifest.shared_bytes, manifest.threads, manifest.features);
    parts.list(manifest.modules);
    for (auto &module : manifest.modules) {
        parts.add(module->kernel, module->offset, module->size, module->shared_bytes);
        parts.list(module->bindings);
        for (auto &binding : module->bindings) parts.number(binding);
        if (module->grid) parts.words(*module->grid);
        if (module->local) parts.words(*module->local);
    }
}

// The manifest at the head of a segment of modules, changed in a few places where it can be read.
// What lies behind stays where it is as long as the new manifest is no longer.
void mutate_modules(std::vector<uint8_t> &segment, Random &random) {
    uint64_t size = 0;
    if (segment.size() < 8) return;
    memcpy(&size, segment.data(), 8);
    if (size < 32 || !checked::inside(8, size, segment.size())) return;
    flatbuffers::Verifier verifier(segment.data() + 8, size, 8, 10'000);
    if (!fb::VerifyModulesBuffer(verifier)) return;
    fb::ModulesT manifest;
    fb::GetModules(segment.data() + 8)->UnPackTo(&manifest);
    Parts parts;
    collect(manifest, parts);
    if (random() % 3 == 0) parts.lists[random() % parts.lists.size()](random);
    else
        for (uint32_t n = 1 + random() % 3; n > 0; --n)
            change(parts.numbers[random() % parts.numbers.size()], parts.numbers, random);
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    builder.Finish(fb::Modules::Pack(builder, &manifest), fb::ModulesIdentifier());
    const uint64_t fresh = builder.GetSize();
    if (fresh > size) segment.insert(segment.begin() + 8, fresh - size, 0);
    memcpy(segment.data(), &fresh, 8);
    memcpy(segment.data() + 8, builder.GetBufferPointer(), fresh);
}

Parts collect(fb::PlanT &plan) {
    Parts parts;
    parts.add(plan.weights_bytes, plan.derived_bytes, plan.state_bytes, plan.sample_limit, plan.error_limit);
    parts.list(plan.inputs);
    parts.list(plan.labels);
    parts.list(plan.kernels);
    parts.list(plan.variants);
    parts.list(plan.entries);
    parts.list(plan.state);
    parts.list(plan.golden);
    for (auto &input : plan.inputs)
        parts.add(input->kind, input->width, input->sample_rate, input->vocabulary);
    for (auto &kernel : plan.kernels) collect(*kernel, parts);
    for (auto &variant : plan.variants) {
        parts.add(variant->machine, variant->features, variant->segment);
        parts.list(variant->entry);
        parts.list(variant->scratch);
        for (auto &entry : variant->entry) parts.number(entry);
        for (auto &scratch : variant->scratch) parts.number(scratch);
    }
    for (auto &field : plan.state) {
        parts.add(field->kind, field->elem, field->offset);
        if (field->initial) parts.add(*field->initial);
        parts.list(field->dims);
        for (auto &dim : field->dims) parts.number(dim);
    }
    for (auto &entry : plan.entries) collect(*entry, parts);
    for (auto &golden : plan.golden) {
        parts.add(golden->entry, golden->error_limit);
        parts.list(golden->inputs);
        parts.list(golden->outputs);
        for (auto *tensors : {&golden->inputs, &golden->outputs})
            for (auto &tensor : *tensors)
                parts.add(tensor->port, tensor->rows, tensor->width, tensor->offset, tensor->stored,
                          tensor->first);
    }
    if (plan.decision) collect(*plan.decision, parts);
    return parts;
}

} // namespace

void renew_hashes(std::vector<uint8_t> &bytes, bool segments) {
    Header header;
    const fb::Plan *plan = plan_in(bytes, &header);
    if (!plan) return;
    const auto digest_to = [](const void *from, uint64_t size, const flatbuffers::Vector<uint8_t> &to) {
        uint8_t digest[artifact::hash_bytes];
        artifact::hash(from, size, digest);
        if (to.size() == sizeof digest) memcpy(const_cast<uint8_t *>(to.data()), digest, sizeof digest);
    };
    for (const fb::Kernel *kernel : *plan->kernels())
        const_cast<flatbuffers::Table *>(reinterpret_cast<const flatbuffers::Table *>(kernel))
            ->SetField(fb::Kernel::VT_ABI, artifact::kernel_abi(*kernel), uint64_t{0});
    uint8_t layout[artifact::hash_bytes];
    artifact::layout_hash(*plan, layout);
    if (plan->layout()->size() == sizeof layout)
        memcpy(const_cast<uint8_t *>(plan->layout()->data()), layout, sizeof layout);
    for (const fb::Segment *segment : *plan->segments())
        if (segments && checked::inside(segment->offset(), segment->size(), bytes.size()))
            digest_to(bytes.data() + segment->offset(), segment->size(), *segment->hash());
    renew_root(bytes);
}

void renew_root(std::vector<uint8_t> &bytes) {
    Header header;
    if (bytes.size() < sizeof header) return;
    memcpy(&header, bytes.data(), sizeof header);
    if (!checked::inside(header.plan_offset, header.plan_bytes, bytes.size())) return;
    artifact::root_hash(header, bytes.data() + header.plan_offset, header.root);
    memcpy(bytes.data(), &header, sizeof header);
}

std::vector<uint8_t> mutated_plan(const std::vector<uint8_t> &bytes, uint32_t seed) {
    Header header;
    const fb::Plan *in_file = plan_in(bytes, &header);
    if (!in_file) return {};
    std::vector<artifact::SegmentData> segments;
    for (const fb::Segment *segment : *in_file->segments()) {
        if (segment->size() == 0 || !checked::inside(segment->offset(), segment->size(), bytes.size()))
            return {};
        const uint8_t *from = bytes.data() + segment->offset();
        segments.push_back({segment->kind(), {from, from + segment->size()}});
    }
    fb::PlanT plan;
    in_file->UnPackTo(&plan);
    Random random(seed);
    for (auto &segment : segments)
        if (segment.kind == fb::SegmentKind::modules && random() % 2 == 0)
            mutate_modules(segment.bytes, random);
    Parts parts = collect(plan);
    if (random() % 3 == 0 && !parts.lists.empty())
        parts.lists[random() % parts.lists.size()](random); // the numbers found before may be gone now
    else
        for (uint32_t n = 1 + random() % 3; n > 0; --n)
            change(parts.numbers[random() % parts.numbers.size()], parts.numbers, random);
    auto written = artifact::write_unchecked(std::move(plan), std::move(segments));
    return written ? *std::move(written) : std::vector<uint8_t>();
}

} // namespace longwave::fuzz
