// V12: every call matches its kernel and stays inside its memory. Kernels check nothing themselves, so nothing may pass here that could touch a byte
// outside the space it names, in any firing and any tile.
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"

namespace longwave::artifact {
namespace {

struct Scene {
    const fb::Plan &plan;
    const fb::Entry &entry;
    uint32_t tiles = 1;
};

bool stream(const fb::Entry &entry) { return entry.kind() == fb::EntryKind::stream; }

uint64_t space_bytes(const Scene &scene, fb::Space space) {
    switch (space) {
    case fb::Space::weights: return scene.plan.weights_bytes();
    case fb::Space::derived: return scene.plan.derived_bytes();
    case fb::Space::state: return stream(scene.entry) ? scene.plan.state_bytes() : 0;
    case fb::Space::arena: return scene.entry.arena_bytes();
    case fb::Space::cache: return stream(scene.entry) ? scene.entry.cache_bytes() : 0;
    }
    return 0;
}

bool writable(const Scene &scene, fb::Space space) {
    if (space == fb::Space::derived) return scene.entry.kind() == fb::EntryKind::prepare;
    if (space == fb::Space::state || space == fb::Space::cache) return stream(scene.entry);
    return space == fb::Space::arena;
}

// Every byte of every visit inside the space, every visit aligned.
const char *place_fault(const Scene &scene, const fb::Place &place, uint64_t span, uint64_t alignment, bool write) {
    if (place.slots() < 1 || place.slots() > cap::slots) return "number of slots";
    uint64_t end;
    if (!place_end(place, scene.tiles, span, &end) || end > space_bytes(scene, place.space())) return "reaches outside its space";
    if (place.slots() > 1 && write && place.slot_bytes() == 0) return "written slots fall together";
    const bool aligned = place.offset() % alignment == 0 && (place.slots() == 1 || place.slot_bytes() % alignment == 0) &&
                         (scene.tiles == 1 || place.tile_bytes() % alignment == 0);
    if (!aligned) return "is not aligned as the kernel expects";
    if (write && !writable(scene, place.space())) return "is written, but its space is read only here";
    return nullptr;
}

const char *scalar_fault(const Scene &scene, const fb::Scalar &scalar, int64_t high) {
    using Wide = __int128;
    Wide low = scalar.value(), top = scalar.value();
    auto extend = [&](Wide span) { (span < 0 ? low : top) += span; };
    switch (scalar.kind()) {
    case fb::ScalarKind::constant: break;
    case fb::ScalarKind::slot:
        if (scalar.modulus() < 1) return "scalar with modulus 0";
        extend(Wide(scalar.modulus() - 1) * scalar.mul());
        extend(Wide(scene.tiles - 1) * scalar.tile_mul());
        break;
    case fb::ScalarKind::length:
        if (scene.entry.kind() != fb::EntryKind::run) return "a length outside a run entry";
        if (scalar.modulus() < 1 || scalar.mul() < 0 || scalar.tile_mul() < 0 || scalar.value() < 0)
            return "numbers of a length";
        low = 0;
        break;
    }
    if (low < INT32_MIN || top > INT32_MAX) return "scalar leaves the range of int32";
    if (high > 0 && (low < 0 || top > high)) return "scalar leaves the range its kernel accepts";
    return nullptr;
}

const char *binding_fault(const Scene &scene, const fb::KernelArg &arg, const fb::Binding &binding) {
    if (arg.kind() == fb::ArgKind::scalar) {
        if (!binding.scalar() || binding.place()) return "a scalar argument takes a scalar and nothing else";
        if (arg.elem() != fb::Elem::i32 || count(arg.dims()) != 0) return "a scalar argument is an int32 without dimensions";
        return scalar_fault(scene, *binding.scalar(), arg.high());
    }
    if (!binding.place() || binding.scalar()) return "a buffer argument takes a place and nothing else";
    const uint64_t element = bytes_of(elem_of(arg.elem())), alignment_wanted = arg.alignment() > element ? arg.alignment() : element;
    if ((alignment_wanted & (alignment_wanted - 1)) != 0 || alignment_wanted > segment_alignment) return "alignment is not a power of two up to 64";
    uint64_t span;
    if (!span_bytes(arg, &span)) return "size";
    return place_fault(scene, *binding.place(), span, alignment_wanted, arg.kind() != fb::ArgKind::input);
}

Broken step_rule(const Scene &scene, const fb::Step &step, uint32_t index) {
    if (step.period() < 1 || step.phase() >= step.period() || scene.entry.period() % step.period() != 0)
        return broken(12, "period and phase of a step: step, period", index, step.period());
    if (scene.entry.kind() != fb::EntryKind::stream && step.period() != 1)
        return broken(12, "a period outside a stream: step, period", index, step.period());
    if (step.kind() == fb::StepKind::call) {
        const fb::Kernel &kernel = *scene.plan.kernels()->Get(step.kernel());
        if (count(step.args()) != kernel.args()->size()) return broken(12, "number of arguments: step, arguments", index, count(step.args()));
        for (uint32_t a = 0; a < kernel.args()->size(); ++a)
            if (const char *fault = binding_fault(scene, *kernel.args()->Get(a), *step.args()->Get(a))) return broken(12, fault, index, a);
        return {};
    }
    if (count(step.args()) != 1 || !step.args()->Get(0)->place() || step.args()->Get(0)->scalar())
        return broken(12, "a zero step takes one place: step, arguments", index, count(step.args()));
    uint64_t span = step.bytes();
    if (step.kind() == fb::StepKind::zero_tail) {
        if (scene.entry.kind() != fb::EntryKind::run) return broken(12, "zero_tail outside a run entry: step", index);
        if (step.den() < 1 || !checked::mul(step.rows(), step.row_bytes(), &span))
            return broken(12, "rows of zero_tail: step, rows", index, step.rows());
    }
    if (span == 0) return broken(12, "a zero step clears nothing: step", index);
    if (const char *fault = place_fault(scene, *step.args()->Get(0)->place(), span, 1, true)) return broken(12, fault, index, 0);
    return {};
}

Broken input_rule(const Scene &scene, const fb::InputPort &port, uint32_t index) {
    const uint64_t used = uint64_t{scene.plan.inputs()->Get(port.input())->width()} * 4;
    uint64_t span;
    if (port.rows() != scene.entry.block()) return broken(12, "rows of an input port: port, rows", index, port.rows());
    if (port.row_bytes() < used || port.row_bytes() % 4 != 0) return broken(12, "row bytes of an input port: port, bytes", index, port.row_bytes());
    const fb::Space wanted = scene.entry.kind() == fb::EntryKind::stream ? fb::Space::state : fb::Space::arena;
    if (port.place()->space() != wanted)
        return broken(12, "space of an input port: port, space", index, static_cast<uint64_t>(port.place()->space()));
    if (!rows_span(port.rows(), port.row_bytes(), port.row_bytes(), &span)) return broken(12, "size of an input port: port", index);
    if (const char *fault = place_fault(scene, *port.place(), span, 4, true)) return broken(12, fault, index);
    if (port.place()->slots() > 1 && port.place()->slot_bytes() < span)
        return broken(12, "slots of an input port overlap: port, bytes", index, port.place()->slot_bytes());
    return {};
}

Broken output_rule(const Scene &scene, const fb::OutputPort &port, uint32_t index) {
    const bool stream = scene.entry.kind() == fb::EntryKind::stream;
    uint64_t span;
    if (port.width() < 1 || port.width() > cap::extent || port.rows() < 1)
        return broken(12, "rows or width of an output: port, width", index, port.width());
    if (port.row_bytes() < uint64_t{port.width()} * 4 || port.row_bytes() % 4 != 0)
        return broken(12, "row bytes of an output: port, bytes", index, port.row_bytes());
    if (port.period() < 1 || port.phase() >= port.period() || scene.entry.period() % port.period() != 0)
        return broken(12, "period and phase of an output: port, period", index, port.period());
    if (port.clock_den() < 1) return broken(12, "clock of an output: port", index);
    if (stream) {
        // As many rows in a firing as its blocks have ticks of this clock.
        const unsigned __int128 ticks = static_cast<unsigned __int128>(port.period()) * scene.entry.block();
        if (port.clock_num() < 1 || ticks * port.clock_num() != static_cast<unsigned __int128>(port.rows()) * port.clock_den())
            return broken(12, "rows of an output do not fit its clock: port, rows", index, port.rows());
    } else {
        const uint64_t rows = port.clock_num() == 0 ? 1 : uint64_t{scene.entry.block()} * port.clock_num() / port.clock_den();
        if (port.period() != 1 || port.clock_num() > cap::extent || port.rows() < rows)
            return broken(12, "rows of an output: port, rows", index, port.rows());
    }
    const fb::Space space = port.place()->space();
    if (space != fb::Space::arena && !(stream && space == fb::Space::state))
        return broken(12, "space of an output: port, space", index, static_cast<uint64_t>(space));
    if (!rows_span(port.rows(), port.row_bytes(), uint64_t{port.width()} * 4, &span)) return broken(12, "size of an output: port", index);
    if (const char *fault = place_fault(scene, *port.place(), span, 4, false)) return broken(12, fault, index);
    return {};
}

} // namespace

Broken v12_calls(const Subject &s) {
    for (const fb::Entry *entry : *s.plan->entries()) {
        Scene scene{*s.plan, *entry};
        const uint32_t ports = count(entry->inputs());
        const uint32_t wanted = entry->kind() == fb::EntryKind::run ? s.plan->inputs()->size() : entry->kind() == fb::EntryKind::stream ? 1 : 0;
        if (ports != wanted) return broken(12, "input ports of an entry: found, expected", ports, wanted);
        if (entry->kind() == fb::EntryKind::prepare ? count(entry->outputs()) != 0 : count(entry->outputs()) == 0)
            return broken(12, "output ports of an entry: found", count(entry->outputs()));
        for (uint32_t i = 0; i < ports; ++i) {
            if (entry->kind() == fb::EntryKind::run && entry->inputs()->Get(i)->input() != i)
                return broken(12, "input ports of a run are not in the inputs' order: port", i);
            if (Broken b = input_rule(scene, *entry->inputs()->Get(i), i)) return b;
        }
        for (uint32_t i = 0; i < count(entry->outputs()); ++i)
            if (Broken b = output_rule(scene, *entry->outputs()->Get(i), i)) return b;
        for (uint32_t i = 0; i < entry->steps()->size(); ++i) {
            const fb::Step &step = *entry->steps()->Get(i);
            scene.tiles = step.tiles();
            if (Broken b = step_rule(scene, step, i)) return b;
        }
    }
    return {};
}

} // namespace longwave::artifact
