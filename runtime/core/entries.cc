#include "runtime/core/entries.h"
#include "formats/artifact/geometry.h"
#include <new>

namespace longwave::runtime {

bool planned_for(const fb::Entry &entry, fb::EntryKind kind, fb::DeviceKind device) {
    return entry.kind() == kind && entry.device() == device;
}

bool ours(const ModelSource &source, const fb::Entry &entry, fb::EntryKind kind) {
    return entry.kind() == kind && (of_cpu(entry) || (source.device && artifact::mixed(entry)));
}

void StreamEntries::build(const fb::Plan &plan, fb::DeviceKind device, Parts &parts) {
    n_ = 0;
    for (const fb::Entry *entry : *plan.entries()) n_ += planned_for(*entry, fb::EntryKind::stream, device);
    entries_ = parts.take<StreamEntry>(n_);
    uint32_t next = 0;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (!planned_for(entry, fb::EntryKind::stream, device)) continue;
        const uint32_t outputs = artifact::count(entry.outputs());
        Rows *rows = parts.take<Rows>(outputs);
        if (!entries_) continue; // only measuring
        StreamEntry &stream = *new (entries_ + next++) StreamEntry{&entry, e, entry.block(), rows};
        for (uint32_t i = 0; i < outputs; ++i) {
            new (rows + i) Rows(*entry.outputs()->Get(i), entry.block());
            stream.rows_per_block += entry.outputs()->Get(i)->rows();
        }
        if (least_ == 0 || stream.block < least_) least_ = stream.block;
        if (stream.block > largest_) largest_ = stream.block;
    }
    if (!entries_ || n_ == 0) return;
    const fb::InputPort &port = *entries_[0].entry->inputs()->Get(0);
    ring_ = {port.place()->offset(), uint64_t{port.place()->slots()} * port.rows(), port.row_bytes()};
}

const StreamEntry &StreamEntries::at(const StreamEntry &own, uint64_t tick) const {
    if (tick % own.block == 0) return own;
    const StreamEntry *best = nullptr;
    for (const StreamEntry &entry : *this)
        if (own.block % entry.block == 0 && tick % entry.block == 0 && (!best || entry.block > best->block))
            best = &entry;
    return best ? *best : own; // there is one: ticks are multiples of the least block, and so are all blocks
}

bool StreamEntries::ahead(const StreamEntry &own, uint64_t tick, const StreamEntry &entry) const {
    if (&entry == &own) return true;
    // From there on it is this one, or a larger.
    const uint64_t first = (tick + entry.block - 1) / entry.block * entry.block;
    const uint64_t until = (tick + own.block - 1) / own.block * own.block;
    return first < until && &at(own, first) == &entry;
}

const StreamEntry &StreamEntries::largest(const StreamEntry &own, uint64_t tick, uint64_t ticks,
                                          uint64_t most) const {
    const StreamEntry *best = &own;
    for (const StreamEntry &entry : *this)
        if (entry.block % own.block == 0 && tick % entry.block == 0 && entry.block + own.block <= ticks &&
            entry.block > best->block && entry.block <= most)
            best = &entry;
    return *best;
}

uint64_t StreamEntries::rows_per_block(const StreamEntry &own) const {
    uint64_t most = 0;
    for (const StreamEntry &entry : *this)
        if (own.block % entry.block == 0 && entry.rows_per_block > most) most = entry.rows_per_block;
    return most;
}

uint64_t StreamEntries::most_rows() const {
    uint64_t most = 0;
    for (const StreamEntry &entry : *this) most = entry.rows_per_block > most ? entry.rows_per_block : most;
    return most;
}

} // namespace longwave::runtime
