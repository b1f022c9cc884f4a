#include "compiler/artifact/emit.h"
#include "compiler/artifact/version.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/write.h"
#include "formats/package/package.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace longwave::compiler {

namespace {

class Emitter {
public:
    explicit Emitter(Parts parts) : parts_(std::move(parts)) {
        for (size_t i = 0; i < parts_.specs.size(); i++)
            kernel_index_[parts_.specs[i]] = static_cast<uint16_t>(i);
    }

    Expected<artifact::Pieces> run() {
        plan_.name = parts_.package.name;
        plan_.producer = producer();
        plan_.labels = parts_.package.labels;
        plan_.report = parts_.report;
        plan_.certificates = parts_.certificates;
        plan_.weights_bytes = parts_.storage.weight_bytes();
        plan_.derived_bytes = parts_.storage.derived_bytes();
        plan_.computation.assign(parts_.identity.model.begin(), parts_.identity.model.end());
        inputs();
        state();
        for (size_t i = 0; i < parts_.specs.size(); i++) LW_TRY(kernel(i));
        for (const EntryPlan &entry : parts_.entries) plan_.entries.push_back(emit_entry(entry));
        for (auto &golden : parts_.golden) plan_.golden.push_back(std::make_unique<fb::GoldenT>(golden));
        if (parts_.package.has_decision) LW_TRY(decision());
        std::vector<artifact::SegmentData> segments;
        if (plan_.weights_bytes > 0)
            segments.push_back({fb::SegmentKind::weights, {}, parts_.storage.take_weights()});
        for (TargetCode &code : parts_.code) {
            auto variant = std::make_unique<fb::CodeVariantT>();
            variant->target = code.target.name;
            variant->machine = code.target.elf_machine;
            variant->features = code.target.features;
            variant->segment = static_cast<uint16_t>(segments.size());
            variant->entry = std::move(code.entries);
            variant->scratch = std::move(code.scratch);
            plan_.variants.push_back(std::move(variant));
            segments.push_back({fb::SegmentKind::code, std::move(code.image)});
        }
        if (!parts_.modules.empty())
            segments.push_back({fb::SegmentKind::modules, std::move(parts_.modules)});
        if (!parts_.golden_bytes.empty())
            segments.push_back({fb::SegmentKind::golden, std::move(parts_.golden_bytes)});
        if (!parts_.recipe.empty()) segments.push_back({fb::SegmentKind::recipe, std::move(parts_.recipe)});
        return artifact::assemble(std::move(plan_), std::move(segments));
    }

private:
    void inputs() {
        for (const auto &input : parts_.package.inputs) {
            auto t = std::make_unique<fb::InputT>();
            t->name = input.name;
            t->kind = static_cast<fb::InputKind>(input.kind);
            t->width = input.width;
            t->sample_rate = input.sample_rate;
            t->vocabulary = input.vocabulary;
            plan_.inputs.push_back(std::move(t));
        }
    }

    Status kernel(size_t index) {
        auto t = std::make_unique<fb::KernelT>();
        t->spec = parts_.specs[index];
        for (const auto &arg : parts_.signatures[index].args) {
            auto a = std::make_unique<fb::KernelArgT>();
            a->kind = static_cast<fb::ArgKind>(arg.kind);
            a->elem = static_cast<fb::Elem>(arg.elem);
            for (const auto &dim : arg.dims) a->dims.emplace_back(dim.extent, dim.stride);
            a->alignment = static_cast<uint16_t>(arg.alignment);
            a->high = arg.high;
            a->multiple = arg.multiple;
            t->args.push_back(std::move(a));
        }
        if (const auto found = parts_.for_streams.find(t->spec); found != parts_.for_streams.end())
            for (const SpecForStreams &many : found->second) {
                const uint16_t other = kernel_index_.at(many.spec);
                auto together = std::make_unique<fb::TogetherT>();
                together->kernel = other;
                together->streams = static_cast<uint16_t>(many.streams);
                LW_ASSIGN(together->strides,
                          strides_of_streams(parts_.signatures[index], parts_.signatures[other], many.streams,
                                             t->spec));
                t->together.push_back(std::move(together));
            }
        plan_.kernels.push_back(std::move(t));
        return Status::ok();
    }

    // The number of a scalar of the host; several fields may hold one.
    uint16_t host_scalar(const HostScalar &scalar) {
        auto &list = plan_.scalars;
        const auto known = std::find_if(list.begin(), list.end(),
                                        [&](const auto &other) { return other->name == scalar.name; });
        const auto number = static_cast<uint16_t>(known - list.begin());
        if (known != list.end()) return number;
        auto t = std::make_unique<fb::HostScalarT>();
        t->name = scalar.name;
        t->unit = scalar.unit;
        t->initial = scalar.initial;
        t->low = scalar.low;
        t->high = scalar.high;
        t->smoothed = scalar.smoothed;
        list.push_back(std::move(t));
        return number;
    }

    void state() {
        plan_.state_bytes = parts_.record.bytes();
        for (const StateField *field : parts_.record.fields()) {
            auto t = std::make_unique<fb::StateFieldT>();
            t->layer = field->layer;
            t->name = field->name;
            t->kind = static_cast<fb::StateKind>(field->kind);
            t->elem = static_cast<fb::Elem>(field->elem);
            t->dims = field->dims;
            t->offset = field->offset;
            t->needs = field->needs;
            t->keeps = field->keeps;
            t->clock_num = field->clock.num;
            t->clock_den = field->clock.den;
            t->ring = field->ring;
            t->row = field->row;
            if (field->initial) t->initial = parts_.storage.buffer(*field->initial).offset;
            if (field->scalar) t->scalar = host_scalar(*field->scalar);
            plan_.state.push_back(std::move(t));
        }
        if (plan_.state.empty()) return;
        const StateIdentity &identity = parts_.identity;
        plan_.identity = std::make_unique<fb::StateIdentityT>();
        plan_.identity->schema = identity.schema;
        plan_.identity->model.assign(identity.model.begin(), identity.model.end());
        plan_.identity->weights.assign(identity.weights.begin(), identity.weights.end());
    }

    std::pair<Space, uint64_t> address(const EntryPlan &entry, BufferId id) const {
        if (id & state_buffer) return {Space::state, parts_.record.at(id).offset};
        const Buffer &b = id & shared_buffer ? parts_.storage.buffer(id) : entry.buffers[id];
        return {b.space, b.offset};
    }

    fb::Place place(const EntryPlan &entry, const Place &p) const {
        const auto [space, offset] = address(entry, p.buffer);
        return fb::Place(offset + p.offset, p.slot_bytes, p.tile_bytes, p.slots, p.slot_add,
                         static_cast<fb::Space>(space));
    }

    std::unique_ptr<fb::StepT> step(const EntryPlan &entry, const Step &s) const {
        auto t = std::make_unique<fb::StepT>();
        t->kind = static_cast<fb::StepKind>(s.kind);
        t->name = s.name;
        if (s.kind == Step::Kind::call) t->kernel = kernel_index_.at(s.spec);
        t->period = s.period;
        t->phase = s.phase;
        t->tiles = s.tiles;
        t->ordered = s.ordered;
        t->cpu = s.cpu;
        t->replay_from = s.replay_from;
        t->replay_to = s.replay_to;
        t->bytes = s.bytes;
        t->rows = s.rows;
        t->row_bytes = s.row_bytes;
        t->mul = s.mul;
        t->den = s.den;
        t->whole = s.whole;
        t->lead = s.lead;
        for (const auto &arg : s.args) {
            auto b = std::make_unique<fb::BindingT>();
            if (auto *p = std::get_if<Place>(&arg)) b->place = std::make_unique<fb::Place>(place(entry, *p));
            else {
                const Scalar &v = std::get<Scalar>(arg);
                b->scalar = std::make_unique<fb::Scalar>(static_cast<fb::ScalarKind>(v.kind), v.value, v.mul,
                                                         v.tile_mul, v.modulus, v.add);
            }
            t->args.push_back(std::move(b));
        }
        return t;
    }

    std::unique_ptr<fb::EntryT> emit_entry(const EntryPlan &entry) const {
        auto t = std::make_unique<fb::EntryT>();
        t->kind = static_cast<fb::EntryKind>(entry.kind);
        t->block = entry.block;
        t->least = entry.least;
        t->fixed = entry.fixed;
        t->device = entry.device->runs;
        t->arena_bytes = entry.arena_bytes;
        t->cache_bytes = entry.cache_bytes;
        t->period = entry.period;
        for (const auto &port : entry.inputs) {
            auto p = std::make_unique<fb::InputPortT>();
            p->input = static_cast<uint16_t>(port.input);
            p->place = std::make_unique<fb::Place>(place(entry, port.place));
            p->rows = port.rows;
            p->row_bytes = port.row_bytes;
            t->inputs.push_back(std::move(p));
        }
        for (const auto &port : entry.outputs) {
            auto p = std::make_unique<fb::OutputPortT>();
            p->name = port.name;
            p->width = port.width;
            p->place = std::make_unique<fb::Place>(place(entry, port.place));
            p->rows = port.rows;
            p->row_bytes = port.row_bytes;
            p->period = port.period;
            p->phase = port.phase;
            p->clock_num = port.clock_num;
            p->clock_den = port.clock_den;
            p->delay = port.delay;
            p->whole = port.whole;
            p->sample_rate = package::sample_rate_of(parts_.package, port.name, port.width, port.clock_num,
                                                     port.clock_den);
            for (const package::Output &output : parts_.package.outputs)
                if (output.name == port.name) p->lag = output.lag;
            t->outputs.push_back(std::move(p));
        }
        for (const auto &s : entry.steps) t->steps.push_back(step(entry, s));
        for (const auto &s : entry.rebuild) t->rebuild.push_back(step(entry, s));
        return t;
    }

    Status decision() {
        const auto &d = parts_.package.decision;
        auto label = [&](const std::string &word) {
            return std::find(parts_.package.labels.begin(), parts_.package.labels.end(), word) -
                   parts_.package.labels.begin();
        };
        auto t = std::make_unique<fb::DecisionT>();
        t->output = d.output;
        for (const auto &word : d.ignore) t->ignore.push_back(static_cast<uint16_t>(label(word)));
        t->default_threshold = d.default_threshold;
        for (const auto &[word, value] : d.thresholds) {
            auto threshold = std::make_unique<fb::ThresholdT>();
            threshold->label = static_cast<uint16_t>(label(word));
            threshold->value = value;
            t->thresholds.push_back(std::move(threshold));
        }
        t->smoothing_ms = d.smoothing_ms;
        t->min_count = d.min_count;
        t->release = d.release;
        t->refractory_ms = d.refractory_ms;
        plan_.decision = std::move(t);
        return Status::ok();
    }

    Parts parts_;
    fb::PlanT plan_;
    std::map<std::string, uint16_t> kernel_index_;
};

} // namespace

Expected<artifact::Pieces> emit(Parts parts) { return Emitter(std::move(parts)).run(); }

namespace {

// Of each call in a stream whose arenas lie in a row, by its specification.
std::map<std::string, InArenas> calls_in_arenas(const std::vector<EntryPlan> &entries) {
    const auto in_row = [](const EntryPlan &entry) {
        return entry.kind == EntryPlan::Kind::stream && entry.device->arenas_in_row;
    };
    uint64_t largest = 0;
    for (const EntryPlan &entry : entries)
        if (in_row(entry)) largest = std::max(largest, entry.arena_bytes);
    std::map<std::string, InArenas> calls;
    for (const EntryPlan &entry : entries)
        for (const Step &step : entry.steps) {
            if (!in_row(entry) || step.kind != Step::Kind::call) continue;
            std::set<size_t> here;
            for (size_t a = 0; a < step.args.size(); a++) {
                const auto *place = std::get_if<Place>(&step.args[a]);
                if (place && of_entry(place->buffer) && place->slots == 1 &&
                    entry.buffers[place->buffer].space == Space::arena)
                    here.insert(a);
            }
            const auto [call, first] =
                calls.try_emplace(step.spec, InArenas{artifact::arena_apart(largest), here});
            if (!first) std::erase_if(call->second.arguments, [&](size_t a) { return !here.contains(a); });
        }
    return calls;
}

} // namespace

Specs unique_specs(const std::vector<EntryPlan> &entries, const std::vector<uint32_t> &streams) {
    std::set<std::string> cpus, modules;
    SpecsForStreams for_streams;
    std::map<std::string, InArenas> in_arenas = calls_in_arenas(entries);
    for (const auto &entry : entries)
        for (const auto *steps : {&entry.steps, &entry.rebuild})
            for (const auto &step : *steps)
                if (step.kind == Step::Kind::call) {
                    const bool module = device_of(entry, step).code == devices::CodeContainer::modules;
                    (module ? modules : cpus).insert(step.spec);
                    if (module || !entry.for_streams.contains(step.spec)) continue;
                    const auto &specs = for_streams[step.spec] =
                        specs_for_streams(step.spec, streams, in_arenas[step.spec]);
                    for (const SpecForStreams &many : specs) cpus.insert(many.spec);
                }
    Specs specs{{cpus.begin(), cpus.end()}, cpus.size(), std::move(for_streams)};
    for (const auto &spec : modules)
        if (!cpus.contains(spec)) specs.all.push_back(spec);
    return specs;
}

} // namespace longwave::compiler
