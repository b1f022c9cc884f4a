#include "formats/artifact/static_form.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/header.h"
#include "formats/artifact/write.h"
#include "formats/base/checked.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace longwave::artifact {
namespace {

const fb::Plan &plan_of(std::span<const uint8_t> artifact) {
    Header header;
    std::memcpy(&header, artifact.data(), sizeof header);
    return *fb::GetPlan(artifact.data() + header.plan_offset);
}

fb::PlanT unpacked(std::span<const uint8_t> artifact) {
    fb::PlanT plan;
    plan_of(artifact).UnPackTo(&plan);
    return plan;
}

std::vector<SegmentData> segments_of(const fb::PlanT &plan, std::span<const uint8_t> artifact) {
    std::vector<SegmentData> segments;
    for (const auto &segment : plan.segments) {
        const auto bytes = artifact.subspan(segment->offset, segment->size);
        segments.push_back({segment->kind, {bytes.begin(), bytes.end()}});
    }
    return segments;
}

// Both lists of steps of all entries.
template <class Visit> void for_each_step(fb::PlanT &plan, const Visit &visit) {
    for (auto &entry : plan.entries)
        for (auto *steps : {&entry->steps, &entry->rebuild})
            for (auto &step : *steps) visit(*step);
}

// Places of a space move to the weights, where `where` says.
template <class Where> void move_places(fb::PlanT &plan, fb::Space space, const Where &where) {
    for_each_step(plan, [&](fb::StepT &step) {
        for (auto &arg : step.args) {
            if (!arg->place || arg->place->space() != space) continue;
            const fb::Place old = *arg->place;
            *arg->place = fb::Place(where(old.offset()), old.slot_bytes(), old.tile_bytes(), old.slots(),
                                    old.slot_add(), fb::Space::weights);
        }
    });
    if (space != fb::Space::weights) return;
    for (auto &field : plan.state)
        if (field->initial) field->initial = where(*field->initial);
}

// Bytes from the first to behind the last element of an argument; the artifact has passed its
// rules.
uint64_t span_of(const fb::KernelArgT &arg) {
    uint64_t last = 0;
    for (const fb::Dim &dim : arg.dims)
        last += uint64_t{dim.extent() - 1} * static_cast<uint64_t>(dim.stride());
    return (last + 1) * bytes_of(elem_of(arg.elem));
}

// Lines of 64 bytes of the weights that some step reads, or that a stream begins with. The others served
// `prepare`.
Expected<std::vector<bool>> lines_read(fb::PlanT &plan, uint64_t bytes) {
    std::vector<bool> read((bytes + segment_alignment - 1) / segment_alignment);
    bool inside = true;
    const auto reads = [&](uint64_t offset, uint64_t end) {
        for (uint64_t at = offset; at < end; at = (at / segment_alignment + 1) * segment_alignment)
            read[at / segment_alignment] = true;
    };
    for (const auto &field : plan.state) {
        if (!field->initial) continue;
        uint64_t size = bytes_of(elem_of(field->elem));
        for (const uint32_t extent : field->dims) size *= extent; // V15
        reads(*field->initial, *field->initial + size);
    }
    for_each_step(plan, [&](const fb::StepT &step) {
        for (size_t a = 0; a < step.args.size(); ++a) {
            const fb::Place *place = step.args[a]->place.get();
            if (!place || place->space() != fb::Space::weights) continue;
            uint64_t end = 0;
            inside = inside && step.kind == fb::StepKind::call &&
                     place_end(*place, step.tiles, span_of(*plan.kernels[step.kernel]->args[a]), &end) &&
                     end <= bytes;
            if (inside) reads(place->offset(), end);
        }
    });
    if (!inside) return Status::internal("static form: a step reads outside of the weights");
    return read;
}

// Leaves out what no step reads.
Status remove_unread_weights(fb::PlanT &plan, std::vector<SegmentData> &segments) {
    const auto weights = std::find_if(segments.begin(), segments.end(), [](const SegmentData &segment) {
        return segment.kind == fb::SegmentKind::weights;
    });
    if (weights == segments.end()) return {};
    LW_ASSIGN(const std::vector<bool> read, lines_read(plan, weights->bytes.size()));
    std::vector<uint8_t> kept;
    std::vector<uint64_t> starts; // of each line among those that are kept
    for (size_t i = 0; i < read.size(); ++i) {
        starts.push_back(kept.size());
        if (!read[i]) continue;
        const auto from = weights->bytes.begin() + static_cast<ptrdiff_t>(i * segment_alignment);
        kept.insert(kept.end(), from,
                    from + static_cast<ptrdiff_t>(
                               std::min(segment_alignment, weights->bytes.size() - i * segment_alignment)));
    }
    move_places(plan, fb::Space::weights, [&](uint64_t offset) {
        return starts[offset / segment_alignment] + offset % segment_alignment;
    });
    plan.weights_bytes = kept.size();
    weights->bytes = std::move(kept);
    if (weights->bytes.empty()) {
        const auto index = weights - segments.begin();
        segments.erase(weights);
        for (auto &variant : plan.variants)
            if (variant->segment > index) --variant->segment;
    }
    return {};
}

void remove_prepare(fb::PlanT &plan) {
    for (size_t e = plan.entries.size(); e-- > 0;) {
        if (plan.entries[e]->kind != fb::EntryKind::prepare) continue;
        plan.entries.erase(plan.entries.begin() + static_cast<ptrdiff_t>(e));
        for (auto &golden : plan.golden)
            if (golden->entry > e) --golden->entry;
    }
}

void remove_unused_kernels(fb::PlanT &plan) {
    std::map<uint16_t, uint16_t> kept; // old index to new
    for_each_step(plan, [&](const fb::StepT &step) {
        if (step.kind == fb::StepKind::call) kept[step.kernel] = 0;
    });
    std::vector<uint16_t> for_streams; // do the work of those for several streams
    for (const auto &[kernel, to] : kept)
        for (const auto &many : plan.kernels[kernel]->together) for_streams.push_back(many->kernel);
    for (const uint16_t kernel : for_streams) kept[kernel] = 0;
    uint16_t next = 0;
    for (auto &[from, to] : kept) {
        to = next++;
        std::swap(plan.kernels[to], plan.kernels[from]);
        for (auto &variant : plan.variants) {
            variant->scratch[to] = variant->scratch[from];
            if (!variant->entry.empty()) variant->entry[to] = variant->entry[from];
        }
    }
    plan.kernels.resize(next);
    for (auto &kernel : plan.kernels)
        for (auto &many : kernel->together) many->kernel = kept[many->kernel];
    for (auto &variant : plan.variants) {
        variant->scratch.resize(next);
        if (!variant->entry.empty()) variant->entry.resize(next);
    }
    for_each_step(plan, [&](fb::StepT &step) {
        if (step.kind == fb::StepKind::call) step.kernel = kept[step.kernel];
    });
}

} // namespace

Expected<std::vector<uint8_t>> with_derived_tables(std::span<const uint8_t> artifact,
                                                   std::span<const uint8_t> derived) {
    fb::PlanT plan = unpacked(artifact);
    std::vector<SegmentData> segments = segments_of(plan, artifact);
    for (const auto &entry : plan.entries)
        if (entry->device != fb::DeviceKind::cpu)
            return Status::usage(
                "code for a GPU cannot be part of a program; name a CPU alone with --target");
    if (derived.size() != plan.derived_bytes)
        return Status::internal("static form: " + std::to_string(derived.size()) +
                                " bytes of derived tables, not " + std::to_string(plan.derived_bytes));
    remove_prepare(plan);
    remove_unused_kernels(plan);
    if (derived.empty()) {
        LW_TRY(remove_unread_weights(plan, segments));
        return write(std::move(plan), std::move(segments));
    }
    auto weights = std::find_if(segments.begin(), segments.end(), [](const SegmentData &segment) {
        return segment.kind == fb::SegmentKind::weights;
    });
    if (weights == segments.end()) {
        segments.push_back({fb::SegmentKind::weights, {}});
        weights = segments.end() - 1;
    }
    uint64_t at;
    if (!checked::align(weights->bytes.size(), segment_alignment, &at))
        return Status::internal("static form: sizes");
    weights->bytes.resize(at, 0);
    weights->bytes.insert(weights->bytes.end(), derived.begin(), derived.end());
    move_places(plan, fb::Space::derived, [&](uint64_t offset) { return offset + at; });
    plan.derived_bytes = 0;
    LW_TRY(remove_unread_weights(plan, segments));
    return write(std::move(plan), std::move(segments));
}

Expected<std::vector<uint8_t>> without_code(std::span<const uint8_t> artifact, const std::string &target,
                                            const Digest &code) {
    fb::PlanT plan = unpacked(artifact);
    std::vector<SegmentData> segments = segments_of(plan, artifact);
    std::erase_if(segments,
                  [](const SegmentData &segment) { return segment.kind != fb::SegmentKind::weights; });
    std::erase_if(plan.variants, [&](const auto &variant) { return variant->target != target; });
    if (plan.variants.size() != 1) return Status::internal("static form: there is no code for " + target);
    plan.variants[0]->image.assign(code.begin(), code.end());
    plan.variants[0]->entry.clear();
    plan.variants[0]->segment = 0;
    plan.golden.clear();
    plan.report.clear();
    plan.certificates.clear();
    for (auto &kernel : plan.kernels) kernel->spec.clear();
    return write(std::move(plan), std::move(segments));
}

std::vector<uint8_t> take_weights(std::vector<uint8_t> &artifact) {
    for (const fb::Segment *segment : *plan_of(artifact).segments()) {
        if (segment->kind() != fb::SegmentKind::weights) continue;
        const auto from = artifact.begin() + static_cast<ptrdiff_t>(segment->offset());
        std::vector<uint8_t> weights(from, from + static_cast<ptrdiff_t>(segment->size()));
        artifact.erase(from, artifact.end());
        return weights;
    }
    return {};
}

std::vector<std::string> kernel_specs(std::span<const uint8_t> artifact) {
    std::vector<std::string> specs;
    for (const fb::Kernel *kernel : *plan_of(artifact).kernels()) specs.push_back(kernel->spec()->str());
    return specs;
}

} // namespace longwave::artifact
