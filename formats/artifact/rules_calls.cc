// V12: every call matches its kernel and stays inside its memory. Kernels check nothing themselves,
// so nothing may pass here that could touch a byte outside the space it names, in any firing and
// any tile.
#include "formats/artifact/geometry.h"
#include "formats/artifact/places.h"
#include "formats/artifact/rules.h"

namespace longwave::artifact {
namespace {

// A sum that needs more than 64 bits stays at their end, which no kernel accepts. Each product here
// fits: its factors have 32 bits, of which one is signed.
int64_t sum(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? (b < 0 ? INT64_MIN : INT64_MAX) : result;
}

// Lowest and highest value of a scalar over all firings and tiles, and whether all of them are
// multiples of `multiple`.
struct Values {
    int64_t low, high;
    bool multiples;
};

Values slot_values(const Scene &scene, const fb::Scalar &scalar, int32_t multiple) {
    int64_t first = scalar.value(), steps = scalar.modulus() - int64_t{1};
    if (!scene.stream()) { // one firing, number 0
        first = sum(first, int64_t{scalar.add() % scalar.modulus()} * scalar.mul());
        steps = 0;
    }
    Values values{first, first, first % multiple == 0};
    const auto extend = [&](int64_t n, int64_t by) {
        int64_t &end = by < 0 ? values.low : values.high;
        end = sum(end, n * by);
        values.multiples &= n == 0 || by % multiple == 0;
    };
    extend(steps, scalar.mul());
    extend(int64_t{scene.tiles} - 1, scalar.tile_mul());
    return values;
}

const char *scalar_fault(const Scene &scene, const fb::KernelArg &arg, const fb::Scalar &scalar) {
    Values values{scalar.value(), scalar.value(), scalar.value() % arg.multiple() == 0};
    if (scalar.kind() == fb::ScalarKind::slot) {
        if (scalar.modulus() < 1) return "scalar with modulus 0";
        values = slot_values(scene, scalar, arg.multiple());
    }
    const bool of_run = scalar.kind() == fb::ScalarKind::length || scalar.kind() == fb::ScalarKind::rows,
               filled = scalar.kind() == fb::ScalarKind::filled;
    if (of_run || filled) {
        if (of_run && scene.entry.kind() != fb::EntryKind::run) return "a length outside a run entry";
        if (scalar.modulus() < 1 || scalar.mul() < (filled ? 1 : 0) || scalar.tile_mul() < 0 ||
            scalar.value() < 0)
            return "numbers of a length";
        if (arg.multiple() != 1) return "a length where the kernel takes multiples";
        values.multiples = true;
    }
    if (scalar.kind() == fb::ScalarKind::retired) values = {0, 0, true};
    if (values.low < 0 || values.high > arg.high()) return "scalar leaves the range its kernel accepts";
    return values.multiples ? nullptr : "scalar is not a multiple of what its kernel accepts";
}

const char *binding_fault(const Scene &scene, const fb::KernelArg &arg, const fb::Binding &binding) {
    if (arg.kind() == fb::ArgKind::scalar) {
        if (!binding.scalar() || binding.place()) return "a scalar argument takes a scalar and nothing else";
        if (arg.elem() != fb::Elem::i32 || count(arg.dims()) != 0)
            return "a scalar argument is an int32 without dimensions";
        return scalar_fault(scene, arg, *binding.scalar());
    }
    if (!binding.place() || binding.scalar()) return "a buffer argument takes a place and nothing else";
    const uint64_t element = bytes_of(elem_of(arg.elem()));
    const uint64_t alignment = arg.alignment() > element ? arg.alignment() : element;
    if ((alignment & (alignment - 1)) != 0 || alignment > segment_alignment)
        return "alignment is not a power of two up to 64";
    uint64_t span;
    if (!span_bytes(arg, &span)) return "size";
    return place_fault(scene, *binding.place(), span, alignment, arg.kind() != fb::ArgKind::input);
}

Broken zero_rule(const Scene &scene, const fb::Step &step, uint32_t index) {
    if (count(step.args()) != 1 || !step.args()->Get(0)->place() || step.args()->Get(0)->scalar())
        return broken(12, "a step that is not a call takes one place: step, arguments", index,
                      count(step.args()));
    uint64_t span = step.bytes();
    if (moves(step) && (!scene.mixed || step.cpu() || step.tiles() != 1 ||
                        step.args()->Get(0)->place()->space() != fb::Space::arena))
        return broken(12, "a move outside the arenas of a mixed entry: step", index);
    if (step.kind() == fb::StepKind::zero_tail) {
        const bool stream = scene.entry.kind() == fb::EntryKind::stream;
        if (scene.entry.kind() != fb::EntryKind::run &&
            !(stream && scene.entry.device() == fb::DeviceKind::cpu))
            return broken(12, "zero_tail outside a run entry and a stream entry of the CPU: step", index);
        if (step.lead() > (stream ? cap::delay : 0))
            return broken(12, "rows before those of zero_tail: step, rows", index, step.lead());
        if (step.den() < 1 || step.whole() < 1 || !checked::mul(step.rows(), step.row_bytes(), &span))
            return broken(12, "rows of zero_tail: step, rows", index, step.rows());
    }
    if (span == 0) return broken(12, "a zero step clears nothing: step", index);
    if (const char *fault = place_fault(scene, *step.args()->Get(0)->place(), span, 1, true))
        return broken(12, fault, index, 0);
    return {};
}

Broken step_rule(const Scene &scene, const fb::Step &step, uint32_t index) {
    if (step.phase() >= step.period()) // V6 has looked at the period
        return broken(12, "phase of a step: step, phase", index, step.phase());
    if (step.cpu() && !scene.mixed)
        return broken(12, "a step of the CPU outside a run entry of a GPU: step", index);
    if (step.kind() != fb::StepKind::call) return zero_rule(scene, step, index);
    const fb::Kernel &kernel = *scene.plan.kernels()->Get(step.kernel());
    if (count(step.args()) != kernel.args()->size())
        return broken(12, "number of arguments: step, arguments", index, count(step.args()));
    for (uint32_t a = 0; a < kernel.args()->size(); ++a)
        if (const char *fault = binding_fault(scene, *kernel.args()->Get(a), *step.args()->Get(a)))
            return broken(12, fault, index, a);
    return {};
}

Broken steps_rule(Scene scene, const flatbuffers::Vector<flatbuffers::Offset<fb::Step>> *steps) {
    for (uint32_t i = 0; i < count(steps); ++i) {
        scene.tiles = steps->Get(i)->tiles();
        if (Broken b = step_rule(scene, *steps->Get(i), i)) return b;
    }
    return {};
}

// What stands behind the last byte that prepare writes is memory nobody asked for.
Broken derived_rule(const fb::Plan &plan, const fb::Entry &prepare) {
    uint64_t end = 0;
    for (const fb::Step *step : *prepare.steps()) {
        uint64_t span = step->bytes(), behind = 0;
        for (uint32_t a = 0; a < count(step->args()); ++a) {
            const fb::Place *place = step->args()->Get(a)->place();
            if (!place || place->space() != fb::Space::derived) continue;
            if (step->kind() == fb::StepKind::call) {
                const fb::KernelArg &arg = *plan.kernels()->Get(step->kernel())->args()->Get(a);
                if (arg.kind() == fb::ArgKind::input || !span_bytes(arg, &span)) continue;
            }
            if (place_end(*place, step->tiles(), span, &behind) && behind > end) end = behind;
        }
    }
    if (!checked::align(end, segment_alignment, &end) || end < plan.derived_bytes())
        return broken(12, "derived bytes that prepare does not write: written, found", end,
                      plan.derived_bytes());
    return {};
}

} // namespace

Broken v12_calls(const Subject &s) {
    for (const fb::Entry *entry : *s.plan->entries()) {
        if (Broken b = v12_ports(s, *entry)) return b;
        if (Broken b = steps_rule({*s.plan, *entry, false, 1, mixed(*entry)}, entry->steps())) return b;
        if (Broken b = steps_rule({*s.plan, *entry, true}, entry->rebuild())) return b;
        if (entry->kind() == fb::EntryKind::prepare)
            if (Broken b = derived_rule(*s.plan, *entry)) return b;
    }
    return v12_together(s);
}

} // namespace longwave::artifact
