// The streams go through the steps side by side. While they do, their arenas are those of the batch, which
// lie equally far apart: so a kernel for several streams finds the arguments of all in them. A call with
// such a kernel (joined_call.h) is made once for all. All other steps run stream by stream.
#include "runtime/cpu/batch.h"
#include "formats/artifact/geometry.h"
#include "runtime/cpu/joined_call.h"
#include "runtime/platform/kernels.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace longwave::runtime {

using artifact::count;

// The kernels for several streams of a step, in order of their streams.
struct JoinedCalls {
    JoinedCall *list = nullptr;
    uint32_t n = 0;
};

// An entry made ready for any streams.
struct ReadyEntry {
    Program program;
    Frame frame;
    JoinedCalls *joined = nullptr; // of each step
};

struct Batch {
    uint32_t most = 0;
    uint64_t apart = 0; // from an arena to the next
    uint8_t *arenas = nullptr, *copies = nullptr;
    Spaces *spaces = nullptr;      // of each stream
    ReadyEntry *entries = nullptr; // of each
    Scratch scratch;
    void *user_context = nullptr; // kernels get its address
};

namespace {

bool runs_here(const fb::Entry &entry) { return entry.kind() == fb::EntryKind::stream && of_cpu(entry); }

const flatbuffers::Vector<flatbuffers::Offset<fb::Together>> *kernels_of(const fb::Plan &plan,
                                                                         const fb::Step &step) {
    return step.kind() == fb::StepKind::call ? plan.kernels()->Get(step.kernel())->together() : nullptr;
}

uint32_t most_streams(const fb::Plan &plan) {
    uint32_t most = 1;
    for (const fb::Entry *entry : *plan.entries())
        for (uint32_t i = 0; runs_here(*entry) && i < entry->steps()->size(); ++i)
            if (const auto *list = kernels_of(plan, *entry->steps()->Get(i)); count(list) > 0)
                most = std::max<uint32_t>(most, list->Get(list->size() - 1)->streams()); // V13: they ascend
    return most;
}

uint64_t largest_arena(const fb::Plan &plan) {
    uint64_t largest = 0;
    for (const fb::Entry *entry : *plan.entries())
        if (runs_here(*entry)) largest = std::max(largest, entry->arena_bytes());
    return largest;
}

uint64_t scratch_of(const ModelSource &source) {
    const fb::Plan &plan = source.view->plan();
    uint64_t most = 0;
    for (const fb::Entry *entry : *plan.entries()) {
        if (!runs_here(*entry) || !source.variant) continue;
        most = std::max(most, scratch_needed(entry->steps(), source.variant));
        for (const fb::Step *step : *entry->steps())
            for (uint32_t t = 0; t < count(kernels_of(plan, *step)); ++t)
                most =
                    std::max(most, source.variant->scratch()->Get(kernels_of(plan, *step)->Get(t)->kernel()));
    }
    return most;
}

// Measures without `model` and memory.
uint64_t lay_out(const ModelSource &source, uint8_t *memory, const DeviceModel *model, Batch **out) {
    Parts parts(memory);
    const fb::Plan &plan = source.view->plan();
    const auto &entries = *plan.entries();
    const Kernel *kernels = model ? model->kernels : nullptr;
    Batch measured, *const made = parts.take<Batch>(1);
    Batch &batch = made ? *new (made) Batch{} : measured;
    batch.most = most_streams(plan);
    batch.apart = artifact::arena_apart(largest_arena(plan));
    batch.arenas = parts.take<uint8_t>(batch.most * batch.apart);
    batch.spaces = parts.take<Spaces>(batch.most);
    batch.entries = parts.take<ReadyEntry>(entries.size());
    batch.scratch = {parts.take<char>(scratch_of(source)), scratch_of(source), 0};
    batch.user_context = &batch.scratch;
    Spaces spaces;
    if (model) {
        spaces[fb::Space::weights] = const_cast<uint8_t *>(source.view->weights().data);
        spaces[fb::Space::derived] = model->derived.data;
        // Calls say whose.
        for (const fb::Space space : {fb::Space::state, fb::Space::arena, fb::Space::cache})
            spaces[space] = batch.arenas;
    }
    uint64_t copied = 0;
    for (uint32_t e = 0; e < entries.size(); ++e) {
        const fb::Entry &entry = *entries.Get(e);
        ReadyEntry unused;
        ReadyEntry &ready = batch.entries ? *new (batch.entries + e) ReadyEntry{} : unused;
        if (!runs_here(entry)) continue;
        ready.program.build(entry.steps(), kernels, parts, Program::Whose::any);
        ready.frame.build(entry.steps(), kernels, spaces, &batch.scratch, parts);
        ready.joined = parts.take<JoinedCalls>(entry.steps()->size());
        for (uint32_t i = 0; i < entry.steps()->size(); ++i) {
            const fb::Step &step = *entry.steps()->Get(i);
            const uint32_t n = count(kernels_of(plan, step));
            JoinedCall *const list = parts.take<JoinedCall>(n);
            if (ready.joined) new (ready.joined + i) JoinedCalls{list, n};
            for (uint32_t t = 0; t < n; ++t) {
                JoinedCall one;
                one.build(plan, step, t, kernels, spaces, batch.apart, &batch.user_context, parts);
                copied = std::max(copied, one.copied_bytes());
                if (list) new (list + t) JoinedCall(one);
            }
        }
    }
    batch.copies = parts.take<uint8_t>(copied);
    // Kernels compute places without a stream as well: with zeros at first.
    if (made) memset(batch.arenas, 0, batch.most * batch.apart);
    if (out) *out = made;
    return parts.used();
}

// The kernel for the next of n streams: the one that serves them all, if they fill half of it; else
// the largest that is full. `room`: streams whose arenas it may use. Null: one by one.
const JoinedCall *choose(const JoinedCalls &joined, uint32_t n, uint32_t room) {
    const JoinedCall *best = nullptr;
    for (uint32_t t = 0; t < joined.n; ++t) {
        const JoinedCall &many = joined.list[t];
        if (many.streams() <= n ||
            (many.streams() <= room && ((!best && 2 * n >= many.streams()) ||
                                        (best && best->streams() < n && 4 * n >= 3 * many.streams()))))
            best = &many;
    }
    return best;
}

// One tile of a call, for streams [first, end). The kernels may use the arenas up to `room`.
bool run_call(Batch &batch, ReadyEntry &ready, uint32_t i, const SideBySide &of, uint32_t first, uint32_t end,
              uint32_t room, uint32_t tile) {
    const Call &call = ready.program[i];
    while (first < end) {
        const uint32_t n = end - first;
        if (const JoinedCall *many = n > 1 ? choose(ready.joined[i], n, room - first) : nullptr) {
            const uint32_t now = std::min(n, many->streams());
            batch.scratch.used = 0;
            if (!many->run(call, of, first, now, tile, batch.copies)) return false;
            first += now;
        } else {
            const BatchMember &member = of.members[first];
            ready.frame.serve(of.spaces[first++]);
            if (!ready.program.run(call, ready.frame, member.block / call.period, tile, member.extent))
                return false;
        }
    }
    return true;
}

} // namespace

uint32_t batch_streams(const ModelSource &source) { return most_streams(source.view->plan()); }
uint64_t batch_bytes(const ModelSource &source) { return lay_out(source, nullptr, nullptr, nullptr); }

void begin_batch(const DeviceModel &model, uint8_t *memory, Batch **out) {
    lay_out(model.source, memory, &model, out);
}

lw_status run_batch(Batch &batch, uint32_t entry, const BatchMember *members, uint32_t n) {
    const platform::KernelMode mode;
    for (uint32_t m = 0; m < n; ++m) {
        Session &session = *members[m].session;
        session.newest = batch.arenas + m * batch.apart;
        batch.spaces[m] = spaces_of(session, entry, session.newest);
    }
    const SideBySide side_by_side = {batch.spaces, members};
    ReadyEntry &ready = batch.entries[entry];
    for (uint32_t i = 0; i < ready.program.size(); ++i) {
        const Call &call = ready.program[i];
        const auto fires = [&](uint32_t m) {
            return call.period == 1 || members[m].block % call.period == call.phase;
        };
        for (uint32_t first = 0, end; first < n; first = end) {
            const bool now = fires(first);
            for (end = first + 1; end < n && fires(end) == now;) ++end;
            const uint32_t room = end == n ? batch.most : end;
            for (uint32_t tile = 0; now && tile < call.tiles; ++tile)
                if (!run_call(batch, ready, i, side_by_side, first, end, room, tile))
                    return kernel_failed(call);
        }
    }
    return LW_OK;
}

} // namespace longwave::runtime
