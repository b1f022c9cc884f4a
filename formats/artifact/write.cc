#include "formats/artifact/write.h"
#include "formats/artifact/abi.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/header.h"
#include "formats/artifact/layout.h"
#include "formats/artifact/modules.h"
#include "formats/artifact/verify.h"
#include "formats/base/checked.h"
#include <cstring>

namespace longwave::artifact {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// A scalar that equals its default takes no bytes, so sizes and offsets must not be 0 in one pass
// and something else in the next: they never are 0.
void build(Builder &builder, const fb::PlanT &plan) {
    builder.Clear();
    builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
}

void fill_in_abi(fb::PlanT &plan) {
    for (auto &kernel : plan.kernels) {
        Builder builder;
        builder.Finish(fb::Kernel::Pack(builder, kernel.get()));
        kernel->abi = kernel_abi(*flatbuffers::GetRoot<fb::Kernel>(builder.GetBufferPointer()));
    }
}

Status fill_in_segments(fb::PlanT &plan, const std::vector<SegmentData> &segments) {
    plan.segments.clear();
    for (const SegmentData &data : segments) {
        if (data.size() == 0) return Status::internal("artifact: an empty segment cannot be written");
        auto segment = std::make_unique<fb::SegmentT>();
        uint8_t digest[hash_bytes];
        Hasher hasher;
        for (const auto &span : data.spans()) hasher.update(span.data(), span.size());
        hasher.finish(digest);
        segment->kind = data.kind;
        segment->offset = 1; // the true one is known once the plan's size is
        segment->size = data.size();
        segment->hash.assign(digest, digest + hash_bytes);
        plan.segments.push_back(std::move(segment));
    }
    return {};
}

bool has_scalars(const fb::PlanT &plan, fb::ScalarKind kind) {
    for (const auto &entry : plan.entries)
        for (const auto &step : entry->steps)
            for (const auto &arg : step->args)
                if (arg->scalar && arg->scalar->kind() == kind) return true;
    return false;
}

bool has_mixed(const fb::PlanT &plan) {
    for (const auto &entry : plan.entries)
        for (const auto &step : entry->steps)
            if (step->cpu || step->kind > fb::StepKind::zero_tail) return true;
    return false;
}

bool has_halves(const fb::PlanT &plan) {
    for (const auto &kernel : plan.kernels)
        for (const auto &arg : kernel->args)
            if (arg->elem == fb::Elem::f16) return true;
    return false;
}

bool has_parts(const fb::PlanT &plan) {
    for (const auto &golden : plan.golden)
        for (const auto *tensors : {&golden->inputs, &golden->outputs})
            for (const auto &tensor : *tensors)
                if (tensor->stored != 0) return true;
    return false;
}

bool has_waiting_streams(const fb::PlanT &plan) {
    for (const auto &entry : plan.entries)
        for (const auto &step : entry->steps)
            if (entry->kind == fb::EntryKind::stream && step->kind == fb::StepKind::zero_tail) return true;
    return false;
}

bool has_rows_together(const fb::PlanT &plan) {
    for (const auto &entry : plan.entries) {
        for (const auto &port : entry->outputs)
            if (port->whole > 1) return true;
        for (const auto &step : entry->steps) {
            if (step->whole > 1) return true;
            for (const auto &argument : step->args)
                if (argument->scalar && argument->scalar->kind() == fb::ScalarKind::rows &&
                    argument->scalar->add() > 1)
                    return true;
        }
    }
    return false;
}

// The least minor version whose readers know everything that the plan says.
uint16_t minor_of(const fb::PlanT &plan) {
    if (has_scalars(plan, fb::ScalarKind::filled)) return 13;
    for (const auto &field : plan.state)
        if (field->ring > 0) return 12;
    for (const auto &segment : plan.segments)
        if (segment->kind == fb::SegmentKind::recipe) return 11;
    if (!plan.scalars.empty()) return 10;
    if (has_rows_together(plan)) return 9;
    for (const auto &field : plan.state)
        if (field->initial) return 8;
    for (const auto &kernel : plan.kernels)
        if (!kernel->together.empty()) return 7;
    if (has_waiting_streams(plan)) return 6;
    for (const auto &variant : plan.variants)
        if (!variant->image.empty()) return 5;
    if (has_parts(plan)) return 5;
    if (plan.identity || has_scalars(plan, fb::ScalarKind::rows)) return 4;
    if (has_mixed(plan) || has_halves(plan)) return 3;
    if (has_scalars(plan, fb::ScalarKind::retired)) return 2;
    for (const auto &entry : plan.entries)
        if (entry->device != fb::DeviceKind::cpu && entry->kind == fb::EntryKind::stream) return 2;
    for (const auto &segment : plan.segments)
        if (segment->kind == fb::SegmentKind::modules) return 1;
    for (const auto &entry : plan.entries)
        if (entry->device != fb::DeviceKind::cpu) return 1;
    return 0;
}

void renew_root(std::vector<uint8_t> &front) {
    Header header;
    memcpy(&header, front.data(), sizeof header);
    root_hash(header, front.data() + header.plan_offset, header.root);
    memcpy(front.data(), &header, sizeof header);
}

// Header and plan, padded when segments follow.
Expected<std::vector<uint8_t>> make_front(fb::PlanT plan, const std::vector<SegmentData> &segments) {
    fill_in_abi(plan);
    LW_TRY(fill_in_segments(plan, segments));
    plan.layout.assign(hash_bytes, 0); // until there is a plan to hash
    Builder builder;
    build(builder, plan);
    const uint64_t plan_bytes = builder.GetSize();
    uint8_t layout[hash_bytes];
    layout_hash(*fb::GetPlan(builder.GetBufferPointer()), layout);
    plan.layout.assign(layout, layout + hash_bytes);

    uint64_t end = header_bytes + plan_bytes;
    for (auto &segment : plan.segments) {
        if (!checked::align(end, segment_alignment, &segment->offset) ||
            !checked::add(segment->offset, segment->size, &end))
            return Status::internal("artifact: segment sizes overflow");
    }
    build(builder, plan);
    if (builder.GetSize() != plan_bytes)
        return Status::internal("artifact: the plan's size changed with its offsets");

    Header header{};
    memcpy(header.magic, magic, sizeof magic);
    header.major = format_major;
    header.minor = minor_of(plan);
    header.header_bytes = header_bytes;
    header.total_bytes = end;
    header.plan_offset = header_bytes;
    header.plan_bytes = plan_bytes;
    std::vector<uint8_t> front(plan.segments.empty() ? end : plan.segments[0]->offset, 0);
    memcpy(front.data(), &header, sizeof header);
    memcpy(front.data() + header_bytes, builder.GetBufferPointer(), plan_bytes);
    renew_root(front);
    return front;
}

Expected<Pieces> assemble_unchecked(fb::PlanT plan, std::vector<SegmentData> segments) {
    LW_ASSIGN(auto front, make_front(std::move(plan), segments));
    return Pieces{std::move(front), std::move(segments)};
}

Status sign_front(std::vector<uint8_t> &front, uint64_t file_bytes, std::span<const uint8_t, 32> public_key,
                  const Signer &signer, uint64_t version) {
    Header header;
    if (const Broken broken = verify_header(front.data(), file_bytes, &header))
        return Status::input(std::string("cannot be signed: ") + broken.text);
    header.flags |= flag_signed;
    header.version = version;
    if (version > 0 && header.minor < 5) header.minor = 5; // the first whose readers know it
    memcpy(header.key, public_key.data(), sizeof header.key);
    memset(header.signature, 0, sizeof header.signature);
    memcpy(front.data(), &header, sizeof header);
    renew_root(front);
    memcpy(&header, front.data(), sizeof header);
    if (!signer(std::span<const uint8_t, 32>(header.root), std::span<uint8_t, 64>(header.signature)))
        return Status::usage("the signature could not be made");
    memcpy(front.data(), &header, sizeof header);
    return {};
}

// Zeros behind so many bytes, up to where the next segment begins.
size_t padding(uint64_t bytes) { return (segment_alignment - bytes % segment_alignment) % segment_alignment; }

} // namespace

static constexpr uint8_t zeros[segment_alignment] = {};

uint64_t SegmentData::size() const {
    return parts.empty() ? bytes.size() : parts.back().offset + parts.back().bytes.size();
}

std::vector<std::span<const uint8_t>> SegmentData::spans() const {
    if (parts.empty()) return {bytes};
    std::vector<std::span<const uint8_t>> result;
    uint64_t at = 0;
    for (const SegmentPart &part : parts) {
        if (part.offset > at) result.emplace_back(zeros, part.offset - at);
        result.emplace_back(part.bytes.data(), part.bytes.size());
        at = part.offset + part.bytes.size();
    }
    return result;
}

uint64_t Pieces::size() const {
    uint64_t size = 0;
    for (const auto &span : spans()) size += span.size();
    return size;
}

std::vector<std::span<const uint8_t>> Pieces::spans() const {
    std::vector<std::span<const uint8_t>> result = {front};
    for (size_t i = 0; i < segments.size(); ++i) {
        const auto of_segment = segments[i].spans();
        result.insert(result.end(), of_segment.begin(), of_segment.end());
        if (i + 1 < segments.size()) result.emplace_back(zeros, padding(segments[i].size()));
    }
    return result;
}

std::vector<uint8_t> Pieces::join() && {
    const uint64_t whole = size();
    std::vector<uint8_t> bytes = std::move(front);
    bytes.reserve(whole);
    hand_over([&](std::span<const uint8_t> span) {
        bytes.insert(bytes.end(), span.begin(), span.end());
        return true;
    });
    return bytes;
}

bool Pieces::hand_over(const std::function<bool(std::span<const uint8_t>)> &take) {
    uint64_t at = 0; // in the segment
    const auto fill = [&](uint64_t to) { return to == at || take({zeros, to - at}); };
    for (size_t i = 0; i < segments.size(); ++i) {
        const uint64_t size = segments[i].size();
        at = 0;
        for (SegmentPart &part : segments[i].parts) {
            if (!fill(part.offset) || !take({part.bytes.data(), part.bytes.size()})) return false;
            at = part.offset + part.bytes.size();
            part.bytes = {};
        }
        if (!segments[i].bytes.empty() && !take(segments[i].bytes)) return false;
        at = 0;
        if (i + 1 < segments.size() && !fill(padding(size))) return false;
        segments[i].bytes = {};
    }
    segments.clear();
    return true;
}

uint64_t Pieces::memory_needed() const {
    return artifact::memory_needed(*fb::GetPlan(front.data() + header_bytes), size());
}

static Broken check_pieces(const Pieces &pieces) {
    if (const Broken broken = verify_front(pieces.front.data(), pieces.front.size(), pieces.size()))
        return broken;
    const fb::Plan &plan = *fb::GetPlan(pieces.front.data() + header_bytes);
    for (const SegmentData &segment : pieces.segments) {
        if (segment.kind != fb::SegmentKind::modules) continue;
        ModulesView modules;
        if (const Broken broken = open_modules(plan, {segment.bytes.data(), segment.bytes.size()}, &modules))
            return broken;
    }
    return {};
}

Expected<Pieces> assemble(fb::PlanT plan, std::vector<SegmentData> segments) {
    LW_ASSIGN(Pieces pieces, assemble_unchecked(std::move(plan), std::move(segments)));
    if (const Broken broken = check_pieces(pieces))
        return Status::internal("artifact: rule V" + std::to_string(broken.rule) + ": " + broken.text + " " +
                                std::to_string(broken.a) + ", " + std::to_string(broken.b));
    return pieces;
}

Expected<std::vector<uint8_t>> write(fb::PlanT plan, std::vector<SegmentData> segments) {
    LW_ASSIGN(Pieces pieces, assemble(std::move(plan), std::move(segments)));
    return std::move(pieces).join();
}

Expected<std::vector<uint8_t>> write_unchecked(fb::PlanT plan, std::vector<SegmentData> segments) {
    LW_ASSIGN(Pieces pieces, assemble_unchecked(std::move(plan), std::move(segments)));
    return std::move(pieces).join();
}

Status sign(Pieces &pieces, std::span<const uint8_t, 32> public_key, const Signer &signer, uint64_t version) {
    if (pieces.front.size() < header_bytes) return Status::input("cannot be signed: there is no header");
    return sign_front(pieces.front, pieces.size(), public_key, signer, version);
}

Status sign(std::vector<uint8_t> &bytes, std::span<const uint8_t, 32> public_key, const Signer &signer,
            uint64_t version) {
    return sign_front(bytes, bytes.size(), public_key, signer, version);
}

} // namespace longwave::artifact
