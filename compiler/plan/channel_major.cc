#include "compiler/plan/channel_major.h"
#include <numeric>

namespace longwave::compiler {

namespace {

// Buffers that change their layout together, because a kernel wants it so.
class Layouts {
public:
    explicit Layouts(const EntryPlan &plan)
        : plan_(plan), parent_(plan.buffers.size()), state_(plan.buffers.size()) {
        std::iota(parent_.begin(), parent_.end(), size_t{0});
        for (size_t b = 0; b < plan.buffers.size(); b++)
            state_[b].fixed = plan.buffers[b].space != Space::arena || plan.buffers[b].value < 0;
    }

    void fix(BufferId buffer) { state_[root(buffer)].fixed = true; }
    void prefer(BufferId buffer) { state_[root(buffer)].preferred = true; }
    void join(BufferId a, BufferId b) {
        const size_t from = root(a), to = root(b);
        if (from == to) return;
        state_[to].fixed = state_[to].fixed || state_[from].fixed;
        state_[to].preferred = state_[to].preferred || state_[from].preferred;
        parent_[from] = to;
    }
    // All users must see the same number of rows.
    void rows(BufferId buffer, uint32_t rows) {
        if (rows_.emplace(buffer, rows).first->second != rows) fix(buffer);
    }

    ChannelMajor chosen() {
        ChannelMajor values;
        for (BufferId b = 0; b < plan_.buffers.size(); b++)
            if (const State &state = state_[root(b)]; state.preferred && !state.fixed)
                values.insert(plan_.buffers[b].value);
        return values;
    }

private:
    struct State {
        bool fixed = false, preferred = false;
    };
    size_t root(size_t buffer) {
        while (parent_[buffer] != buffer) buffer = parent_[buffer];
        return buffer;
    }

    const EntryPlan &plan_;
    std::vector<size_t> parent_;
    std::vector<State> state_; // of roots
    std::map<BufferId, uint32_t> rows_;
};

void add_call(Layouts &layouts, const Step &step, const schedules::Signature &signature) {
    std::map<uint8_t, BufferId> groups;
    for (size_t a = 0; a < step.args.size(); a++) {
        const auto *place = std::get_if<Place>(&step.args[a]);
        if (!place || !of_entry(place->buffer)) continue;
        const schedules::KernelArg &arg = signature.args.at(a);
        if (arg.layout_group == 0) {
            layouts.fix(place->buffer);
            continue;
        }
        if (step.tiles > 1 || place->slots > 1 || place->offset > 0) layouts.fix(place->buffer);
        layouts.rows(place->buffer, arg.dims.back().extent);
        const auto [first, fresh] = groups.emplace(arg.layout_group, place->buffer);
        if (!fresh) layouts.join(first->second, place->buffer);
        if (signature.prefers_channel_major) layouts.prefer(place->buffer);
    }
}

} // namespace

ChannelMajor find_channel_major(const EntryPlan &draft, const KernelSignatures &signatures,
                                bool clears_tails) {
    Layouts layouts(draft);
    for (const InputPort &port : draft.inputs) layouts.fix(port.place.buffer);
    for (const OutputPort &port : draft.outputs) layouts.fix(port.place.buffer);
    for (const Step &step : draft.steps) {
        const auto known = signatures.find(step.spec);
        if (step.kind == Step::Kind::call && !step.cpu && known != signatures.end()) {
            add_call(layouts, step, known->second);
            continue;
        }
        const bool tail = step.kind == Step::Kind::zero_tail && !step.cpu && clears_tails;
        for (const Argument &argument : step.args)
            if (const auto *place = std::get_if<Place>(&argument);
                place && of_entry(place->buffer) && !(tail && place->offset == 0))
                layouts.fix(place->buffer);
    }
    return layouts.chosen();
}

} // namespace longwave::compiler
