// V10: what is read from the arena was written in the same block, and nothing live was run into.
//
// The steps are looked at once, in order, as if all of them fired. The arena's bytes are cut at
// every edge of every span that is touched; each piece remembers which write was last. A read must
// find every piece written, by something that fires whenever the reader does: then the last write
// here is the last write in every block the reader fires in, for fewer writes come between in
// those. And no two of its pieces may come from writes that overlap without one containing the
// other: that is how a tensor looks that another one has run into.
//
// A mixed entry has two arenas, one for its ports and the CPU's steps, one for the device's. What
// moves from one to the other is written there as far as it was written here: the rest stays what
// nobody may read.
#include "formats/artifact/rules.h"
#include "formats/artifact/sort.h"
#include "formats/artifact/spans.h"
#include <algorithm>

namespace longwave::artifact {
namespace {

// In which blocks something happens: those b with b mod period = phase.
struct Rhythm {
    uint32_t period = 1, phase = 0;
};
bool whenever(const Rhythm &a, const Rhythm &b) {
    return b.period % a.period == 0 && b.phase % a.period == a.phase;
}

struct Write {
    Span span;
    Rhythm rhythm;
};

enum class Touch { reads, writes, arrives }; // arrives: from the other arena

// Calls visit(span, rhythm, touch, on_device) for everything an entry does to its arena, in order,
// and says before each step which one it is. Within a step reads come first, as a kernel's inputs
// are complete before its outputs begin.
template <class Step, class Visit>
void walk(const fb::Plan &plan, const fb::Entry &entry, bool mixed, Step begin, Visit visit) {
    for (uint32_t i = 0; i < count(entry.inputs()); ++i) {
        const fb::InputPort &port = *entry.inputs()->Get(i);
        if (port.place()->space() == fb::Space::arena)
            visit(span_of(*port.place(), 1, uint64_t{port.rows()} * port.row_bytes()), Rhythm{},
                  Touch::writes, false);
    }
    for (uint32_t i = 0; i < entry.steps()->size(); ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        const Rhythm rhythm{step.period(), step.phase()};
        if (!begin(i)) return;
        const bool on_device = mixed && !step.cpu() && step.kind() != fb::StepKind::to_cpu;
        if (step.kind() != fb::StepKind::call) {
            const fb::Place &place = *step.args()->Get(0)->place();
            // A tail keeps the rows before: they must be there already.
            const Touch touch = moves(step)                              ? Touch::arrives
                                : step.kind() == fb::StepKind::zero_tail ? Touch::reads
                                                                         : Touch::writes;
            if (place.space() == fb::Space::arena)
                visit(span_of(place, step.tiles(), cleared_bytes(step)), rhythm, touch, on_device);
            continue;
        }
        const auto &args = *plan.kernels()->Get(step.kernel())->args();
        for (const bool write : {false, true})
            for (uint32_t a = 0; a < args.size(); ++a)
                if ((write ? writes : reads)(args.Get(a)->kind()) &&
                    step.args()->Get(a)->place()->space() == fb::Space::arena)
                    visit(span_of(step, *args.Get(a), *step.args()->Get(a)), rhythm,
                          write ? Touch::writes : Touch::reads, on_device);
    }
    if (!begin(entry.steps()->size())) return;
    for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        uint64_t bytes;
        if (port.place()->space() == fb::Space::arena &&
            rows_span(port.rows(), port.row_bytes(), uint64_t{port.width()} * 4, &bytes))
            visit(span_of(*port.place(), 1, bytes), Rhythm{port.period(), port.phase()}, Touch::reads, false);
    }
}

struct Writes {
    Write *list;
    uint32_t n = 0;
};

// An arena in pieces.
class Arena {
public:
    Arena(uint64_t *edges, uint32_t n_edges, Writes &writes, uint32_t *last, uint64_t *work)
        : edges_(edges), n_edges_(n_edges), writes_(writes), last_(last), work_(work) {
        std::fill(last_, last_ + n_edges_, none);
    }

    void write(const Span &span, const Rhythm &rhythm) {
        for (uint32_t i = index(span.begin); i < n_edges_ && edges_[i] < span.end; ++i, ++*work_)
            last_[i] = writes_.n;
        writes_.list[writes_.n++] = {span, rhythm};
    }
    // Both arenas are cut at the same edges.
    void arrive(const Arena &from, const Span &span, const Rhythm &rhythm) {
        for (uint32_t i = index(span.begin); i < n_edges_ && edges_[i] < span.end; ++i, ++*work_)
            last_[i] = from.last_[i] == none ? none : writes_.n;
        writes_.list[writes_.n++] = {span, rhythm};
    }
    // Null when all of it was written and nothing ran into it.
    const char *read(const Span &span, const Rhythm &rhythm) {
        uint32_t before = none;
        for (uint32_t i = index(span.begin); i < n_edges_ && edges_[i] < span.end; ++i, ++*work_) {
            const uint32_t now = last_[i];
            if (now == none || !whenever(writes_.list[now].rhythm, rhythm))
                return "arena bytes are read in a block that did not write them: step, byte";
            if (before != none && before != now) {
                const Span &a = writes_.list[before].span, &b = writes_.list[now].span;
                if (overlap(a, b) && !contains(a, b) && !contains(b, a))
                    return "arena bytes that are still needed were overwritten: step, byte";
            }
            before = now;
        }
        return nullptr;
    }

private:
    static constexpr uint32_t none = 0xffffffff;
    uint32_t index(uint64_t edge) const {
        return static_cast<uint32_t>(std::lower_bound(edges_, edges_ + n_edges_, edge) - edges_);
    }

    uint64_t *edges_;
    uint32_t n_edges_;
    Writes &writes_;
    uint32_t *last_; // per piece: its last write
    uint64_t *work_;
};

Broken follow(const Subject &s, const fb::Entry &entry, bool mixed, Arena *arenas, uint64_t *work) {
    const uint64_t limit = cap::work * s.header->plan_bytes;
    Broken result;
    uint32_t step = 0;
    const auto begin = [&](uint32_t i) {
        step = i;
        ++*work;
        return !result;
    };
    walk(*s.plan, entry, mixed, begin,
         [&](const Span &span, const Rhythm &rhythm, Touch touch, bool on_device) {
             if (result) return;
             Arena &arena = arenas[on_device];
             if (touch == Touch::arrives) arena.arrive(arenas[!on_device], span, rhythm);
             else if (touch == Touch::writes) arena.write(span, rhythm);
             else if (const char *fault = arena.read(span, rhythm))
                 result = broken(10, fault, step, span.begin);
             if (!result && ++*work > limit)
                 result = broken(10, "lifetimes are too tangled to check: work, limit", *work, limit);
         });
    return result;
}

Broken lifetimes_of(const Subject &s, const fb::Entry &entry, uint64_t *work) {
    const auto every = [](uint32_t) { return true; };
    const bool two = mixed(entry);
    uint64_t touched = 0;
    walk(*s.plan, entry, two, every, [&](const Span &, const Rhythm &, Touch, bool) { ++touched; });
    *work += touched + entry.steps()->size();
    if (touched == 0) return {};

    const uint64_t bytes =
        touched * (2 * sizeof(uint64_t) + sizeof(Write) + (two ? 4 : 2) * sizeof(uint32_t));
    const Memory &memory = *s.request.memory;
    void *scratch = bytes > SIZE_MAX / 2 ? nullptr : memory.allocate(memory.context, bytes);
    if (!scratch) {
        Broken b;
        b.no_memory = true;
        b.a = bytes;
        return b;
    }
    uint64_t *edges = static_cast<uint64_t *>(scratch);
    Writes writes{reinterpret_cast<Write *>(edges + 2 * touched)};
    uint32_t *last = reinterpret_cast<uint32_t *>(writes.list + touched);

    uint32_t n = 0;
    walk(*s.plan, entry, two, every, [&](const Span &span, const Rhythm &, Touch, bool) {
        edges[n++] = span.begin;
        edges[n++] = span.end;
    });
    sort(edges, n);
    n = static_cast<uint32_t>(std::unique(edges, edges + n) - edges);
    *work += n;

    Arena arenas[2] = {{edges, n, writes, last, work},
                       {edges, two ? n : 0, writes, last + (two ? n : 0), work}};
    const Broken result = follow(s, entry, two, arenas, work);
    memory.release(memory.context, scratch, bytes);
    return result;
}

} // namespace

Broken v10_lifetimes(const Subject &s) {
    uint64_t work = 0;
    Broken result;
    for (const fb::Entry *entry : *s.plan->entries())
        if ((result = lifetimes_of(s, *entry, &work))) break;
    if (s.request.work) *s.request.work += work;
    return result;
}

} // namespace longwave::artifact
