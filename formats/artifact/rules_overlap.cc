// V14: what one step does to itself. Its arguments keep apart, and so do its tiles, so that tiles
// may run in any order on any thread; two overlaps are meant, and they are exact. And what steps
// clear, in bytes.
#include "formats/artifact/rules.h"
#include "formats/artifact/spans.h"

namespace longwave::artifact {
namespace {

struct Argument {
    fb::ArgKind kind;
    fb::Space space;
    const fb::KernelArg *arg;
    const fb::Place *place;
    uint64_t bytes; // of one tile
    Span span;      // of all slots and tiles
};

// No two elements of all tiles lie on the same bytes: each stride, that of the tiles with them,
// clears what the smaller ones reach. So are the layouts that compilers make; a layout that is
// apart in a cleverer way is refused.
bool apart(const fb::KernelArg &arg, uint64_t tile_bytes, uint32_t tiles) {
    struct {
        uint64_t stride, extent;
    } loops[cap::rank + 1];
    uint32_t n = 0;
    const auto add = [&](uint64_t stride, uint64_t extent) {
        if (extent <= 1) return;
        uint32_t i = n++;
        for (; i > 0 && loops[i - 1].stride > stride; --i) loops[i] = loops[i - 1];
        loops[i] = {stride, extent};
    };
    const uint64_t element = bytes_of(elem_of(arg.elem()));
    for (uint32_t d = 0; d < count(arg.dims()); ++d)
        add(static_cast<uint64_t>(arg.dims()->Get(d)->stride()) * element, arg.dims()->Get(d)->extent());
    add(tile_bytes, tiles);
    uint64_t reach = element; // V12: the whole lies inside its space, so nothing overflows
    for (uint32_t i = 0; i < n; ++i) {
        if (loops[i].stride < reach) return false;
        reach += (loops[i].extent - 1) * loops[i].stride;
    }
    return true;
}

bool same_dims(const fb::KernelArg &a, const fb::KernelArg &b) {
    if (a.elem() != b.elem() || count(a.dims()) != count(b.dims())) return false;
    for (uint32_t d = 0; d < count(a.dims()); ++d)
        if (a.dims()->Get(d)->extent() != b.dims()->Get(d)->extent() ||
            a.dims()->Get(d)->stride() != b.dims()->Get(d)->stride())
            return false;
    return true;
}

// Whether two places of one space whose spans overlap share a byte in any firing. Rings of one
// shape advance together: their distance is one of two.
bool meet(const Argument &a, const Argument &b) {
    const fb::Place &p = *a.place, &q = *b.place;
    const uint64_t slots = p.slots();
    if (slots != q.slots() || slots == 1 || p.slot_bytes() != q.slot_bytes()) return true;
    const uint64_t ring = (slots - 1) * p.slot_bytes(),
                   ahead = (p.slot_add() + slots - q.slot_add() % slots) % slots;
    const Span first{b.span.begin, b.span.end - ring}; // q in its slot 0
    const auto apart_by = [&](uint64_t forward, uint64_t back) {
        const Span there{a.span.begin + forward, a.span.end - ring + forward};
        return !overlap(there, {first.begin + back, first.end + back});
    };
    if (!apart_by(ahead * p.slot_bytes(), 0)) return true;
    return ahead > 0 && !apart_by(0, (slots - ahead) * p.slot_bytes());
}

// A kernel that was built for it writes over its input in the arena, element by element: the very
// same place, and no tile reaches into another.
bool in_place(const Argument &out, const Argument &in, uint32_t tiles) {
    const fb::Place &p = *out.place, &q = *in.place;
    const bool same = p.space() == fb::Space::arena && p.offset() == q.offset() &&
                      p.tile_bytes() == q.tile_bytes() && p.slots() == q.slots() &&
                      (p.slots() == 1 || (p.slot_bytes() == q.slot_bytes() && p.slot_add() == q.slot_add()));
    if (!same || out.bytes != in.bytes) return false;
    return tiles == 1 || p.tile_bytes() >= out.bytes || same_dims(*out.arg, *in.arg);
}

// The newest entry of a ring that the kernel reads as a whole: the output has the input's
// dimensions but one, and that one runs over the slots. The kernel takes that entry from what it
// has just computed, never from the ring; whether it does is its own affair, for it reads no byte
// that is not its input's.
bool newest_of(const Argument &out, const Argument &in, uint32_t tiles) {
    const fb::Place &p = *out.place, &q = *in.place;
    const uint32_t rank = count(out.arg->dims());
    if (q.slots() != 1 || p.offset() != q.offset() || p.tile_bytes() != q.tile_bytes() ||
        count(in.arg->dims()) != rank + 1 || out.arg->elem() != in.arg->elem() ||
        !apart(*in.arg, q.tile_bytes(), tiles))
        return false;
    uint32_t skipped = 0;
    for (uint32_t d = 0; d <= rank; ++d) {
        const fb::Dim &from = *in.arg->dims()->Get(d);
        const fb::Dim *to = d - skipped < rank ? out.arg->dims()->Get(d - skipped) : nullptr;
        if (to && to->extent() == from.extent() && to->stride() == from.stride()) continue;
        const uint64_t stride = static_cast<uint64_t>(from.stride()) * bytes_of(elem_of(in.arg->elem()));
        if (skipped++ || from.extent() != p.slots() || (p.slots() > 1 && stride != p.slot_bytes()))
            return false;
    }
    return skipped == 1;
}

Broken pair_rule(const Argument &a, const Argument &b, const fb::Step &step, uint32_t index, uint32_t at) {
    if (!meet(a, b)) return {};
    if (writes(b.kind)) return broken(14, "two outputs of a step overlap: step, argument", index, at);
    if (a.kind == fb::ArgKind::output && (in_place(a, b, step.tiles()) || newest_of(a, b, step.tiles())))
        return {};
    return broken(14, "an output overlaps an input of its own step: step, argument", index, at);
}

// *written grows by the bytes that its outputs lie in.
Broken call_rule(const fb::Kernel &kernel, const fb::Step &step, uint32_t index, uint64_t *written) {
    Argument arguments[cap::kernel_args];
    uint32_t n = 0; // without the scalars
    for (uint32_t a = 0; a < kernel.args()->size(); ++a) {
        const fb::KernelArg &arg = *kernel.args()->Get(a);
        const fb::Place *place = step.args()->Get(a)->place();
        uint64_t bytes;
        if (arg.kind() == fb::ArgKind::scalar || !span_bytes(arg, &bytes)) continue;
        arguments[n++] = {arg.kind(), place->space(), &arg,
                          place,      bytes,          span_of(*place, step.tiles(), bytes)};
    }
    for (uint32_t a = 0; a < n; ++a) {
        const Argument &out = arguments[a];
        if (!writes(out.kind)) continue;
        *written += out.span.end - out.span.begin; // each at most 2^40
        const bool in_turn = out.kind == fb::ArgKind::inout && step.ordered() && out.place->tile_bytes() == 0;
        if (step.tiles() > 1 && !in_turn && !apart(*out.arg, out.place->tile_bytes(), step.tiles()))
            return broken(14, "tiles write the same bytes: step, argument", index, a);
        for (uint32_t b = 0; b < n; ++b) {
            const Argument &other = arguments[b];
            if (other.space != out.space || !overlap(other.span, out.span)) continue;
            if (b == a || (b > a && writes(other.kind))) continue; // each pair once
            if (Broken fault = pair_rule(out, other, step, index, a)) return fault;
        }
    }
    return {};
}

using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::Step>>;

// What steps clear in a block has to stay in proportion to what there is; they may as well clear
// what its calls fill.
Broken steps_rule(const fb::Plan &plan, const fb::Entry &entry, const Steps *steps) {
    const bool stream = entry.kind() == fb::EntryKind::stream;
    uint64_t cleared = 0, written = 0;
    uint64_t spaces =
        entry.arena_bytes() + entry.cache_bytes() + (stream ? plan.state_bytes() : 0); // V7: at most 2^42
    if (entry.kind() == fb::EntryKind::prepare) spaces += plan.derived_bytes();
    for (uint32_t i = 0; i < count(steps); ++i) {
        const fb::Step &step = *steps->Get(i);
        if (step.kind() == fb::StepKind::call) {
            if (Broken b = call_rule(*plan.kernels()->Get(step.kernel()), step, i, &written)) return b;
            continue;
        }
        if (moves(step)) continue; // traffic, below
        uint64_t bytes = cleared_bytes(step);
        if (step.tiles() > 1 && step.args()->Get(0)->place()->tile_bytes() < bytes)
            return broken(14, "tiles of a zero step overlap: step, bytes", i, bytes);
        bytes *= step.tiles(); // apart, so at most 2^40
        const uint32_t replays = step.replay_from() - step.replay_to();
        if (!checked::mul(bytes, replays > 0 ? replays : 1, &bytes) ||
            !checked::add(cleared, bytes, &cleared))
            return broken(14, "bytes that zero steps clear overflow: step", i);
    }
    if (cleared > cap::cleared_memories * spaces + written)
        return broken(14, "zero steps clear more in a block than is in proportion: bytes, of spaces", cleared,
                      spaces);
    return {};
}

} // namespace

Broken v14_single_writes(const Subject &s) {
    for (const fb::Entry *entry : *s.plan->entries())
        for (const Steps *steps : {entry->steps(), entry->rebuild()})
            if (Broken b = steps_rule(*s.plan, *entry, steps)) return b;
    return {};
}

} // namespace longwave::artifact
