#include "formats/artifact/detach.h"
#include "formats/artifact/abi.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/header.h"
#include "formats/artifact/write.h"
#include <algorithm>
#include <cstring>

namespace longwave::artifact {

namespace {

const fb::Plan &plan_in(std::span<const uint8_t> artifact) {
    Header header;
    std::memcpy(&header, artifact.data(), sizeof header);
    return *fb::GetPlan(artifact.data() + header.plan_offset);
}

} // namespace

Expected<Detached> detach_code(std::span<const uint8_t> artifact) {
    const fb::Plan &old = plan_in(artifact);
    fb::PlanT plan;
    old.UnPackTo(&plan);
    if (plan.variants.size() != 1)
        return Status::usage(
            "code for " + std::to_string(plan.variants.size()) +
            " CPU targets cannot be left out; choose one with --target, such as --target host");
    fb::CodeVariantT &variant = *plan.variants[0];
    Detached result;
    DetachedCode &code = result.code;
    std::vector<SegmentData> kept;
    for (size_t i = 0; i < plan.segments.size(); ++i) {
        const fb::SegmentT &segment = *plan.segments[i];
        const auto bytes = artifact.subspan(segment.offset, segment.size);
        if (segment.kind == fb::SegmentKind::modules)
            return Status::usage("code for a GPU cannot be left out; name a CPU alone with --target");
        if (segment.kind != fb::SegmentKind::code)
            kept.push_back({segment.kind, {bytes.begin(), bytes.end()}});
        else if (i == variant.segment) code.image.assign(bytes.begin(), bytes.end());
    }
    code.target = variant.target;
    uint8_t digest[hash_bytes];
    hash(code.image.data(), code.image.size(), digest);
    std::copy_n(digest, hash_bytes, code.hash.begin());
    for (uint32_t k = 0; k < variant.entry.size(); ++k) {
        const fb::Kernel &kernel = *old.kernels()->Get(k);
        kernel_hash(kernel, digest);
        code.functions.push_back({kernel.spec()->str(), {}, variant.entry[k], variant.scratch[k]});
        std::copy_n(digest, hash_bytes, code.functions.back().hash.begin());
    }
    variant.image.assign(code.hash.begin(), code.hash.end());
    variant.entry.clear();
    variant.segment = 0;
    LW_ASSIGN(result.artifact, write(std::move(plan), std::move(kept)));
    return result;
}

Expected<std::vector<uint8_t>> without_golden(std::span<const uint8_t> artifact) {
    fb::PlanT plan;
    plan_in(artifact).UnPackTo(&plan);
    std::vector<SegmentData> kept;
    std::vector<uint16_t> index; // of each segment among those that are kept
    for (const auto &segment : plan.segments) {
        index.push_back(static_cast<uint16_t>(kept.size()));
        if (segment->kind == fb::SegmentKind::golden) continue;
        const auto bytes = artifact.subspan(segment->offset, segment->size);
        kept.push_back({segment->kind, {bytes.begin(), bytes.end()}});
    }
    for (auto &variant : plan.variants)
        if (!variant->entry.empty()) variant->segment = index[variant->segment];
    for (const auto &vector : plan.golden) plan.error_limit = std::max(plan.error_limit, vector->error_limit);
    plan.golden.clear();
    return write(std::move(plan), std::move(kept));
}

} // namespace longwave::artifact
