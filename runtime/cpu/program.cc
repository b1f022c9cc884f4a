#include "runtime/cpu/program.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/scalars.h"
#include <cstring>

namespace longwave::runtime {
namespace {

using artifact::count;

Type type_of(fb::Elem elem) {
    switch (elem) {
    case fb::Elem::f32: return {2, 32, 1};
    case fb::Elem::i32: return {0, 32, 1};
    case fb::Elem::f64: return {2, 64, 1};
    case fb::Elem::f16: return {2, 16, 1};
    }
    return {2, 32, 1};
}

bool moves(const fb::Place &place, uint32_t tiles, Program::Whose whose) {
    const bool of_model = place.space() == fb::Space::weights || place.space() == fb::Space::derived;
    return place.slots() > 1 || (tiles > 1 && place.tile_bytes() > 0) ||
           (whose == Program::Whose::any && !of_model);
}
bool moves(const fb::Scalar &scalar) { return scalar.kind() != fb::ScalarKind::constant; }

// What steps need of each kind of part: descriptors, pointers and values in a frame, the rest in
// the program.
struct Counts {
    uint64_t steps = 0, buffers = 0, pointers = 0, values = 0, moving = 0, numbers = 0;

    explicit Counts(const Steps *list, Program::Whose whose = Program::Whose::one) {
        if (!list) return;
        steps = list->size();
        for (const fb::Step *step : *list) add(*step, whose);
    }

private:
    void add(const fb::Step &step, Program::Whose whose) {
        if (step.kind() != fb::StepKind::call) {
            ++moving;
            return;
        }
        pointers += 1 + count(step.args());
        for (uint32_t a = 0; a < count(step.args()); ++a) {
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.place()) {
                ++buffers;
                moving += moves(*binding.place(), step.tiles(), whose);
            } else {
                ++values;
                numbers += moves(*binding.scalar());
            }
        }
    }
};

void clear_outside(const fb::Step &step, uint8_t *at, uint64_t firing, const Extent &extent) {
    const SequenceRows kept(step, firing, extent.rows);
    const uint64_t end = kept.end < kept.begin ? kept.begin : kept.end, row = step.row_bytes();
    memset(at, 0, kept.begin * row);
    memset(at + end * row, 0, (step.rows() - end) * row);
}

} // namespace

Moving moving(const fb::Place &place, uint32_t buffer) {
    return {place.offset(), place.slot_bytes(), place.tile_bytes(), place.slots(), place.slot_add(),
            buffer,         place.space()};
}

Buffer descriptor(const fb::KernelArg &arg, Dimension *dims) {
    Buffer buffer{};
    buffer.type = type_of(arg.elem());
    buffer.dimensions = static_cast<int32_t>(count(arg.dims()));
    buffer.dim = dims;
    return buffer;
}

void Program::build(const Steps *steps, const Kernel *kernels, Parts &parts, Whose whose) {
    const Counts n(steps, whose);
    calls_ = parts.take<Call>(n.steps);
    moving_ = parts.take<Moving>(n.moving);
    numbers_ = parts.take<Number>(n.numbers);
    if (!calls_) return; // only measuring
    n_calls_ = static_cast<uint32_t>(n.steps);
    uint32_t pointers = 0, buffers = 0, values = 0, moving_at = 0, numbers_at = 0;
    for (uint32_t i = 0; i < n_calls_; ++i) {
        const fb::Step &step = *steps->Get(i);
        Call &call = calls_[i] = Call{};
        call.plan = &step;
        call.kind = step.kind();
        call.period = step.period();
        call.phase = step.phase();
        call.tiles = step.tiles();
        call.ordered = step.ordered();
        call.bytes = step.bytes();
        call.pointers = pointers;
        call.moving = moving_at;
        call.numbers = numbers_at;
        if (call.kind != fb::StepKind::call) {
            moving_[moving_at++] = moving(*step.args()->Get(0)->place(), 0);
            call.n_moving = 1;
            continue;
        }
        call.kernel = kernels + step.kernel();
        call.function = call.kernel->function;
        pointers += 1 + count(step.args());
        for (uint32_t a = 0; a < count(step.args()); ++a) {
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.place()) {
                if (moves(*binding.place(), step.tiles(), whose))
                    moving_[moving_at++] = moving(*binding.place(), buffers);
                ++buffers;
            } else {
                if (moves(*binding.scalar())) numbers_[numbers_at++] = {binding.scalar(), values};
                ++values;
            }
        }
        call.n_moving = moving_at - call.moving;
        call.n_numbers = numbers_at - call.numbers;
    }
}

void Program::place(const Call &call, Frame &frame, uint64_t firing, uint32_t tile,
                    const Extent &extent) const {
    const Moving *moving = moving_ + call.moving;
    for (uint32_t m = 0; m < call.n_moving; ++m)
        frame.buffers_[moving[m].buffer].host = moving[m].at(frame.spaces_, firing, tile);
    const Number *numbers = numbers_ + call.numbers;
    for (uint32_t n = 0; n < call.n_numbers; ++n)
        frame.values_[numbers[n].value] = evaluate(*numbers[n].plan, firing, tile, extent);
}

bool Program::run(const Call &call, Frame &frame, uint64_t firing, uint32_t tile,
                  const Extent &extent) const {
    const Moving *moving = moving_ + call.moving;
    if (call.kind == fb::StepKind::zero) {
        memset(moving->at(frame.spaces_, firing, tile), 0, call.bytes);
        return true;
    }
    if (call.kind == fb::StepKind::zero_tail) {
        clear_outside(*call.plan, moving->at(frame.spaces_, firing, tile), firing, extent);
        return true;
    }
    place(call, frame, firing, tile, extent);
    frame.scratch_->used = 0;
    return call.function(frame.pointers_ + call.pointers) == 0;
}

void Frame::build(const Steps *steps, const Kernel *kernels, const Spaces &spaces, Scratch *scratch,
                  Parts &parts) {
    const Counts n(steps);
    Buffer *buffer = buffers_ = parts.take<Buffer>(n.buffers);
    void **pointer = pointers_ = parts.take<void *>(n.pointers);
    int32_t *value = values_ = parts.take<int32_t>(n.values);
    if (!buffers_) return; // only measuring
    spaces_ = spaces;
    scratch_ = scratch;
    user_context_ = scratch;
    for (uint32_t i = 0; i < n.steps; ++i) {
        const fb::Step &step = *steps->Get(i);
        if (step.kind() != fb::StepKind::call) continue;
        const Kernel &kernel = kernels[step.kernel()];
        Dimension *dims = kernel.dims;
        *pointer++ = &user_context_;
        for (uint32_t a = 0; a < count(step.args()); ++a) {
            const fb::KernelArg &arg = *kernel.plan->args()->Get(a);
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.place()) {
                *buffer = descriptor(arg, dims);
                buffer->host = moving(*binding.place(), 0).at(spaces, 0, 0);
                *pointer++ = buffer++;
            } else {
                *value = binding.scalar()->value();
                *pointer++ = value++;
            }
            dims += count(arg.dims());
        }
    }
}

uint64_t scratch_needed(const Steps *steps, const fb::CodeVariant *variant) {
    uint64_t most = 0;
    for (uint32_t i = 0; variant && i < artifact::count(steps); ++i) {
        const fb::Step &step = *steps->Get(i);
        // A mixed entry calls kernels that have no code here.
        if (step.kind() != fb::StepKind::call || step.kernel() >= variant->scratch()->size()) continue;
        const uint64_t bytes = variant->scratch()->Get(step.kernel());
        if (bytes > most) most = bytes;
    }
    return most;
}

} // namespace longwave::runtime
