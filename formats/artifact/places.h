// Which bytes an entry's steps may touch; private to the rules.
#pragma once
#include "formats/artifact/schema.h"
#include <cstdint>

namespace longwave::artifact {

// Where a place is looked at: an entry, or the rebuild of its cache, and how many tiles the step
// has.
struct Scene {
    const fb::Plan &plan;
    const fb::Entry &entry;
    bool rebuild = false;
    uint32_t tiles = 1;
    bool mixed = false;

    bool stream() const { return entry.kind() == fb::EntryKind::stream; }
};

// Null when every byte of every slot and tile lies inside its space (in the state: inside one
// field), aligned, and may be touched this way.
const char *place_fault(const Scene &scene, const fb::Place &place, uint64_t span, uint64_t alignment,
                        bool write);

} // namespace longwave::artifact
