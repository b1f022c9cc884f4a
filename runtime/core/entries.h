// The stream entries of a model, and which of them runs at which tick.
//
// Any entry may run at a tick that its block divides. A stream belongs to one of them, its own:
//   - at a tick that is a multiple of its block it runs its own entry;
//   - at another (after a state saved under a smaller block was loaded) the largest entry whose
//     block divides both the tick and its own block. Such an entry goes on fitting until a larger
//     one takes over, so entries only grow until the own is reached, and each is taken up at most
//     once.
// That is a function of the stream's options and the tick alone: never of how much was pushed.
#pragma once
#include "formats/artifact/schema.h"
#include "runtime/core/device.h"
#include "runtime/core/memory.h"
#include "runtime/core/rows.h"
#include <cstdint>

namespace longwave::runtime {

// Whether the entry is of this kind and for this kind of device.
[[gnu::noinline]] bool planned_for(const fb::Entry &entry, fb::EntryKind kind, fb::DeviceKind device);

// Whether the CPU computes the entry, or a part of a mixed one.
[[gnu::noinline]] bool ours(const ModelSource &source, const fb::Entry &entry, fb::EntryKind kind);

struct StreamEntry {
    const fb::Entry *entry = nullptr;
    uint32_t index = 0; // in the plan
    uint64_t block = 0;
    Rows *rows = nullptr;        // of each output
    uint64_t rows_per_block = 0; // the most rows that one block brings
    bool cached() const { return entry->cache_bytes() > 0; }
};

// The ring of pending and past input: tick t at row t mod `ticks`, the same for every entry.
struct InputRing {
    uint64_t offset = 0, ticks = 0, row_bytes = 0;
    uint64_t at(uint64_t tick) const { return offset + tick % ticks * row_bytes; }
};

class StreamEntries {
public:
    // Those of one kind of device. Takes its memory from `parts`, which may only measure.
    void build(const fb::Plan &plan, fb::DeviceKind device, Parts &parts);

    uint32_t size() const { return n_; }
    const StreamEntry &operator[](uint32_t i) const { return entries_[i]; }
    const StreamEntry *begin() const { return entries_; }
    const StreamEntry *end() const { return entries_ + n_; }
    const InputRing &ring() const { return ring_; }
    uint64_t least_block() const { return least_; }
    uint64_t largest_block() const { return largest_; }

    // What push runs at this tick.
    const StreamEntry &at(const StreamEntry &own, uint64_t tick) const;
    // Whether push may come to run `entry` between this tick and the next multiple of the own
    // block.
    bool ahead(const StreamEntry &own, uint64_t tick, const StreamEntry &entry) const;
    // What prefill runs at a multiple of the own block, with `ticks` at hand (at least a block of
    // the own): the largest entry of at most `most` that fits and leaves the own one a block to end with.
    const StreamEntry &largest(const StreamEntry &own, uint64_t tick, uint64_t ticks, uint64_t most) const;
    // The most rows a block that push runs may bring.
    uint64_t rows_per_block(const StreamEntry &own) const;
    // The most rows that a block of any entry may bring.
    uint64_t most_rows() const;

private:
    StreamEntry *entries_ = nullptr;
    uint32_t n_ = 0;
    InputRing ring_;
    uint64_t least_ = 0, largest_ = 0;
};

} // namespace longwave::runtime
