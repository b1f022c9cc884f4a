// V15: what a stream remembers, and what lies beside it.
#include "formats/artifact/geometry.h"
#include "formats/artifact/layout.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/text.h"

namespace longwave::artifact {

// Negative, zero or positive, as memcmp: by layer, then by name.
static int compare(const fb::StateField &a, const fb::StateField &b) {
    const int layers = compare_texts(*a.layer(), *b.layer());
    return layers ? layers : compare_texts(*a.name(), *b.name());
}

// A history channel by channel: slots that a row has at most two of, and a saved row for all channels.
static Broken by_channel(const fb::StateField &field, uint32_t i) {
    const uint32_t channels = field.dims()->Get(0), slots = field.dims()->Get(1), ring = field.ring();
    if (slots < ring || slots > 2 * uint64_t{ring})
        return broken(15, "slots of a history beside the rows of its ring: field, slots", i, slots);
    if (field.row() < channels || field.row() > cap::extent)
        return broken(15, "elements of a saved row of a history: field, elements", i, field.row());
    return {};
}

// What a saved state says of a field: a name of its own, and rows that its ring has.
static Broken saved_field(const fb::Plan &plan, uint32_t i) {
    const fb::StateField &field = *plan.state()->Get(i);
    if (i > 0 && compare(*plan.state()->Get(i - 1), field) >= 0)
        return broken(15, "layers and names of the fields of the state do not ascend: field", i);
    if (field.kind() == fb::StateKind::spectra)
        return broken(15, "derived past in a state with an identity: field", i);
    if (field.kind() != fb::StateKind::history) return {};
    if (field.dims()->size() != 2)
        return broken(15, "a history has rows and elements: field, rank", i, field.dims()->size());
    if (lies_by_channel(field))
        if (Broken b = by_channel(field, i)) return b;
    if (field.needs() > field.keeps() || field.keeps() > ring_rows(field))
        return broken(15, "rows of a history that are saved: field, rows", i, field.keeps());
    if (field.clock_num() == 0 || field.clock_den() == 0)
        return broken(15, "the clock of a history: field", i);
    return {};
}

// What a field begins with is a whole range of the weights.
static Broken initial_bytes(const fb::StateField &field, uint64_t bytes, uint64_t weights, uint32_t i) {
    if (!field.initial().has_value()) return {};
    const uint64_t offset = *field.initial();
    if (!checked::inside(offset, bytes, weights))
        return broken(15, "what a field begins with lies outside the weights: field, offset", i, offset);
    return {};
}

// Saved states hold a scalar of the host by the names of its fields.
static Broken host_scalars(const fb::Plan &plan) {
    bool held[most_host_scalars] = {};
    for (uint32_t i = 0; i < count(plan.state()); ++i) {
        const fb::StateField &field = *plan.state()->Get(i);
        if (!field.scalar().has_value()) continue;
        const uint16_t scalar = *field.scalar();
        if (scalar >= count(plan.scalars()) || !plan.identity())
            return broken(15, "a field of a scalar that is not there, or without an identity: field, scalar",
                          i, scalar);
        // A history has two dims, and with an identity there are no spectra: it is a carry.
        if (field.elem() != fb::Elem::f32 || field.dims()->size() != 1 ||
            field.dims()->Get(0) != host_scalar_numbers)
            return broken(15, "the field of a scalar of the host is not three float32: field, scalar", i,
                          scalar);
        held[scalar] = true;
    }
    for (uint32_t i = 0; i < count(plan.scalars()); ++i)
        if (!held[i]) return broken(15, "a scalar of the host that no field holds: scalar", i);
    return {};
}

// The fields tile the state in order, each from a multiple of 64: what is saved is what is
// declared.
static Broken fields(const fb::Plan &plan, uint32_t streams) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < count(plan.state()); ++i) {
        const fb::StateField &field = *plan.state()->Get(i);
        uint64_t bytes, begin;
        if (!field_bytes(field, &bytes) || bytes > cap::space)
            return broken(15, "size of a field of the state: field", i);
        if (field.kind() == fb::StateKind::spectra && streams > 1)
            return broken(15, "derived past in a state that several stream entries share: field, streams", i,
                          streams);
        if (lies_by_channel(field) && (!plan.identity() || field.kind() != fb::StateKind::history))
            return broken(15, "a field channel by channel is not a history with a saved form: field", i);
        if (plan.identity())
            if (Broken b = saved_field(plan, i)) return b;
        if (!checked::align(end, segment_alignment, &begin) || field.offset() != begin)
            return broken(15, "fields of the state are out of order, overlap or leave a gap: field, offset",
                          i, field.offset());
        if (!checked::inside(begin, bytes, plan.state_bytes()))
            return broken(15, "a field lies outside the state: field, bytes of the state", i,
                          plan.state_bytes());
        if (Broken b = initial_bytes(field, bytes, plan.weights_bytes(), i)) return b;
        end = begin + bytes;
    }
    uint64_t whole;
    if (!checked::align(end, segment_alignment, &whole) || whole != plan.state_bytes())
        return broken(15, "bytes of the state: found, in its fields", plan.state_bytes(), end);
    if (plan.state_bytes() > 0 && streams == 0)
        return broken(15, "a state without a stream: bytes", plan.state_bytes());
    return {};
}

Broken v15_state(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    uint32_t streams = 0;
    bool prepared = false;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        const bool stream = entry.kind() == fb::EntryKind::stream;
        streams += stream;
        prepared |= entry.kind() == fb::EntryKind::prepare;
        if (entry.cache_bytes() % segment_alignment != 0 || entry.arena_bytes() % segment_alignment != 0)
            return broken(15, "cache and arena are whole multiples of 64: cache, arena", entry.cache_bytes(),
                          entry.arena_bytes());
        if (!stream && entry.cache_bytes() != 0)
            return broken(15, "only a stream has a cache: entry, bytes", e, entry.cache_bytes());
        if (entry.cache_bytes() > 0 && count(entry.rebuild()) == 0)
            return broken(15, "a cache that nothing rebuilds: entry, bytes", e, entry.cache_bytes());
    }
    if (prepared != (plan.derived_bytes() > 0))
        return broken(15, "derived bytes go with a prepare entry: bytes, prepared", plan.derived_bytes(),
                      prepared);
    if (Broken b = fields(plan, streams)) return b;
    if (Broken b = host_scalars(plan)) return b;
    uint8_t layout[hash_bytes];
    layout_hash(plan, layout);
    return equal_hash(layout, plan.layout()->data())
               ? Broken{}
               : broken(15, "the layout's hash is not that of the fields");
}

} // namespace longwave::artifact
