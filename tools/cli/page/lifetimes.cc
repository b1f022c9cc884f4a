#include "tools/cli/page/lifetimes.h"
#include "formats/artifact/geometry.h"
#include <algorithm>

namespace longwave::cli {
namespace {

class Memory {
public:
    // `fresh`: the step writes the bytes and does not read them.
    void touch(uint32_t step, uint64_t begin, uint64_t end, bool fresh, const std::string &name) {
        if (begin >= end) return;
        Open *joined = nullptr;
        for (Open &open : open_) {
            Lifetime &b = list_[open.index];
            if (!(b.begin < end && begin < b.end)) continue;
            if (fresh && (open.read || joined)) { // other bytes from now on
                open.closed = true;
                continue;
            }
            b.last = std::max(b.last, step);
            if (!fresh) open.read = true;
            joined = &open;
            if (fresh) b.begin = std::min(b.begin, begin), b.end = std::max(b.end, end);
        }
        std::erase_if(open_, [](const Open &open) { return open.closed; });
        if (fresh && !joined) {
            open_.push_back({list_.size()});
            list_.push_back({begin, end, step, step, name});
        }
    }
    std::vector<Lifetime> take() { return std::move(list_); }

private:
    struct Open {
        size_t index;
        bool read = false, closed = false;
    };
    std::vector<Lifetime> list_;
    std::vector<Open> open_; // what a later step may read
};

// The bytes of all slots and tiles.
bool span(const fb::Place &place, uint32_t tiles, uint64_t bytes, uint64_t *end) {
    return place.space() == fb::Space::arena && artifact::place_end(place, tiles, bytes, end);
}

void touch_call(const fb::Plan &plan, const fb::Step &step, uint32_t at, const std::string &name,
                Memory &memory) {
    const auto &args = *plan.kernels()->Get(step.kernel())->args();
    for (const bool fresh : {false, true}) // a step reads before it writes
        for (uint32_t a = 0; a < artifact::count(step.args()); ++a) {
            const fb::Place *place = step.args()->Get(a)->place();
            const fb::KernelArg &arg = *args.Get(a);
            uint64_t bytes = 0, end = 0;
            if (!place || fresh != (arg.kind() == fb::ArgKind::output)) continue;
            if (artifact::span_bytes(arg, &bytes) && span(*place, step.tiles(), bytes, &end))
                memory.touch(at, place->offset(), end, fresh, name);
        }
}

} // namespace

std::vector<Lifetime> lifetimes(const fb::Plan &plan, const fb::Entry &entry) {
    Memory memory;
    const auto port = [&](uint32_t step, const fb::Place *place, uint32_t rows, uint32_t row_bytes,
                          bool fresh, const std::string &name) {
        uint64_t end = 0;
        if (place && span(*place, 1, uint64_t{rows} * row_bytes, &end))
            memory.touch(step, place->offset(), end, fresh, name);
    };
    if (entry.inputs())
        for (const auto *input : *entry.inputs())
            port(0, input->place(), input->rows(), input->row_bytes(), true,
                 "input " + plan.inputs()->Get(input->input())->name()->str());
    const uint32_t steps = entry.steps()->size();
    for (uint32_t i = 0; i < steps; ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        const std::string name = step.name() ? step.name()->str() : "step " + std::to_string(i);
        if (step.kind() == fb::StepKind::call) {
            touch_call(plan, step, i, name, memory);
        } else if (step.args() && step.args()->size() > 0) {
            const uint64_t bytes = step.kind() == fb::StepKind::zero_tail
                                       ? uint64_t{step.rows()} * step.row_bytes()
                                       : step.bytes();
            const fb::Place *place = step.args()->Get(0)->place();
            uint64_t end = 0;
            if (place && span(*place, step.tiles(), bytes, &end))
                memory.touch(i, place->offset(), end, step.kind() == fb::StepKind::zero, name);
        }
    }
    if (entry.outputs())
        for (const auto *output : *entry.outputs())
            port(steps, output->place(), output->rows(), output->row_bytes(), false, "");
    return memory.take();
}

} // namespace longwave::cli
