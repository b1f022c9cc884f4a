#include "runtime/call.h"
#include "formats/artifact/geometry.h"
#include <cstring>

namespace longwave::runtime {
namespace {

using artifact::count;

Type type_of(fb::Elem elem) {
    switch (elem) {
    case fb::Elem::f32: return {2, 32, 1};
    case fb::Elem::i32: return {0, 32, 1};
    case fb::Elem::f64: return {2, 64, 1};
    case fb::Elem::u8: return {1, 8, 1};
    }
    return {2, 32, 1};
}

bool moves(const fb::Place &place, uint32_t tiles) { return place.slots() > 1 || (tiles > 1 && place.tile_bytes() > 0); }
bool moves(const fb::Scalar &scalar) { return scalar.kind() != fb::ScalarKind::constant; }

// What a program needs of each kind of part.
struct Counts {
    uint64_t buffers = 0, pointers = 0, values = 0, moving = 0, numbers = 0;
};

Counts count_parts(const fb::Entry &entry) {
    Counts n;
    for (const fb::Step *step : *entry.steps()) {
        if (step->kind() != fb::StepKind::call) {
            ++n.moving;
            continue;
        }
        n.pointers += 1 + count(step->args());
        for (uint32_t a = 0; a < count(step->args()); ++a) {
            const fb::Binding &binding = *step->args()->Get(a);
            if (binding.place()) ++n.buffers, n.moving += moves(*binding.place(), step->tiles());
            else ++n.values, n.numbers += moves(*binding.scalar());
        }
    }
    return n;
}

int32_t evaluate(const fb::Scalar &scalar, uint64_t firing, uint32_t tile, const Extent &extent) {
    switch (scalar.kind()) {
    case fb::ScalarKind::constant: break;
    case fb::ScalarKind::slot: {
        const int64_t slot = static_cast<int64_t>((firing + scalar.add()) % scalar.modulus());
        return static_cast<int32_t>(slot * scalar.mul() + scalar.value() + int64_t{tile} * scalar.tile_mul());
    }
    case fb::ScalarKind::length:
    case fb::ScalarKind::extent: {
        const uint64_t ticks = scalar.kind() == fb::ScalarKind::length ? extent.lengths[scalar.add()] : extent.rows;
        const int64_t rows = static_cast<int64_t>(ticks * static_cast<uint64_t>(scalar.mul()) / scalar.modulus()) - int64_t{tile} * scalar.tile_mul();
        return rows < 0 ? 0 : rows > scalar.value() ? scalar.value() : static_cast<int32_t>(rows);
    }
    }
    return scalar.value();
}

void clear_tail(const Call &call, uint8_t *at, const Extent &extent) {
    const fb::Step &step = *call.plan;
    uint64_t from = extent.rows * step.mul() / step.den();
    if (from > step.rows()) from = step.rows();
    memset(at + from * step.row_bytes(), 0, (step.rows() - from) * uint64_t{step.row_bytes()});
}

} // namespace

Moving moving(const fb::Place &place, const Bases &bases) {
    return {bases.at(place), place.slot_bytes(), place.tile_bytes(), place.slots(), place.slot_add(), nullptr};
}

void Program::build(const fb::Entry &entry, const Kernel *kernels, const Bases &bases, uint64_t scratch_bytes, Parts &parts) {
    const Counts n = count_parts(entry);
    calls_ = parts.take<Call>(entry.steps()->size());
    Moving *next_moving = parts.take<Moving>(n.moving);
    Number *next_number = parts.take<Number>(n.numbers);
    Buffer *next_buffer = parts.take<Buffer>(n.buffers);
    void **next_pointer = parts.take<void *>(n.pointers);
    int32_t *next_value = parts.take<int32_t>(n.values);
    scratch_.base = parts.take<char>(scratch_bytes);
    scratch_.size = scratch_bytes;
    if (!calls_) return; // only measuring
    user_context_ = &scratch_;
    n_calls_ = entry.steps()->size();

    for (uint32_t i = 0; i < n_calls_; ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        Call &call = calls_[i] = Call{};
        call.plan = &step;
        call.kind = step.kind();
        call.period = step.period(), call.phase = step.phase(), call.tiles = step.tiles();
        call.bytes = step.bytes();
        call.moving = next_moving;
        call.numbers = next_number;
        if (call.kind != fb::StepKind::call) {
            *next_moving++ = moving(*step.args()->Get(0)->place(), bases);
            call.n_moving = 1;
            continue;
        }
        const Kernel &kernel = kernels[step.kernel()];
        call.function = kernel.function;
        call.args = next_pointer;
        *next_pointer++ = &user_context_;
        Dimension *dims = kernel.dims;
        for (uint32_t a = 0; a < count(step.args()); ++a) {
            const fb::KernelArg &arg = *kernel.plan->args()->Get(a);
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.place()) {
                Buffer *buffer = next_buffer++;
                *buffer = Buffer{};
                const Moving place = moving(*binding.place(), bases);
                buffer->host = place.at(0, 0);
                buffer->type = type_of(arg.elem());
                buffer->dimensions = static_cast<int32_t>(count(arg.dims()));
                buffer->dim = dims;
                *next_pointer++ = buffer;
                if (moves(*binding.place(), step.tiles())) {
                    *next_moving = place;
                    next_moving++->buffer = buffer;
                    ++call.n_moving;
                }
            } else {
                int32_t *value = next_value++;
                *value = binding.scalar()->value();
                *next_pointer++ = value;
                if (moves(*binding.scalar())) {
                    *next_number++ = {binding.scalar(), value};
                    ++call.n_numbers;
                }
            }
            dims += count(arg.dims());
        }
    }
}

const fb::Step *Program::run(uint64_t block, const Extent &extent) {
    for (uint32_t i = 0; i < n_calls_; ++i) {
        const Call &call = calls_[i];
        uint64_t firing = block;
        if (call.period > 1) {
            if (block % call.period != call.phase) continue;
            firing = block / call.period;
        }
        for (uint32_t tile = 0; tile < call.tiles; ++tile) {
            if (call.kind == fb::StepKind::zero) {
                memset(call.moving->at(firing, tile), 0, call.bytes);
                continue;
            }
            if (call.kind == fb::StepKind::zero_tail) {
                clear_tail(call, call.moving->at(firing, tile), extent);
                continue;
            }
            for (uint32_t m = 0; m < call.n_moving; ++m) call.moving[m].buffer->host = call.moving[m].at(firing, tile);
            for (uint32_t s = 0; s < call.n_numbers; ++s) *call.numbers[s].value = evaluate(*call.numbers[s].plan, firing, tile, extent);
            scratch_.used = 0;
            if (call.function(call.args) != 0) return call.plan;
        }
    }
    return nullptr;
}

uint64_t scratch_needed(const fb::Entry &entry, const fb::CodeVariant *variant) {
    uint64_t most = 0;
    for (const fb::Step *step : *entry.steps()) {
        if (step->kind() != fb::StepKind::call || !variant) continue;
        const uint64_t bytes = variant->scratch()->Get(step->kernel());
        if (bytes > most) most = bytes;
    }
    return most;
}

} // namespace longwave::runtime
