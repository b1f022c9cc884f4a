// The choice is a minimum cut. Its nodes are the uses of values: by the kernels of a region that
// writes a value, of each that reads it, and by ports. The side of the source lies channel by channel.
#include "compiler/plan/channel_major.h"
#include "compiler/plan/min_cut.h"
#include <algorithm>
#include <cmath>

namespace longwave::compiler {

namespace {

// Users that are no nodes of the graph.
constexpr int input_port = -1, output_port = -2;
// What a change of order within a kernel costs: less than any byte that memory moves.
constexpr uint64_t least_cost = 1, byte_cost = 16;
constexpr uint32_t transposed_together = 16; // channels (schedules/halide/transposed_tile.h)
constexpr double most_dispatch_bytes = 1e15; // of any tuning file

class LayoutChoice {
public:
    LayoutChoice(const EntryPlan &plan, const LayoutOptions &options)
        : plan_(plan), options_(options), values_(plan.buffers.size()) {
        for (BufferId b = 0; b < values_.size(); b++)
            if (plan.buffers[b].space != Space::arena || plan.buffers[b].value < 0) fix_all(b);
        for (const InputPort &port : plan.inputs) fix(port.place.buffer, input_port);
    }

    void add_call(const Step &step, const schedules::Signature &signature) {
        std::map<uint8_t, size_t> groups;
        std::set<uint8_t> in_rings; // groups with an argument in the state of a stream: its rings have rows
        bool by_row = false;
        for (size_t a = 0; a < step.args.size(); a++) {
            const auto *place = std::get_if<Place>(&step.args[a]);
            if (!place) continue;
            const schedules::KernelArg &arg = signature.args.at(a);
            if (!of_entry(place->buffer)) {
                in_rings.insert(arg.layout_group);
                continue;
            }
            const size_t use = use_of(place->buffer, step.node);
            if (step.tiles > 1 || place->slots > 1 || place->offset > 0) fix_all(place->buffer);
            if (arg.layout_group == 0) {
                cut_.add_edge(use, MinCut::sink, MinCut::never);
                by_row = true;
                continue;
            }
            const uint64_t bytes = see_shape(place->buffer, arg);
            cut_.add_edge(MinCut::source, use, lost(bytes, signature));
            const auto [first, fresh] = groups.emplace(arg.layout_group, use);
            if (!fresh) join(first->second, use, MinCut::never);
        }
        for (const auto &[group, use] : groups)
            if (in_rings.contains(group)) cut_.add_edge(use, MinCut::sink, MinCut::never);
        if (!signature.prefers_one_order) return;
        for (const auto &[group, use] : groups) {
            join(groups.begin()->second, use, least_cost);
            if (by_row) cut_.add_edge(use, MinCut::sink, least_cost);
        }
    }

    void add_other(const Step &step, bool every_use) {
        for (const Argument &argument : step.args) {
            const auto *place = std::get_if<Place>(&argument);
            if (!place || !of_entry(place->buffer)) continue;
            if (every_use || place->offset > 0) fix_all(place->buffer);
            else fix(place->buffer, step.node);
        }
    }

    ValueLayouts chosen() {
        for (const OutputPort &port : plan_.outputs) fix(port.place.buffer, output_port);
        for (const Value &value : values_) together(value);
        const std::vector<bool> by_channel = cut_.source_side();
        ValueLayouts layouts;
        for (BufferId b = 0; b < values_.size(); b++) {
            const Value &value = values_[b];
            if (value.uses.empty()) continue;
            const bool born = by_channel[value.uses.front().node];
            Reorder copy{.value = plan_.buffers[b].value};
            for (const Use &use : value.uses) {
                if (by_channel[use.node] == born) continue;
                if (use.user == output_port) copy.output = true;
                else copy.readers.insert(use.user);
            }
            if (born) layouts.channel_major.insert(copy.value);
            if (copy.output || !copy.readers.empty()) layouts.reorders.push_back(std::move(copy));
        }
        const auto by_value = [](const Reorder &a, const Reorder &b) { return a.value < b.value; };
        std::sort(layouts.reorders.begin(), layouts.reorders.end(), by_value);
        return layouts;
    }

private:
    struct Use {
        int user;    // a node of the graph, or a port
        size_t node; // of the cut
    };
    struct Value {
        std::vector<Use> uses;      // the first one writes it
        bool fixed = false;         // no use may have another order, nor a copy
        uint32_t rows = 0, row = 0; // of its arguments with layout groups; 0: there is none
    };

    size_t use_of(BufferId buffer, int user) {
        Value &value = values_[buffer];
        for (const Use &use : value.uses)
            if (use.user == user) return use.node;
        value.uses.push_back({user, cut_.add_node()});
        return value.uses.back().node;
    }
    // Rings of a stream's state lie row by row anyway.
    void fix(BufferId buffer, int user) {
        if (of_entry(buffer)) cut_.add_edge(use_of(buffer, user), MinCut::sink, MinCut::never);
    }
    void fix_all(BufferId buffer) { values_[buffer].fixed = true; }
    void join(size_t a, size_t b, uint64_t cost) {
        cut_.add_edge(a, b, cost);
        cut_.add_edge(b, a, cost);
    }

    // All users must see the same number of rows. Returns the bytes of the argument.
    uint64_t see_shape(BufferId buffer, const schedules::KernelArg &arg) {
        uint32_t row = 1;
        for (size_t d = 0; d + 1 < arg.dims.size(); d++) row *= arg.dims[d].extent;
        const uint32_t rows = arg.dims.back().extent;
        Value &value = values_[buffer];
        if (value.rows != 0 && value.rows != rows) fix_all(buffer);
        value.rows = rows;
        value.row = std::max(value.row, row);
        return uint64_t{row} * rows * sizeof(float);
    }

    // Float32, whatever is stored. Of float16 a part of a sector is a smaller one, so more is lost, and
    // copies move less.
    static uint64_t lost(uint64_t bytes, const schedules::Signature &signature) {
        const uint32_t more = signature.sectors_by_row - schedules::ideal_sectors;
        return bytes * byte_cost * more / schedules::ideal_sectors;
    }
    uint64_t cost_of_copy(const Value &value) const {
        if (value.fixed || !options_.dispatch_bytes || value.row % transposed_together != 0)
            return MinCut::never;
        const uint64_t moved = 2 * uint64_t{value.row} * value.rows * sizeof(float);
        const double dispatch = std::clamp(*options_.dispatch_bytes, 0.0, most_dispatch_bytes);
        return byte_cost * (moved + static_cast<uint64_t>(std::ceil(dispatch)));
    }

    // The uses of a value lie in one order, or there is a copy: one, however many read it.
    void together(const Value &value) {
        if (value.uses.empty()) return;
        if (value.fixed) cut_.add_edge(value.uses.front().node, MinCut::sink, MinCut::never);
        if (value.uses.size() == 1) return;
        const size_t any = cut_.add_node(), all = cut_.add_node();
        cut_.add_edge(any, all, cost_of_copy(value));
        for (const Use &use : value.uses) {
            cut_.add_edge(use.node, any, MinCut::never);
            cut_.add_edge(all, use.node, MinCut::never);
        }
    }

    const EntryPlan &plan_;
    const LayoutOptions options_;
    std::vector<Value> values_; // by buffer
    MinCut cut_;
};

} // namespace

ValueLayouts find_layouts(const EntryPlan &draft, const KernelSignatures &signatures,
                          const LayoutOptions &options) {
    LayoutChoice choice(draft, options);
    for (const Step &step : draft.steps) {
        const auto known = signatures.find(step.spec);
        const bool call = step.kind == Step::Kind::call && !step.cpu;
        if (call && known != signatures.end()) {
            choice.add_call(step, known->second);
            continue;
        }
        // The end of a sequence is cleared for one reader, in its copy if it has one.
        const bool tail = step.kind == Step::Kind::zero_tail && !step.cpu;
        const bool from_start = std::all_of(step.args.begin(), step.args.end(), [](const Argument &argument) {
            const auto *place = std::get_if<Place>(&argument);
            return !place || place->offset == 0;
        });
        if (tail && from_start && options.clears_tails) continue;
        choice.add_other(step, !call && !tail);
    }
    return choice.chosen();
}

} // namespace longwave::compiler
