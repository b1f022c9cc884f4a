// V10 and V14: what the steps do to each other through memory.
//
// V10 replays one period of an entry on the arena's bytes. The bytes are cut at every edge of every span that is touched; each piece remembers which write
// was last. A read must find every piece written in the same block, and no two of its pieces may come from writes that overlap without one containing
// the other: that is how a tensor looks that another one has run into.
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"
#include <algorithm>

namespace longwave::artifact {
namespace {

constexpr uint64_t work_limit = 1ull << 25; // pieces visited: far above any real plan, about a tenth of a second

struct Span {
    uint64_t begin = 0, end = 0;
};

bool overlap(const Span &a, const Span &b) { return a.begin < b.end && b.begin < a.end; }
bool contains(const Span &a, const Span &b) { return a.begin <= b.begin && b.end <= a.end; }

Span span_of(const fb::Place &place, uint32_t tiles, uint64_t bytes) {
    Span span{place.offset(), 0};
    if (!place_end(place, tiles, bytes, &span.end)) span.end = span.begin; // V12 has seen to it that this cannot be
    return span;
}

Span span_of(const fb::Step &step, const fb::KernelArg &arg, const fb::Binding &binding) {
    uint64_t bytes = 0;
    return span_bytes(arg, &bytes) ? span_of(*binding.place(), step.tiles(), bytes) : Span{};
}

bool same_place(const fb::Place &a, const fb::Place &b) {
    return a.offset() == b.offset() && a.space() == b.space() && a.tile_bytes() == b.tile_bytes() && a.slots() == b.slots() &&
           (a.slots() == 1 || (a.slot_bytes() == b.slot_bytes() && a.slot_add() == b.slot_add()));
}

// Calls visit(span, is_write) for everything a step does to the arena: reads first, as a kernel's inputs are complete before its outputs begin.
template <class Visit> void arena_spans(const fb::Plan &plan, const fb::Step &step, Visit visit) {
    if (step.kind() != fb::StepKind::call) {
        const fb::Place &place = *step.args()->Get(0)->place();
        if (place.space() != fb::Space::arena) return;
        const bool tail = step.kind() == fb::StepKind::zero_tail; // keeps the rows before: those must be there already
        visit(span_of(place, step.tiles(), tail ? uint64_t{step.rows()} * step.row_bytes() : step.bytes()), !tail);
        return;
    }
    const auto &args = *plan.kernels()->Get(step.kernel())->args();
    for (const bool write : {false, true})
        for (uint32_t a = 0; a < args.size(); ++a) {
            const fb::ArgKind kind = args.Get(a)->kind();
            if (kind == fb::ArgKind::scalar || kind == (write ? fb::ArgKind::input : fb::ArgKind::output)) continue;
            if (step.args()->Get(a)->place()->space() == fb::Space::arena)
                visit(span_of(step, *args.Get(a), *step.args()->Get(a)), write);
        }
}

template <class Visit> void output_spans(const fb::Entry &entry, uint64_t block, Visit visit) {
    for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        uint64_t bytes;
        if (port.place()->space() != fb::Space::arena || block % port.period() != port.phase()) continue;
        if (rows_span(port.rows(), port.row_bytes(), uint64_t{port.width()} * 4, &bytes)) visit(span_of(*port.place(), 1, bytes));
    }
}

template <class Visit> void input_spans(const fb::Entry &entry, Visit visit) {
    for (uint32_t i = 0; i < count(entry.inputs()); ++i) {
        const fb::InputPort &port = *entry.inputs()->Get(i);
        if (port.place()->space() == fb::Space::arena) visit(span_of(*port.place(), 1, uint64_t{port.rows()} * port.row_bytes()));
    }
}

// One block's view of the arena.
class Replay {
public:
    Replay(uint64_t *edges, uint32_t n_edges, Span *writes, uint32_t *last, uint64_t *work)
        : edges_(edges), n_edges_(n_edges), writes_(writes), last_(last), work_(work) {}

    void clear() {
        std::fill(last_, last_ + n_edges_, none);
        n_writes_ = 0;
        *work_ += n_edges_ / 8 + 1;
    }
    void write(const Span &span) {
        writes_[n_writes_] = span;
        for (uint32_t i = index(span.begin); i < n_edges_ && edges_[i] < span.end; ++i, ++*work_) last_[i] = n_writes_;
        ++n_writes_;
    }
    // Null when all of it was written and nothing ran into it.
    const char *read(const Span &span) {
        uint32_t before = none;
        for (uint32_t i = index(span.begin); i < n_edges_ && edges_[i] < span.end; ++i, ++*work_) {
            const uint32_t now = last_[i];
            if (now == none) return "arena bytes are read in a block that did not write them: step, byte";
            if (before != none && before != now) {
                const Span &a = writes_[before], &b = writes_[now];
                if (overlap(a, b) && !contains(a, b) && !contains(b, a)) return "arena bytes that are still needed were overwritten: step, byte";
            }
            before = now;
        }
        return nullptr;
    }

private:
    static constexpr uint32_t none = 0xffffffff;
    uint32_t index(uint64_t edge) const { return static_cast<uint32_t>(std::lower_bound(edges_, edges_ + n_edges_, edge) - edges_); }

    uint64_t *edges_;
    uint32_t n_edges_;
    Span *writes_;
    uint32_t *last_; // per piece: its last write
    uint64_t *work_;
    uint32_t n_writes_ = 0;
};

Broken replay_block(const Subject &s, const fb::Entry &entry, uint64_t block, Replay &replay, uint64_t *work) {
    Broken result;
    replay.clear();
    input_spans(entry, [&](const Span &span) { replay.write(span); });
    for (uint32_t i = 0; i < entry.steps()->size() && !result; ++i, ++*work) {
        const fb::Step &step = *entry.steps()->Get(i);
        if (block % step.period() != step.phase()) continue;
        arena_spans(*s.plan, step, [&](const Span &span, bool write) {
            if (result) return;
            if (write) return replay.write(span);
            if (const char *fault = replay.read(span)) result = broken(10, fault, i, span.begin);
        });
        if (!result && *work > work_limit) result = broken(10, "lifetimes are too tangled to check: steps, block", entry.steps()->size(), block);
    }
    output_spans(entry, block, [&](const Span &span) {
        if (result) return;
        if (const char *fault = replay.read(span)) result = broken(10, fault, entry.steps()->size(), span.begin);
    });
    return result;
}

Broken lifetimes_of(const Subject &s, const fb::Entry &entry, uint64_t *work) {
    uint64_t touched = 0;
    auto touch = [&](const Span &, bool = false) { ++touched; };
    input_spans(entry, touch);
    for (const fb::Step *step : *entry.steps()) arena_spans(*s.plan, *step, touch);
    touched += count(entry.outputs());
    if (touched == 0) return {};

    const uint64_t bytes = touched * (2 * sizeof(uint64_t) + sizeof(Span) + 2 * sizeof(uint32_t));
    const Memory &memory = *s.request.memory;
    void *scratch = memory.allocate(memory.context, bytes);
    if (!scratch) {
        Broken b;
        b.no_memory = true;
        b.a = bytes;
        return b;
    }
    uint64_t *edges = static_cast<uint64_t *>(scratch);
    Span *writes = reinterpret_cast<Span *>(edges + 2 * touched);
    uint32_t *last = reinterpret_cast<uint32_t *>(writes + touched);

    uint32_t n = 0;
    auto edge = [&](const Span &span, bool = false) { edges[n++] = span.begin, edges[n++] = span.end; };
    input_spans(entry, edge);
    for (const fb::Step *step : *entry.steps()) arena_spans(*s.plan, *step, edge);
    for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        uint64_t port_bytes;
        if (port.place()->space() == fb::Space::arena && rows_span(port.rows(), port.row_bytes(), uint64_t{port.width()} * 4, &port_bytes))
            edge(span_of(*port.place(), 1, port_bytes));
    }
    std::sort(edges, edges + n);
    n = static_cast<uint32_t>(std::unique(edges, edges + n) - edges);

    Replay replay(edges, n, writes, last, work);
    Broken result;
    for (uint64_t block = 0; block < entry.period() && !result; ++block) result = replay_block(s, entry, block, replay, work);
    memory.release(memory.context, scratch, bytes);
    return result;
}

// A kernel may read and write the same bytes only where it was built to: input and output are then the very same place.
Broken in_place_pairs(const fb::Plan &plan, const fb::Step &step, uint32_t index) {
    const auto &args = *plan.kernels()->Get(step.kernel())->args();
    for (uint32_t o = 0; o < args.size(); ++o) {
        if (args.Get(o)->kind() != fb::ArgKind::output) continue;
        const fb::Place &to = *step.args()->Get(o)->place();
        if (to.space() != fb::Space::arena) continue;
        const Span written = span_of(step, *args.Get(o), *step.args()->Get(o));
        for (uint32_t i = 0; i < args.size(); ++i) {
            if (args.Get(i)->kind() != fb::ArgKind::input) continue;
            const fb::Place &from = *step.args()->Get(i)->place();
            if (from.space() != fb::Space::arena) continue;
            const Span read = span_of(step, *args.Get(i), *step.args()->Get(i));
            const bool in_place = same_place(from, to) && read.end == written.end;
            if (overlap(read, written) && !in_place) return broken(10, "an output overlaps an input of its own step: step, argument", index, o);
        }
    }
    return {};
}

} // namespace

Broken v10_lifetimes(const Subject &s) {
    uint64_t work = 0;
    for (const fb::Entry *entry : *s.plan->entries()) {
        for (uint32_t i = 0; i < entry->steps()->size(); ++i)
            if (entry->steps()->Get(i)->kind() == fb::StepKind::call)
                if (Broken b = in_place_pairs(*s.plan, *entry->steps()->Get(i), i)) return b;
        if (Broken b = lifetimes_of(s, *entry, &work)) return b;
    }
    return {};
}

Broken v14_single_writes(const Subject &s) {
    for (const fb::Entry *entry : *s.plan->entries())
        for (uint32_t i = 0; i < entry->steps()->size(); ++i) {
            const fb::Step &step = *entry->steps()->Get(i);
            if (step.kind() != fb::StepKind::call) {
                const uint64_t bytes = step.kind() == fb::StepKind::zero ? step.bytes() : uint64_t{step.rows()} * step.row_bytes();
                if (step.tiles() > 1 && step.args()->Get(0)->place()->tile_bytes() < bytes)
                    return broken(14, "tiles of a zero step overlap: step, bytes", i, bytes);
                continue;
            }
            const auto &args = *s.plan->kernels()->Get(step.kernel())->args();
            for (uint32_t o = 0; o < args.size(); ++o) {
                if (args.Get(o)->kind() != fb::ArgKind::output) continue;
                const fb::Place &place = *step.args()->Get(o)->place();
                if (step.tiles() > 1 && place.tile_bytes() == 0) return broken(14, "tiles write the same bytes: step, argument", i, o);
                for (uint32_t p = 0; p < o; ++p) {
                    if (args.Get(p)->kind() != fb::ArgKind::output || step.args()->Get(p)->place()->space() != place.space()) continue;
                    if (overlap(span_of(step, *args.Get(o), *step.args()->Get(o)), span_of(step, *args.Get(p), *step.args()->Get(p))))
                        return broken(14, "two outputs of a step overlap: step, argument", i, o);
                }
            }
        }
    return {};
}

} // namespace longwave::artifact
