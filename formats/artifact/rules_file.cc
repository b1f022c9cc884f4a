// Rules about the container: header, flatbuffer, segments, hashes, and what this machine can take.
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/text.h"
#include <cstring>

namespace longwave::artifact {

Broken v1_length(const Subject &s) {
    if (s.request.size < header_bytes)
        return broken(1, "shorter than a header: bytes, needed", s.request.size, header_bytes);
    if (s.request.size > cap::file)
        return broken(1, "longer than the format allows: bytes, limit", s.request.size, cap::file);
    return {};
}

Broken v2_magic_and_version(const Subject &s) {
    const Header &h = *s.header;
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return broken(2, "not a Longwave artifact: the magic differs");
    if (h.major != format_major)
        return broken(2, "another major format version: found, read here", h.major, format_major);
    if (h.minor > format_minor)
        return broken(2, "a newer minor format version: found, read here", h.minor, format_minor);
    if (h.header_bytes != header_bytes)
        return broken(2, "header size: found, expected", h.header_bytes, header_bytes);
    return {};
}

Broken v3_declared_size(const Subject &s) {
    const Header &h = *s.header;
    if (h.total_bytes != s.request.size)
        return broken(3, "file size: declared, found", h.total_bytes, s.request.size);
    if (h.plan_offset != header_bytes)
        return broken(3, "plan offset: found, expected", h.plan_offset, header_bytes);
    if (h.plan_bytes > cap::plan || !checked::inside(h.plan_offset, h.plan_bytes, s.request.size))
        return broken(3, "the plan reaches beyond the file: plan bytes, file bytes", h.plan_bytes,
                      s.request.size);
    if (s.request.front && !checked::inside(h.plan_offset, h.plan_bytes, s.request.front_size))
        return broken(3, "the plan changed its size while it was read: plan bytes, bytes read", h.plan_bytes,
                      s.request.front_size);
    return {};
}

Broken v4_flags(const Subject &s) {
    const Header &h = *s.header;
    if ((h.flags & ~known_flags) != 0 || h.reserved_flags != 0)
        return broken(4, "unknown flag bits: flags, known", h.flags, known_flags);
    for (size_t i = 0; i < sizeof h.reserved; ++i)
        if (h.reserved[i] != 0)
            return broken(4, "reserved header byte is not zero: byte, value", offsetof(Header, reserved) + i,
                          h.reserved[i]);
    if (h.version != 0 && h.minor < 5)
        return broken(4, "a version needs format 2.5: version, minor", h.version, h.minor);
    if (!(h.flags & flag_signed)) {
        for (size_t i = 0; i < sizeof h.key; ++i)
            if (h.key[i] != 0)
                return broken(4, "an unsigned artifact carries a key: byte, value", offsetof(Header, key) + i,
                              h.key[i]);
        for (size_t i = 0; i < sizeof h.signature; ++i)
            if (h.signature[i] != 0)
                return broken(4, "an unsigned artifact carries a signature: byte, value",
                              offsetof(Header, signature) + i, h.signature[i]);
    }
    return {};
}

Broken v5_flatbuffer(Subject &s) {
    const uint64_t size = s.header->plan_bytes;
    // The library's own checks of the size are assertions, so ours come first. No real plan is
    // smaller than this.
    if (size < 64 || size > cap::plan) return broken(5, "size of the plan: bytes, least", size, 64);
    // A table takes sixteen bytes with its offset and two fields, and real ones take fifty; more
    // tables than that can only come from sharing, which no writer does.
    flatbuffers::Verifier::Options options;
    options.max_depth = 16;
    options.max_tables = static_cast<flatbuffers::uoffset_t>(size / 16 + 64);
    options.check_nested_flatbuffers = false; // there are none
    const uint8_t *bytes = s.front + s.header->plan_offset;
    flatbuffers::Verifier verifier(bytes, size, options);
    if (!fb::VerifyPlanBuffer(verifier))
        return broken(5, "the plan is not a well-formed flatbuffer: bytes", size);
    const fb::Plan *plan = fb::GetPlan(bytes);
    if (Broken b = misaligned_lists(*plan)) return b;
    s.plan = plan;
    return {};
}

static Broken zeros(const Subject &s, uint64_t from, uint64_t to) {
    if (!s.request.file) return {}; // verify_front: the writer's own
    for (uint64_t i = from; i < to; ++i)
        if (s.request.file[i] != 0)
            return broken(8, "padding is not zero: byte, value", i, s.request.file[i]);
    return {};
}

Broken v8_segments(const Subject &s) {
    uint64_t end = s.header->plan_offset + s.header->plan_bytes, weights = 0, golden = 0, recipes = 0;
    for (uint32_t i = 0; i < s.plan->segments()->size(); ++i) {
        const fb::Segment &segment = *s.plan->segments()->Get(i);
        uint64_t begin;
        if (!checked::align(end, segment_alignment, &begin))
            return broken(8, "segment offset overflows: segment", i);
        if (segment.offset() != begin)
            return broken(8, "segments are out of order, overlap or leave a gap: segment, offset", i,
                          segment.offset());
        if (segment.size() == 0 || !checked::inside(begin, segment.size(), s.request.size))
            return broken(8, "a segment is empty or reaches beyond the file: segment, size", i,
                          segment.size());
        if (Broken b = zeros(s, end, begin)) return b;
        end = begin + segment.size();
        switch (segment.kind()) {
        case fb::SegmentKind::weights: ++weights; break;
        case fb::SegmentKind::golden: ++golden; break;
        case fb::SegmentKind::recipe: ++recipes; break;
        case fb::SegmentKind::code:
        case fb::SegmentKind::modules: break;
        default:
            return broken(8, "unknown segment kind: segment, kind", i, static_cast<uint64_t>(segment.kind()));
        }
        if (segment.kind() == fb::SegmentKind::weights && segment.size() != s.plan->weights_bytes())
            return broken(8, "size of the weights: segment, plan", segment.size(), s.plan->weights_bytes());
    }
    if (s.plan->segments()->size() == 0) { // nothing but a plan: it ends the file
        if (end != s.request.size) return broken(8, "bytes behind the plan: end, file", end, s.request.size);
    } else if (end != s.request.size) {
        return broken(8, "bytes behind the last segment: end, file", end, s.request.size);
    }
    if (weights != (s.plan->weights_bytes() > 0 ? 1u : 0u))
        return broken(8, "number of weight segments: found, expected", weights, s.plan->weights_bytes() > 0);
    if (golden > 1) return broken(8, "more than one golden segment: found", golden);
    if (recipes > 1) return broken(8, "more than one recipe: found", recipes);
    return {};
}

Broken v9_ranges(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const fb::CodeVariant &variant = *plan.variants()->Get(v);
        if (detached(variant)) continue; // V11: it has no entries
        const uint64_t code = plan.segments()->Get(variant.segment())->size();
        for (uint32_t k = 0; k < variant.entry()->size(); ++k)
            if (variant.entry()->Get(k) >= code || variant.entry()->Get(k) < need_bytes)
                return broken(9, "a kernel starts outside its code: variant, kernel", v, k);
    }
    uint64_t golden = 0;
    for (const fb::Segment *segment : *plan.segments())
        if (segment->kind() == fb::SegmentKind::golden) golden = segment->size();
    for (uint32_t g = 0; g < count(plan.golden()); ++g) {
        const fb::Golden &vector = *plan.golden()->Get(g);
        uint64_t expected = 0; // bytes of all outputs: whoever runs the vector holds them beside the segment
        for (const auto *tensors : {vector.inputs(), vector.outputs()})
            for (uint32_t t = 0; t < count(tensors); ++t) {
                const fb::GoldenTensor &tensor = *tensors->Get(t);
                const uint64_t rows = stored_rows(tensor);
                if (rows > tensor.rows() || (tensor.stored() != 0 && tensor.rows() > cap::extent) ||
                    tensor.first() > (tensors == vector.inputs() ? 0 : tensor.rows() - rows))
                    return broken(9, "stored rows of a golden tensor: vector, tensor", g, t);
                uint64_t values, bytes;
                if (!checked::mul(rows, tensor.width(), &values) || !checked::mul(values, 4, &bytes) ||
                    bytes == 0 || tensor.offset() % 4 != 0 ||
                    !checked::inside(tensor.offset(), bytes, golden))
                    return broken(9, "a golden tensor lies outside its segment: vector, tensor", g, t);
                if (tensors == vector.outputs()) expected += bytes;
            }
        if (expected > golden)
            return broken(9, "golden outputs share their bytes: vector, bytes", g, expected);
    }
    return {};
}

Broken v17_variant(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    for (uint32_t v = 0; v < plan.variants()->size(); ++v)
        if ((plan.variants()->Get(v)->features() & ~known_features) != 0)
            return broken(17, "a code variant needs a feature this version does not know: variant, features",
                          v, plan.variants()->Get(v)->features());
    const Host *host = s.request.host;
    if (!host || plan.kernels()->size() == 0) return {};
    for (const fb::CodeVariant *variant : *plan.variants())
        if (variant->machine() == host->machine && (variant->features() & ~host->features) == 0 &&
            (!s.request.variant || equal(*variant->target(), s.request.variant)))
            return {};
    return broken(17, "no code variant for this CPU: variants, features of the CPU", plan.variants()->size(),
                  host->features);
}

Broken v19_hashes(const Subject &s) {
    uint8_t digest[hash_bytes];
    root_hash(*s.header, s.front + s.header->plan_offset, digest);
    if (!equal_hash(digest, s.header->root)) return broken(19, "hash of header and plan");
    for (uint32_t i = 0; s.request.check_hashes && i < s.plan->segments()->size(); ++i) {
        const fb::Segment &segment = *s.plan->segments()->Get(i);
        hash(s.request.file + segment.offset(), segment.size(), digest);
        if (!equal_hash(digest, segment.hash()->data()))
            return broken(19, "hash of a segment: segment, offset", i, segment.offset());
    }
    return {};
}

uint64_t memory_needed(const fb::Plan &plan, uint64_t file_bytes) {
    uint64_t run = 0, stream = 0, caches = 0;
    for (const fb::Entry *entry : *plan.entries()) {
        uint64_t &most = entry->kind() == fb::EntryKind::stream ? stream : run;
        if (entry->arena_bytes() > most) most = entry->arena_bytes();
        caches += entry->cache_bytes();
    }
    stream += plan.state_bytes() +
              caches; // an arena serves all entries of a stream, for nothing in it outlives a block
    return file_bytes + plan.derived_bytes() + (stream > run ? stream : run); // each at most 2^40 (V7)
}

Broken v20_memory(const Subject &s) {
    const uint64_t needed = memory_needed(*s.plan, s.request.size), asked = s.request.memory_limit;
    if (asked > 0) return needed > asked ? broken(20, "memory: needed, limit", needed, asked) : Broken{};
    const uint64_t limit = default_memory_limit(s.request.size);
    return needed > limit
               ? broken(20, "memory: needed, limit where none is set (64 MiB or 64 times the file)", needed,
                        limit)
               : Broken{};
}

} // namespace longwave::artifact
