// V12 for places and ports: which bytes an entry may touch, and where its inputs and outputs lie.
#include "formats/artifact/geometry.h"
#include "formats/artifact/places.h"
#include "formats/artifact/rules.h"

namespace longwave::artifact {

// ---- places ----

static uint64_t space_bytes(const Scene &scene, fb::Space space) {
    switch (space) {
    case fb::Space::weights: return scene.plan.weights_bytes();
    case fb::Space::derived: return scene.plan.derived_bytes();
    case fb::Space::state: return scene.stream() ? scene.plan.state_bytes() : 0;
    case fb::Space::arena: return scene.entry.arena_bytes();
    case fb::Space::cache: return scene.stream() ? scene.entry.cache_bytes() : 0;
    }
    return 0;
}

static bool writable(const Scene &scene, fb::Space space) {
    if (space == fb::Space::derived) return scene.entry.kind() == fb::EntryKind::prepare;
    if (space == fb::Space::state)
        return scene.stream() && !scene.rebuild; // a rebuild takes the record as it is
    if (space == fb::Space::cache) return scene.stream();
    return space == fb::Space::arena;
}

// The last field that begins at or before `begin` holds everything up to `end`.
static bool inside_field(const fb::Plan &plan, uint64_t begin, uint64_t end) {
    uint32_t low = 0, high = count(plan.state());
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        (plan.state()->Get(middle)->offset() <= begin ? low : high) = middle;
    }
    uint64_t bytes;
    if (high == 0 || !field_bytes(*plan.state()->Get(low), &bytes)) return false;
    const uint64_t field = plan.state()->Get(low)->offset();
    return field <= begin && end <= field + bytes;
}

const char *place_fault(const Scene &scene, const fb::Place &place, uint64_t span, uint64_t alignment,
                        bool write) {
    if (place.slots() < 1 || place.slots() > cap::slots) return "number of slots";
    uint64_t end;
    if (!place_end(place, scene.tiles, span, &end) || end > space_bytes(scene, place.space()))
        return "reaches outside its space";
    if (place.space() == fb::Space::state && !inside_field(scene.plan, place.offset(), end))
        return "reaches outside its field of the state";
    if (place.slots() > 1 && write && place.slot_bytes() == 0) return "written slots fall together";
    const bool aligned = place.offset() % alignment == 0 &&
                         (place.slots() == 1 || place.slot_bytes() % alignment == 0) &&
                         (scene.tiles == 1 || place.tile_bytes() % alignment == 0);
    if (!aligned) return "is not aligned as the kernel expects";
    if (write && !writable(scene, place.space())) return "is written, but its space is read only here";
    return nullptr;
}

// ---- ports ----

// In a stream the place is a ring: tick t lies at row t mod (slots·rows).
static Broken ring_rule(const fb::InputPort &port, const fb::Entry &first, uint32_t index) {
    const fb::Place &place = *port.place(), &other = *first.inputs()->Get(index)->place();
    const uint64_t block_bytes = uint64_t{port.rows()} * port.row_bytes();
    if ((place.slots() > 1 && place.slot_bytes() != block_bytes) || place.slot_add() != 0)
        return broken(12, "slots of an input are not the blocks of a ring: port, bytes", index,
                      place.slot_bytes());
    const fb::InputPort &first_port = *first.inputs()->Get(index);
    if (place.offset() != other.offset() || port.row_bytes() != first_port.row_bytes() ||
        uint64_t{place.slots()} * port.rows() != uint64_t{other.slots()} * first_port.rows())
        return broken(12, "two streams have their input in different rings: port, offset", index,
                      place.offset());
    return {};
}

static Broken input_rule(const Scene &scene, const fb::InputPort &port, uint32_t index) {
    const uint64_t used = uint64_t{scene.plan.inputs()->Get(port.input())->width()} * 4;
    uint64_t span;
    if (port.rows() != scene.entry.block())
        return broken(12, "rows of an input port: port, rows", index, port.rows());
    if (port.row_bytes() < used || port.row_bytes() % 4 != 0)
        return broken(12, "row bytes of an input port: port, bytes", index, port.row_bytes());
    const fb::Space wanted = scene.stream() ? fb::Space::state : fb::Space::arena;
    if (port.place()->space() != wanted)
        return broken(12, "space of an input port: port, space", index,
                      static_cast<uint64_t>(port.place()->space()));
    if (!rows_span(port.rows(), port.row_bytes(), port.row_bytes(), &span))
        return broken(12, "size of an input port: port", index);
    if (const char *fault = place_fault(scene, *port.place(), span, 4, true)) return broken(12, fault, index);
    if (!scene.stream() && port.place()->slots() > 1)
        return broken(12, "slots of an input port of a run: port, slots", index, port.place()->slots());
    return {};
}

// As many rows in a firing as its blocks have ticks of this clock. Where streams take turns, each
// firing is that of the ticks that end with it, so that all of them have brought the same rows by
// any tick they share.
static Broken rows_of_stream(const Scene &scene, const fb::OutputPort &port, bool alone, uint32_t index) {
    const uint64_t ticks = uint64_t{port.period()} * scene.entry.block();
    uint64_t product = 0;
    if (port.clock_num() < 1 || !checked::mul(ticks, port.clock_num(), &product) ||
        product != uint64_t{port.rows()} * port.clock_den())
        return broken(12, "rows of an output do not fit its clock: port, rows", index, port.rows());
    if (!alone && port.phase() != port.period() - 1)
        return broken(12, "an output of several streams that does not end its period: port, phase", index,
                      port.phase());
    return {};
}

static uint64_t in_wholes(uint64_t ticks, uint64_t whole) { return ticks - ticks % whole; }

static Broken output_rule(const Scene &scene, const fb::OutputPort &port, bool alone, uint32_t index) {
    uint64_t span;
    if (port.width() < 1 || port.width() > cap::extent || port.rows() < 1)
        return broken(12, "rows or width of an output: port, width", index, port.width());
    if (port.row_bytes() < uint64_t{port.width()} * 4 || port.row_bytes() % 4 != 0)
        return broken(12, "row bytes of an output: port, bytes", index, port.row_bytes());
    if (port.phase() >= port.period()) // V6 has looked at the period
        return broken(12, "phase of an output: port, phase", index, port.phase());
    if (port.clock_den() < 1) return broken(12, "clock of an output: port", index);
    if (port.whole() < 1) return broken(12, "rows of an output for no ticks: port", index);
    if (scene.stream()) {
        if (Broken b = rows_of_stream(scene, port, alone, index)) return b;
    } else {
        const uint64_t rows = port.clock_num() == 0 ? 1
                                                    : in_wholes(scene.entry.block(), port.whole()) *
                                                          port.clock_num() / port.clock_den();
        if (port.clock_num() > cap::extent || port.rows() < rows)
            return broken(12, "rows of an output: port, rows", index, port.rows());
    }
    const fb::Space space = port.place()->space();
    if (space != fb::Space::arena && !(scene.stream() && space == fb::Space::state))
        return broken(12, "space of an output: port, space", index, static_cast<uint64_t>(space));
    if (!rows_span(port.rows(), port.row_bytes(), uint64_t{port.width()} * 4, &span))
        return broken(12, "size of an output: port", index);
    if (const char *fault = place_fault(scene, *port.place(), span, 4, false))
        return broken(12, fault, index);
    return {};
}

Broken v12_ports(const Subject &s, const fb::Entry &entry) {
    const Scene scene{*s.plan, entry};
    const bool run = entry.kind() == fb::EntryKind::run;
    const uint32_t ports = count(entry.inputs()), wanted = run              ? s.plan->inputs()->size()
                                                           : scene.stream() ? 1
                                                                            : 0;
    if (ports != wanted) return broken(12, "input ports of an entry: found, expected", ports, wanted);
    if (entry.kind() == fb::EntryKind::prepare ? count(entry.outputs()) != 0 : count(entry.outputs()) == 0)
        return broken(12, "output ports of an entry: found", count(entry.outputs()));
    const fb::Entry *first = nullptr; // stream
    uint32_t streams = 0;
    for (const fb::Entry *other : *s.plan->entries())
        if (other->kind() == fb::EntryKind::stream && streams++ == 0) first = other;
    for (uint32_t i = 0; i < ports; ++i) {
        const fb::InputPort &port = *entry.inputs()->Get(i);
        if (run && port.input() != i)
            return broken(12, "input ports of a run are not in the inputs' order: port", i);
        if (Broken b = input_rule(scene, port, i)) return b;
        if (scene.stream())
            if (Broken b = ring_rule(port, *first, i)) return b;
    }
    for (uint32_t i = 0; i < count(entry.outputs()); ++i)
        if (Broken b = output_rule(scene, *entry.outputs()->Get(i), streams <= 1, i)) return b;
    return {};
}

} // namespace longwave::artifact
