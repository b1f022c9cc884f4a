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

// Firings of a step before `block`.
uint64_t firings_before(const fb::Step &step, uint64_t block) {
    return block / step.period() + (block % step.period() > step.phase());
}

// As if the block before `tick` had run, for a cache that is good for its beginning.
bool advance(lw_stream &stream, const StreamEntry &entry, uint64_t tick) {
    const uint64_t block = tick / entry.block - 1;
    for (uint32_t i = 0; i < rebuild_steps(entry); ++i) {
        const fb::Step &step = *entry.entry->rebuild()->Get(i);
        if (step.replay_to() != 0 || block % step.period() != step.phase()) continue;
        if (!replay(stream, entry, i, block / step.period())) return false;
    }
    cache_tick(stream, entry) = tick;
    return true;
}

} // namespace

bool rebuild(lw_stream &stream, const StreamEntry &entry) {
    if (!entry.cached()) return true;
    const uint64_t block = stream.state->done / entry.block;
    if (cache_tick(stream, entry) == block * entry.block) return true;
    stream.device().clear(*stream.session, {fb::Space::cache, entry.index, 0, entry.entry->cache_bytes()});
    uint64_t first = block;
    for (uint32_t i = 0; i < rebuild_steps(entry); ++i) {
        const fb::Step &step = *entry.entry->rebuild()->Get(i);
        const uint64_t back = uint64_t{step.replay_from()} * step.period() + step.period();
        first = back < block ? (block - back < first ? block - back : first) : 0;
    }
    // Block by block, as they ran: a step may take up what another left.
    for (uint64_t b = first; b < block; ++b)
        for (uint32_t i = 0; i < rebuild_steps(entry); ++i) {
            const fb::Step &step = *entry.entry->rebuild()->Get(i);
            if (b % step.period() != step.phase()) continue;
            const uint64_t firing = b / step.period(), firings = firings_before(step, block);
            if (firing + step.replay_from() < firings || firing + step.replay_to() >= firings) continue;
            if (!replay(stream, entry, i, firing)) return false;
        }
    cache_tick(stream, entry) = block * entry.block;
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
