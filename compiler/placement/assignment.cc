#include "compiler/placement/assignment.h"
#include "compiler/plan/transfers.h"
#include <algorithm>
#include <map>

namespace longwave::compiler {

namespace {

// Where the newest bytes of a value lie.
enum Lies : uint8_t { nowhere = 0, on_cpu = 1, on_device = 2, on_both = 3 };

// The state between two calls: the device of the call before, the place of each value, and the
// device of each layer that has begun. Parts that no later call reads are 0, so that equal futures
// are one state.
struct DpState {
    bool cpu = true;
    std::vector<uint8_t> values, layers; // layers: 0 open, 1 the device, 2 the CPU
    auto operator<=>(const DpState &) const = default;
};

// The first and last call that reads each. SIZE_MAX: no call does.
struct Uses {
    std::vector<size_t> last_of_value, first_of_layer, last_of_layer;

    explicit Uses(const TransferGraph &graph)
        : last_of_value(graph.bytes.size(), 0), first_of_layer(graph.layers.size(), SIZE_MAX),
          last_of_layer(graph.layers.size(), 0) {
        for (size_t i = 0; i < graph.work.size(); i++) {
            for (const size_t value : graph.work[i].touches) last_of_value[value] = i;
            const size_t layer = graph.work[i].layer;
            first_of_layer[layer] = std::min(first_of_layer[layer], i);
            last_of_layer[layer] = i;
        }
        for (const size_t value : graph.outputs) last_of_value[value] = graph.work.size();
    }
};

class CostModel {
public:
    CostModel(const TransferGraph &graph, const TransferTimes &times)
        : graph_(graph), times_(times), uses_(graph) {}

    DpState start() const {
        DpState state{true, std::vector<uint8_t>(graph_.bytes.size()),
                      std::vector<uint8_t>(graph_.layers.size())};
        for (const size_t value : graph_.inputs) state.values[value] = on_cpu;
        return state;
    }
    // Computes call i on the CPU or on the device. Returns what that costs.
    double step(DpState &state, size_t i, bool cpu) const {
        const TransferGraph::Work &work = graph_.work[i];
        const LayerTimes &layer = graph_.layers[work.layer];
        double time = uses_.first_of_layer[work.layer] == i ? (cpu ? layer.cpu : layer.device) : 0;
        if (!cpu && state.cpu) time += times_.submission;
        state.cpu = cpu;
        for (const size_t value : work.touches) time += transfer(state, value, cpu);
        for (const size_t value : work.writes) state.values[value] = cpu ? on_cpu : on_device;
        state.layers[work.layer] = static_cast<uint8_t>(1 + cpu);
        return time;
    }
    double end(DpState &state) const {
        double time = 0;
        for (const size_t value : graph_.outputs) time += transfer(state, value, true);
        return time;
    }
    // Clears what no call after call i reads.
    void forget(DpState &state, size_t i) const {
        for (size_t value = 0; value < state.values.size(); value++)
            if (uses_.last_of_value[value] <= i) state.values[value] = nowhere;
        for (size_t layer = 0; layer < state.layers.size(); layer++)
            if (uses_.last_of_layer[layer] <= i) state.layers[layer] = 0;
    }

private:
    double transfer(DpState &state, size_t value, bool cpu) const {
        uint8_t &where = state.values[value];
        const uint8_t wanted = cpu ? on_cpu : on_device;
        if (where == nowhere || (where & wanted)) return 0;
        where = on_both;
        return times_.transfer + times_.byte * graph_.bytes[value];
    }

    const TransferGraph &graph_;
    const TransferTimes &times_;
    const Uses uses_;
};

// The cheapest path to a state, and its last decision.
struct DpPath {
    double time = 0;
    size_t before = 0; // index of the state before the call
    bool cpu = false;
};

// Keeps the cheapest `most` states. Returns whether it dropped any.
bool thin(std::map<DpState, DpPath> &paths, size_t most) {
    if (paths.size() <= most) return false;
    std::vector<double> times;
    times.reserve(paths.size());
    for (const auto &[state, path] : paths) times.push_back(path.time);
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(most), times.end());
    const double limit = times[most];
    size_t alike = most - static_cast<size_t>(std::count_if(times.begin(), times.end(),
                                                            [&](double time) { return time < limit; }));
    std::erase_if(paths, [&](const auto &path) {
        if (path.second.time == limit && alike > 0) return alike-- == 0;
        return path.second.time >= limit;
    });
    return true;
}

} // namespace

TransferGraph transfer_graph_of(const EntryPlan &plan, std::vector<std::string> &layers) {
    TransferGraph graph;
    for (const Buffer &buffer : plan.buffers) graph.bytes.push_back(static_cast<double>(buffer.bytes));
    for (const auto &port : plan.inputs) graph.inputs.push_back(port.place.buffer);
    for (const auto &port : plan.outputs) graph.outputs.push_back(port.place.buffer);
    const auto of_input = [&](const Step &step) {
        const BufferId buffer = std::get<Place>(step.args[0]).buffer;
        return std::find(graph.inputs.begin(), graph.inputs.end(), buffer) != graph.inputs.end();
    };
    Touched touched;
    for (const Step &step : plan.steps) {
        if (step.kind == Step::Kind::to_device || step.kind == Step::Kind::to_cpu) continue;
        if (step.kind != Step::Kind::call && of_input(step)) continue; // always on the CPU
        touched.add(step);
        if (step.kind != Step::Kind::call) continue; // for the next call
        const auto [at, end] = std::pair{std::find(layers.begin(), layers.end(), step.layer), layers.end()};
        const size_t layer = static_cast<size_t>(at - layers.begin());
        if (at == end) layers.push_back(step.layer);
        graph.work.push_back({layer,
                              {touched.all.begin(), touched.all.end()},
                              {touched.written.begin(), touched.written.end()}});
        touched = {};
    }
    graph.layers.resize(layers.size());
    return graph;
}

Assignment cheapest(const TransferGraph &graph, const TransferTimes &times, size_t most_states) {
    const CostModel costs(graph, times);
    Assignment best{std::vector<bool>(graph.layers.size()), never};
    std::vector<std::vector<DpPath>> history;
    std::map<DpState, DpPath> paths{{costs.start(), {}}};
    for (size_t i = 0; i < graph.work.size(); i++) {
        std::map<DpState, DpPath> next;
        size_t index = 0;
        history.emplace_back();
        for (const auto &[before, path] : paths) {
            history.back().push_back(path);
            const uint8_t fixed = before.layers[graph.work[i].layer];
            for (const bool cpu : {false, true}) {
                if (fixed && fixed != 1 + cpu) continue;
                DpState after = before;
                const double time = path.time + costs.step(after, i, cpu);
                if (time == never) continue;
                costs.forget(after, i);
                const auto [found, fresh] = next.try_emplace(after, DpPath{time, index, cpu});
                if (!fresh && time < found->second.time) found->second = {time, index, cpu};
            }
            index++;
        }
        best.exact = !thin(next, most_states) && best.exact;
        paths = std::move(next);
    }
    DpPath last;
    for (const auto &[before, path] : paths) {
        DpState state = before;
        const double time = path.time + costs.end(state);
        if (time < best.time) best.time = time, last = path;
    }
    for (size_t i = graph.work.size(); best.time < never && i-- > 0;) {
        best.cpu_layers[graph.work[i].layer] = last.cpu;
        last = history[i][last.before];
    }
    return best;
}

double time_of(const TransferGraph &graph, const TransferTimes &times, const std::vector<bool> &cpu_layers) {
    const CostModel costs(graph, times);
    DpState state = costs.start();
    double time = 0;
    for (size_t i = 0; i < graph.work.size(); i++)
        time += costs.step(state, i, cpu_layers[graph.work[i].layer]);
    return time + costs.end(state);
}

} // namespace longwave::compiler
