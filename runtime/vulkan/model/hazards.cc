#include "runtime/vulkan/model/hazards.h"
#include "formats/artifact/geometry.h"

namespace longwave::runtime::vulkan {

// Weights and derived tables do not change.
template <class Visit> void Hazards::each(const fb::Step &step, const Visit &visit) const {
    const bool call = step.kind() == fb::StepKind::call;
    for (uint32_t a = 0; a < step.args()->size(); ++a) {
        const fb::Place *place = step.args()->Get(a)->place();
        if (!place || place->space() == fb::Space::weights || place->space() == fb::Space::derived) continue;
        uint64_t span = call ? 0 : step.bytes(), end = 0;
        bool written = step.kind() != fb::StepKind::to_cpu;
        if (call) {
            const fb::KernelArg &arg = *plan_.kernels()->Get(step.kernel())->args()->Get(a);
            (void)artifact::span_bytes(arg, &span); // V7
            written = arg.kind() != fb::ArgKind::input;
        } else if (step.kind() == fb::StepKind::zero_tail) {
            span = uint64_t{step.rows()} * step.row_bytes();
        }
        (void)artifact::place_end(*place, 1, span, &end); // V12
        const Touched now{place->space(), written, place->offset(), end};
        visit(reach_ == Reach::regions ? region_of(now) : now);
    }
}

Hazards::Touched Hazards::region_of(const Touched &bytes) const {
    Touched region{bytes.space, bytes.written, 0, UINT64_MAX};
    if (bytes.space != fb::Space::state) return region;
    for (const fb::StateField *field : *plan_.state()) {
        const uint64_t at = field->offset();
        if (at <= bytes.begin) region.begin = at > region.begin ? at : region.begin;
        else region.end = at < region.end ? at : region.end;
    }
    return region;
}

bool Hazards::must_wait(const fb::Step &step) const {
    bool found = full_;
    each(step, [&](const Touched &now) {
        for (uint32_t i = 0; i < n_; ++i) {
            const Touched &before = touched_[i];
            found |= (now.written || before.written) && now.space == before.space && now.begin < before.end &&
                     before.begin < now.end;
        }
    });
    return found;
}

void Hazards::add(const fb::Step &step) {
    each(step, [&](const Touched &now) {
        if (n_ < most) touched_[n_++] = now;
        else full_ = true;
    });
}

} // namespace longwave::runtime::vulkan
