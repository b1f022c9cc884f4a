// Caches: what an entry derives from the past for its own block, such as spectra. The runtime makes
// them from the state.
//
// A cache is good for one tick, a multiple of its entry's block: the one up to which that entry has
// run, or would have. Running a block moves it on. When another entry has run in between it is
// stale, and the entry may not run before `rebuild`: in prefill for every entry taken up, in load
// and copy for those that push will come to. While push catches up through smaller blocks, the
// caches ahead are kept current: behind each block of theirs that is complete, the steps that enter
// new input into the cache (replay_to 0) run for that one block, so that push itself never
// rebuilds.
#include "runtime/stream/caches.h"

namespace longwave::runtime {
namespace {

uint64_t &cache_tick(lw_stream &stream, const StreamEntry &entry) {
    return stream.cache_ticks[&entry - stream.model->streams.begin()];
}

bool replay(lw_stream &stream, const StreamEntry &entry, uint32_t step, uint64_t firing) {
    return failed_if(stream, stream.device().rebuild(*stream.session, entry.index, step, firing)) == LW_OK;
}

uint32_t rebuild_steps(const StreamEntry &entry) {
    return entry.entry->rebuild() ? entry.entry->rebuild()->size() : 0;
}

const fb::Step &rebuild_step(const StreamEntry &entry, uint32_t i) { return *entry.entry->rebuild()->Get(i); }

bool fires_in(const fb::Step &step, uint64_t block) { return block % step.period() == step.phase(); }

// Firings [first, end) of a step.
struct Firings {
    uint64_t first, end;
    bool has(uint64_t firing) const { return first <= firing && firing < end; }
};

// The firings that run again to make the cache as it is before `block`.
Firings replayed(const fb::Step &step, uint64_t block) {
    const uint64_t before = block / step.period() + (block % step.period() > step.phase());
    const auto back = [before](uint64_t firings) { return before > firings ? before - firings : 0; };
    return {back(step.replay_from()), back(step.replay_to())};
}

// The first block in which a firing runs again to make the cache as it is before `block`.
uint64_t first_replayed_block(const StreamEntry &entry, uint64_t block) {
    uint64_t first = block;
    for (uint32_t i = 0; i < rebuild_steps(entry); ++i) {
        const fb::Step &step = rebuild_step(entry, i);
        const Firings again = replayed(step, block);
        const uint64_t of_step = again.first * step.period() + step.phase();
        if (again.first < again.end && of_step < first) first = of_step;
    }
    return first;
}

// As if the block before `tick` had run, for a cache that is good for its beginning.
bool advance(lw_stream &stream, const StreamEntry &entry, uint64_t tick) {
    const uint64_t block = tick / entry.block - 1;
    for (uint32_t i = 0; i < rebuild_steps(entry); ++i) {
        const fb::Step &step = rebuild_step(entry, i);
        if (step.replay_to() != 0 || !fires_in(step, block)) continue;
        if (!replay(stream, entry, i, block / step.period())) return false;
    }
    cache_tick(stream, entry) = tick;
    return true;
}

} // namespace

bool rebuild(lw_stream &stream, const StreamEntry &entry) {
    if (!entry.cached()) return true;
    const uint64_t now = stream.state->done / entry.block;
    if (cache_tick(stream, entry) == now * entry.block) return true;
    stream.device().clear(*stream.session, {fb::Space::cache, entry.index, 0, entry.entry->cache_bytes()});
    // Block by block, as they ran: a step may take up what another left.
    for (uint64_t block = first_replayed_block(entry, now); block < now; ++block)
        for (uint32_t i = 0; i < rebuild_steps(entry); ++i) {
            const fb::Step &step = rebuild_step(entry, i);
            const uint64_t firing = block / step.period();
            if (!fires_in(step, block) || !replayed(step, now).has(firing)) continue;
            if (!replay(stream, entry, i, firing)) return false;
        }
    cache_tick(stream, entry) = now * entry.block;
    return true;
}

bool take_over(lw_stream &stream) {
    for (const StreamEntry &entry : stream.model->streams)
        if (stream.model->streams.ahead(*stream.own, stream.state->done, entry) && !rebuild(stream, entry))
            return false;
    return true;
}

bool keep_current(lw_stream &stream) {
    const uint64_t tick = stream.state->done;
    for (const StreamEntry &entry : stream.model->streams) {
        if (!entry.cached() || stream.own->block % entry.block != 0 || tick % entry.block != 0) continue;
        if (cache_tick(stream, entry) == tick - entry.block && !advance(stream, entry, tick)) return false;
    }
    return true;
}

} // namespace longwave::runtime
