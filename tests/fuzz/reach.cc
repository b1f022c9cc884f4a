#include "tests/fuzz/reach.h"
#include "formats/artifact/geometry.h"

namespace longwave::fuzz {
namespace {

using artifact::count;
using Wide = __int128;

Wide space_bytes(const fb::Plan &plan, const fb::Entry &entry, fb::Space space) {
    const bool stream = entry.kind() == fb::EntryKind::stream;
    switch (space) {
    case fb::Space::weights: return plan.weights_bytes();
    case fb::Space::derived: return plan.derived_bytes();
    case fb::Space::state: return stream ? plan.state_bytes() : 0;
    case fb::Space::arena: return entry.arena_bytes();
    case fb::Space::cache: return stream ? entry.cache_bytes() : 0;
    }
    return 0;
}

Wide last_byte(const fb::KernelArg &arg) {
    Wide at = 0;
    for (uint32_t d = 0; d < count(arg.dims()); ++d)
        at += (Wide{arg.dims()->Get(d)->extent()} - 1) * arg.dims()->Get(d)->stride();
    return (at + 1) * bytes_of(artifact::elem_of(arg.elem()));
}

bool inside(const fb::Plan &plan, const fb::Entry &entry, const fb::Place &place, uint32_t tiles,
            Wide bytes) {
    const Wide limit = space_bytes(plan, entry, place.space());
    for (const uint32_t tile : {0u, tiles / 2, tiles - 1})
        for (const uint32_t slot : {0u, place.slots() / 2, place.slots() - 1}) {
            const Wide begin =
                Wide{place.offset()} + Wide{slot} * place.slot_bytes() + Wide{tile} * place.tile_bytes();
            if (bytes < 0 || begin + bytes > limit) return false;
        }
    return true;
}

const char *step_outside(const fb::Plan &plan, const fb::Entry &entry, const fb::Step &step) {
    if (step.kind() != fb::StepKind::call) {
        const Wide bytes = step.kind() == fb::StepKind::zero_tail ? Wide{step.rows()} * step.row_bytes()
                                                                  : Wide{step.bytes()};
        return inside(plan, entry, *step.args()->Get(0)->place(), step.tiles(), bytes) ? nullptr
                                                                                       : "a zero step";
    }
    const auto &args = *plan.kernels()->Get(step.kernel())->args();
    for (uint32_t a = 0; a < args.size(); ++a)
        if (args.Get(a)->kind() != fb::ArgKind::scalar &&
            !inside(plan, entry, *step.args()->Get(a)->place(), step.tiles(), last_byte(*args.Get(a))))
            return "an argument";
    return nullptr;
}

} // namespace

const char *reaches_outside(const artifact::View &view) {
    const fb::Plan &plan = view.plan();
    for (const fb::Entry *entry : *plan.entries()) {
        for (const auto *steps : {entry->steps(), entry->rebuild()})
            for (uint32_t i = 0; i < count(steps); ++i)
                if (const char *what = step_outside(plan, *entry, *steps->Get(i))) return what;
        for (uint32_t i = 0; i < count(entry->inputs()); ++i) {
            const fb::InputPort &port = *entry->inputs()->Get(i);
            if (!inside(plan, *entry, *port.place(), 1, Wide{port.rows()} * port.row_bytes()))
                return "an input port";
        }
        for (uint32_t i = 0; i < count(entry->outputs()); ++i) {
            const fb::OutputPort &port = *entry->outputs()->Get(i);
            if (!inside(plan, *entry, *port.place(), 1,
                        Wide{port.rows() - 1} * port.row_bytes() + Wide{port.width()} * 4))
                return "an output port";
        }
    }
    return nullptr;
}

} // namespace longwave::fuzz
