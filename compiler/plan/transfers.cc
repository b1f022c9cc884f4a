#include "compiler/plan/transfers.h"
#include <algorithm>
#include <iterator>

namespace longwave::compiler {

namespace {

// Where the newest bytes of each buffer lie.
class Copies {
public:
    explicit Copies(const EntryPlan &plan) : on_(plan.buffers.size()) {
        for (const auto &port : plan.inputs) on_[port.place.buffer].cpu = true;
    }
    // Whether the CPU, or else the device, lacks what the other one wrote.
    bool lacks(BufferId buffer, bool cpu) const {
        const On &on = on_[buffer];
        return (on.cpu || on.device) && !(cpu ? on.cpu : on.device);
    }
    void transferred(BufferId buffer) { on_[buffer] = {true, true}; }
    void written(BufferId buffer, bool cpu) { on_[buffer] = {cpu, !cpu}; }

private:
    struct On {
        bool cpu = false, device = false;
    };
    std::vector<On> on_;
};

Step transfer_of(const EntryPlan &plan, BufferId buffer, bool to_cpu) {
    Step step{.kind = to_cpu ? Step::Kind::to_cpu : Step::Kind::to_device,
              .name = plan.buffers[buffer].name + (to_cpu ? " to the CPU" : " to the device")};
    step.bytes = plan.buffers[buffer].bytes;
    step.args.push_back(Place{.buffer = buffer});
    return step;
}

} // namespace

void Touched::add(const Step &step) {
    for (size_t a = 0; a < step.args.size(); a++) {
        const auto *place = std::get_if<Place>(&step.args[a]);
        if (!place || !of_entry(place->buffer)) continue;
        if (std::find(all.begin(), all.end(), place->buffer) == all.end()) all.push_back(place->buffer);
        if (step.kind != Step::Kind::call || step.args.size() - a <= step.writes)
            written.insert(place->buffer);
    }
}

std::vector<DeviceSegment> device_segments(const std::vector<Step> &steps) {
    std::vector<DeviceSegment> segments;
    for (size_t i = 0; i < steps.size(); i++) {
        if (segments.empty() || segments.back().cpu != steps[i].cpu) segments.push_back({i, i, steps[i].cpu});
        segments.back().last = i + 1;
    }
    return segments;
}

void add_transfers(EntryPlan &plan) {
    if (std::none_of(plan.steps.begin(), plan.steps.end(), [](const Step &step) { return step.cpu; })) return;
    std::vector<DeviceSegment> segments = device_segments(plan.steps);
    // The caller reads the outputs on the CPU after the last step.
    if (!segments.back().cpu) segments.push_back({plan.steps.size(), plan.steps.size(), true});
    Copies copies(plan);
    std::vector<Step> steps;
    for (const DeviceSegment &segment : segments) {
        Touched touched;
        for (size_t i = segment.first; i < segment.last; i++) touched.add(plan.steps[i]);
        std::vector<BufferId> needed = touched.all;
        if (&segment == &segments.back())
            for (const auto &port : plan.outputs)
                if (std::find(needed.begin(), needed.end(), port.place.buffer) == needed.end())
                    needed.push_back(port.place.buffer);
        for (const BufferId buffer : needed) {
            if (!copies.lacks(buffer, segment.cpu)) continue;
            steps.push_back(transfer_of(plan, buffer, segment.cpu));
            copies.transferred(buffer);
        }
        for (const BufferId buffer : touched.written) copies.written(buffer, segment.cpu);
        std::move(plan.steps.begin() + static_cast<ptrdiff_t>(segment.first),
                  plan.steps.begin() + static_cast<ptrdiff_t>(segment.last), std::back_inserter(steps));
    }
    plan.steps = std::move(steps);
}

} // namespace longwave::compiler
