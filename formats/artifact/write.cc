#include "formats/artifact/write.h"
#include "formats/artifact/abi.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/header.h"
#include "formats/artifact/layout.h"
#include "formats/artifact/verify.h"
#include "formats/base/checked.h"
#include <cstring>

namespace longwave::artifact {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// A scalar that equals its default takes no bytes, so sizes and offsets must not be 0 in one pass and
// something else in the next: they never are 0.
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

void renew_root(std::vector<uint8_t> &bytes) {
    Header header;
    memcpy(&header, bytes.data(), sizeof header);
    root_hash(header, bytes.data() + header.plan_offset, header.root);
    memcpy(bytes.data(), &header, sizeof header);
}

} // namespace

Expected<std::vector<uint8_t>> write_unchecked(fb::PlanT plan, const std::vector<SegmentData> &segments) {
    fill_in_abi(plan);
    plan.segments.clear();
    plan.layout.assign(hash_bytes, 0); // until there is a plan to hash
    for (const SegmentData &data : segments) {
        if (data.bytes.empty()) return Status::internal("artifact: an empty segment cannot be written");
        auto segment = std::make_unique<fb::SegmentT>();
        uint8_t digest[hash_bytes];
        hash(data.bytes.data(), data.bytes.size(), digest);
        segment->kind = data.kind;
        segment->offset = 1; // the true one is known once the plan's size is
        segment->size = data.bytes.size();
        segment->hash.assign(digest, digest + hash_bytes);
        plan.segments.push_back(std::move(segment));
    }
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
    header.minor = format_minor;
    header.header_bytes = header_bytes;
    header.total_bytes = end;
    header.plan_offset = header_bytes;
    header.plan_bytes = plan_bytes;
    std::vector<uint8_t> bytes(end, 0);
    memcpy(bytes.data(), &header, sizeof header);
    memcpy(bytes.data() + header_bytes, builder.GetBufferPointer(), plan_bytes);
    for (size_t i = 0; i < segments.size(); ++i)
        memcpy(bytes.data() + plan.segments[i]->offset, segments[i].bytes.data(), segments[i].bytes.size());
    renew_root(bytes);
    return bytes;
}

Expected<std::vector<uint8_t>> write(fb::PlanT plan, const std::vector<SegmentData> &segments) {
    LW_ASSIGN(auto bytes, write_unchecked(std::move(plan), segments));
    Request request;
    request.file =
        bytes.data(); // a vector of this size is aligned for the header; the segments are only hashed
    request.size = bytes.size();
    View view;
    if (const Broken broken = verify(request, &view))
        return Status::internal("artifact: rule V" + std::to_string(broken.rule) + ": " + broken.text + " " +
                                std::to_string(broken.a) + ", " + std::to_string(broken.b));
    return bytes;
}

Status sign(std::vector<uint8_t> &bytes, std::span<const uint8_t, 32> public_key, const Signer &signer) {
    Header header;
    if (const Broken broken = verify_header(bytes.data(), bytes.size(), &header))
        return Status::input(std::string("cannot be signed: ") + broken.text);
    header.flags |= flag_signed;
    memcpy(header.key, public_key.data(), sizeof header.key);
    memset(header.signature, 0, sizeof header.signature);
    memcpy(bytes.data(), &header, sizeof header);
    renew_root(bytes);
    memcpy(&header, bytes.data(), sizeof header);
    if (!signer(std::span<const uint8_t, 32>(header.root), std::span<uint8_t, 64>(header.signature)))
        return Status::usage("the signature could not be made");
    memcpy(bytes.data(), &header, sizeof header);
    return {};
}

} // namespace longwave::artifact
