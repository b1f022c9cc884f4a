#include "compiler/plan/transfers.h"
#include <algorithm>
#include <iterator>

namespace longwave::compiler {

namespace {

// Where the newest bytes of each buffer lie.
class Sides {
public:
    explicit Sides(const EntryPlan &plan) : on_(plan.buffers.size()) {
        for (const auto &port : plan.inputs) on_[port.place.buffer].cpu = true;
    }
    // Whether the side lacks what was written on the other.
    bool lacks(BufferId buffer, bool cpu) const {
        const On &on = on_[buffer];
        return (on.cpu || on.device) && !(cpu ? on.cpu : on.device);
    }
    void moved(BufferId buffer) { on_[buffer] = {true, true}; }
    void written(BufferId buffer, bool cpu) { on_[buffer] = {cpu, !cpu}; }

private:
    struct On {
        bool cpu = false, device = false;
    };
    std::vector<On> on_;
};

Step move_of(const EntryPlan &plan, BufferId buffer, bool to_cpu) {
    Step step{.kind = to_cpu ? Step::Kind::to_cpu : Step::Kind::to_device,
              .name = plan.buffers[buffer].name + (to_cpu ? " to the processor" : " to the device")};
    step.bytes = plan.buffers[buffer].bytes;
    step.args.push_back(Place{.buffer = buffer});
    return step;
}

} // namespace

void Touched::add(const Step &step) {
    for (size_t a = 0; a < step.args.size(); a++) {
        const auto *place = std::get_if<Place>(&step.args[a]);
        if (!place || (place->buffer & (shared_buffer | state_buffer))) continue;
        if (std::find(all.begin(), all.end(), place->buffer) == all.end()) all.push_back(place->buffer);
        if (step.kind != Step::Kind::call || step.args.size() - a <= step.writes)
            written.insert(place->buffer);
    }
}

std::vector<Piece> pieces_of(const std::vector<Step> &steps) {
    std::vector<Piece> pieces;
    for (size_t i = 0; i < steps.size(); i++) {
        if (pieces.empty() || pieces.back().cpu != steps[i].cpu)
            pieces.push_back({i, i, steps[i].cpu});
        pieces.back().last = i + 1;
    }
    return pieces;
}

void add_moves(EntryPlan &plan) {
    const auto is_processors = [](const Step &step) { return step.cpu; };
    if (std::none_of(plan.steps.begin(), plan.steps.end(), is_processors)) return;
    std::vector<Piece> pieces = pieces_of(plan.steps);
    // The caller reads the outputs on the CPU, behind all else.
    if (!pieces.back().cpu) pieces.push_back({plan.steps.size(), plan.steps.size(), true});
    Sides sides(plan);
    std::vector<Step> steps;
    for (const Piece &piece : pieces) {
        Touched touched;
        for (size_t i = piece.first; i < piece.last; i++) touched.add(plan.steps[i]);
        std::vector<BufferId> needed = touched.all;
        if (&piece == &pieces.back())
            for (const auto &port : plan.outputs)
                if (std::find(needed.begin(), needed.end(), port.place.buffer) == needed.end())
                    needed.push_back(port.place.buffer);
        for (const BufferId buffer : needed) {
            if (!sides.lacks(buffer, piece.cpu)) continue;
            steps.push_back(move_of(plan, buffer, piece.cpu));
            sides.moved(buffer);
        }
        for (const BufferId buffer : touched.written) sides.written(buffer, piece.cpu);
        std::move(plan.steps.begin() + static_cast<ptrdiff_t>(piece.first),
                  plan.steps.begin() + static_cast<ptrdiff_t>(piece.last), std::back_inserter(steps));
    }
    plan.steps = std::move(steps);
}

} // namespace longwave::compiler
