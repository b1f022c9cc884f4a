#include "compiler/placement/assignment.h"
#include "compiler/plan/transfers.h"
#include <algorithm>
#include <map>

namespace longwave::compiler {

namespace {

// Where the newest bytes of a value lie.
enum Lies : uint8_t { nowhere = 0, with_cpu = 1, on_device = 2, on_both = 3 };

// How things stand between two calls: whether the one before was the CPU's, where each value lies, and which side
// each layer under way is on. What no later call looks at is put back to 0, so that ways that differ in it are one.
struct DpState {
    bool cpu = true;
    std::vector<uint8_t> values, layers; // layers: 0 open, else 1 + processor
    auto operator<=>(const DpState &) const = default;
};

// The first and last call that looks at each, SIZE_MAX: none does.
struct Uses {
    std::vector<size_t> last_of_value, first_of_layer, last_of_layer;

    explicit Uses(const TransferGraph &c)
        : last_of_value(c.bytes.size(), 0), first_of_layer(c.layers.size(), SIZE_MAX),
          last_of_layer(c.layers.size(), 0) {
        for (size_t i = 0; i < c.work.size(); i++) {
            for (const size_t value : c.work[i].touches) last_of_value[value] = i;
            const size_t layer = c.work[i].layer;
            first_of_layer[layer] = std::min(first_of_layer[layer], i);
            last_of_layer[layer] = i;
        }
        for (const size_t value : c.outputs) last_of_value[value] = c.work.size();
    }
};

class CostModel {
public:
    CostModel(const TransferGraph &c, const MoveTimes &moves) : c_(c), moves_(moves), uses_(c) {}

    DpState start() const {
        DpState standing{true, std::vector<uint8_t>(c_.bytes.size()),
                          std::vector<uint8_t>(c_.layers.size())};
        for (const size_t value : c_.inputs) standing.values[value] = with_cpu;
        return standing;
    }
    // One more call on a side; what it costs.
    double step(DpState &standing, size_t i, bool cpu) const {
        const TransferGraph::Work &work = c_.work[i];
        const LayerTimes &times = c_.layers[work.layer];
        double time = uses_.first_of_layer[work.layer] == i ? (cpu ? times.cpu : times.gpu) : 0;
        if (!cpu && standing.cpu) time += moves_.submission;
        standing.cpu = cpu;
        for (const size_t value : work.touches) time += bring(standing, value, cpu);
        for (const size_t value : work.writes)
            standing.values[value] = cpu ? with_cpu : on_device;
        standing.layers[work.layer] = static_cast<uint8_t>(1 + cpu);
        return time;
    }
    double end(DpState &standing) const {
        double time = 0;
        for (const size_t value : c_.outputs) time += bring(standing, value, true);
        return time;
    }
    // Behind call i.
    void forget(DpState &standing, size_t i) const {
        for (size_t value = 0; value < standing.values.size(); value++)
            if (uses_.last_of_value[value] <= i) standing.values[value] = nowhere;
        for (size_t layer = 0; layer < standing.layers.size(); layer++)
            if (uses_.last_of_layer[layer] <= i) standing.layers[layer] = 0;
    }

private:
    double bring(DpState &standing, size_t value, bool cpu) const {
        uint8_t &where = standing.values[value];
        const uint8_t wanted = cpu ? with_cpu : on_device;
        if (where == nowhere || (where & wanted)) return 0;
        where = on_both;
        return moves_.move + moves_.byte * c_.bytes[value];
    }

    const TransferGraph &c_;
    const MoveTimes &moves_;
    const Uses uses_;
};

// The cheapest way to a standing, and the choice it came by.
struct DpPath {
    double time = 0;
    size_t before = 0; // index among the ways before the call
    bool cpu = false;
};

// The cheapest go on where there are too many.
bool thin(std::map<DpState, DpPath> &ways, size_t most) {
    if (ways.size() <= most) return false;
    std::vector<double> times;
    times.reserve(ways.size());
    for (const auto &[standing, way] : ways) times.push_back(way.time);
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(most), times.end());
    const double limit = times[most];
    size_t alike = most - static_cast<size_t>(std::count_if(times.begin(), times.end(),
                                                            [&](double time) { return time < limit; }));
    std::erase_if(ways, [&](const auto &way) {
        if (way.second.time == limit && alike > 0) return alike-- == 0;
        return way.second.time >= limit;
    });
    return true;
}

} // namespace

TransferGraph crossings_of(const EntryPlan &plan, std::vector<std::string> &layers) {
    TransferGraph crossings;
    for (const Buffer &buffer : plan.buffers) crossings.bytes.push_back(static_cast<double>(buffer.bytes));
    for (const auto &port : plan.inputs) crossings.inputs.push_back(port.place.buffer);
    for (const auto &port : plan.outputs) crossings.outputs.push_back(port.place.buffer);
    const auto of_input = [&](const Step &step) {
        const BufferId buffer = std::get<Place>(step.args[0]).buffer;
        return std::find(crossings.inputs.begin(), crossings.inputs.end(), buffer) != crossings.inputs.end();
    };
    Touched touched;
    for (const Step &step : plan.steps) {
        if (step.kind == Step::Kind::to_device || step.kind == Step::Kind::to_cpu) continue;
        if (step.kind != Step::Kind::call && of_input(step)) continue; // the CPU's, whoever reads them
        touched.add(step);
        if (step.kind != Step::Kind::call) continue; // for the next call
        const auto [at, end] = std::pair{std::find(layers.begin(), layers.end(), step.layer), layers.end()};
        const size_t layer = static_cast<size_t>(at - layers.begin());
        if (at == end) layers.push_back(step.layer);
        crossings.work.push_back({layer,
                                  {touched.all.begin(), touched.all.end()},
                                  {touched.written.begin(), touched.written.end()}});
        touched = {};
    }
    crossings.layers.resize(layers.size());
    return crossings;
}

Assignment cheapest(const TransferGraph &c, const MoveTimes &moves, size_t most_ways) {
    const CostModel prices(c, moves);
    Assignment best{std::vector<bool>(c.layers.size()), never};
    std::vector<std::vector<DpPath>> history;
    std::map<DpState, DpPath> ways{{prices.start(), {}}};
    for (size_t i = 0; i < c.work.size(); i++) {
        std::map<DpState, DpPath> next;
        size_t index = 0;
        history.emplace_back();
        for (const auto &[before, way] : ways) {
            history.back().push_back(way);
            const uint8_t fixed = before.layers[c.work[i].layer];
            for (const bool cpu : {false, true}) {
                if (fixed && fixed != 1 + cpu) continue;
                DpState after = before;
                const double time = way.time + prices.step(after, i, cpu);
                if (time == never) continue;
                prices.forget(after, i);
                const auto [found, fresh] = next.try_emplace(after, DpPath{time, index, cpu});
                if (!fresh && time < found->second.time) found->second = {time, index, cpu};
            }
            index++;
        }
        best.exact = !thin(next, most_ways) && best.exact;
        ways = std::move(next);
    }
    DpPath last;
    for (const auto &[before, way] : ways) {
        DpState standing = before;
        const double time = way.time + prices.end(standing);
        if (time < best.time) best.time = time, last = way;
    }
    for (size_t i = c.work.size(); best.time < never && i-- > 0;) {
        best.cpu_layers[c.work[i].layer] = last.cpu;
        last = history[i][last.before];
    }
    return best;
}

double time_of(const TransferGraph &c, const MoveTimes &moves, const std::vector<bool> &cpu_layers) {
    const CostModel prices(c, moves);
    DpState standing = prices.start();
    double time = 0;
    for (size_t i = 0; i < c.work.size(); i++)
        time += prices.step(standing, i, cpu_layers[c.work[i].layer]);
    return time + prices.end(standing);
}

} // namespace longwave::compiler
