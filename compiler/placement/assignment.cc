#include "compiler/placement/assignment.h"
#include "compiler/placement/transfers.h"
#include <algorithm>
#include <map>

namespace longwave::compiler {

namespace {

// Where the newest bytes of a value lie.
enum Lies : uint8_t { nowhere = 0, with_processor = 1, on_device = 2, on_both = 3 };

// How things stand between two calls: whether the one before was the processor's, where each value lies, and which side
// each layer under way is on. What no later call looks at is put back to 0, so that ways that differ in it are one.
struct Standing {
    bool processor = true;
    std::vector<uint8_t> values, layers; // layers: 0 open, else 1 + processor
    auto operator<=>(const Standing &) const = default;
};

// The first and last call that looks at each, SIZE_MAX: none does.
struct Uses {
    std::vector<size_t> last_of_value, first_of_layer, last_of_layer;

    explicit Uses(const Crossings &c)
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

class Prices {
public:
    Prices(const Crossings &c, const MoveTimes &moves) : c_(c), moves_(moves), uses_(c) {}

    Standing start() const {
        Standing standing{true, std::vector<uint8_t>(c_.bytes.size()),
                          std::vector<uint8_t>(c_.layers.size())};
        for (const size_t value : c_.inputs) standing.values[value] = with_processor;
        return standing;
    }
    // One more call on a side; what it costs.
    double step(Standing &standing, size_t i, bool processor) const {
        const Crossings::Work &work = c_.work[i];
        const LayerTimes &times = c_.layers[work.layer];
        double time = uses_.first_of_layer[work.layer] == i ? (processor ? times.processor : times.gpu) : 0;
        if (!processor && standing.processor) time += moves_.submission;
        standing.processor = processor;
        for (const size_t value : work.touches) time += bring(standing, value, processor);
        for (const size_t value : work.writes)
            standing.values[value] = processor ? with_processor : on_device;
        standing.layers[work.layer] = static_cast<uint8_t>(1 + processor);
        return time;
    }
    double end(Standing &standing) const {
        double time = 0;
        for (const size_t value : c_.outputs) time += bring(standing, value, true);
        return time;
    }
    // Behind call i.
    void forget(Standing &standing, size_t i) const {
        for (size_t value = 0; value < standing.values.size(); value++)
            if (uses_.last_of_value[value] <= i) standing.values[value] = nowhere;
        for (size_t layer = 0; layer < standing.layers.size(); layer++)
            if (uses_.last_of_layer[layer] <= i) standing.layers[layer] = 0;
    }

private:
    double bring(Standing &standing, size_t value, bool processor) const {
        uint8_t &where = standing.values[value];
        const uint8_t wanted = processor ? with_processor : on_device;
        if (where == nowhere || (where & wanted)) return 0;
        where = on_both;
        return moves_.move + moves_.byte * c_.bytes[value];
    }

    const Crossings &c_;
    const MoveTimes &moves_;
    const Uses uses_;
};

// The cheapest way to a standing, and the choice it came by.
struct Way {
    double time = 0;
    size_t before = 0; // index among the ways before the call
    bool processor = false;
};

// The cheapest go on where there are too many.
bool thin(std::map<Standing, Way> &ways, size_t most) {
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

Crossings crossings_of(const EntryPlan &plan, std::vector<std::string> &layers) {
    Crossings crossings;
    for (const Buffer &buffer : plan.buffers) crossings.bytes.push_back(static_cast<double>(buffer.bytes));
    for (const auto &port : plan.inputs) crossings.inputs.push_back(port.place.buffer);
    for (const auto &port : plan.outputs) crossings.outputs.push_back(port.place.buffer);
    const auto of_input = [&](const Step &step) {
        const BufferId buffer = std::get<Place>(step.args[0]).buffer;
        return std::find(crossings.inputs.begin(), crossings.inputs.end(), buffer) != crossings.inputs.end();
    };
    Touched touched;
    for (const Step &step : plan.steps) {
        if (step.kind == Step::Kind::to_device || step.kind == Step::Kind::to_processor) continue;
        if (step.kind != Step::Kind::call && of_input(step)) continue; // the processor's, whoever reads them
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

Assignment cheapest(const Crossings &c, const MoveTimes &moves, size_t most_ways) {
    const Prices prices(c, moves);
    Assignment best{std::vector<bool>(c.layers.size()), never};
    std::vector<std::vector<Way>> history;
    std::map<Standing, Way> ways{{prices.start(), {}}};
    for (size_t i = 0; i < c.work.size(); i++) {
        std::map<Standing, Way> next;
        size_t index = 0;
        history.emplace_back();
        for (const auto &[before, way] : ways) {
            history.back().push_back(way);
            const uint8_t fixed = before.layers[c.work[i].layer];
            for (const bool processor : {false, true}) {
                if (fixed && fixed != 1 + processor) continue;
                Standing after = before;
                const double time = way.time + prices.step(after, i, processor);
                if (time == never) continue;
                prices.forget(after, i);
                const auto [found, fresh] = next.try_emplace(after, Way{time, index, processor});
                if (!fresh && time < found->second.time) found->second = {time, index, processor};
            }
            index++;
        }
        best.exact = !thin(next, most_ways) && best.exact;
        ways = std::move(next);
    }
    Way last;
    for (const auto &[before, way] : ways) {
        Standing standing = before;
        const double time = way.time + prices.end(standing);
        if (time < best.time) best.time = time, last = way;
    }
    for (size_t i = c.work.size(); best.time < never && i-- > 0;) {
        best.on_processor[c.work[i].layer] = last.processor;
        last = history[i][last.before];
    }
    return best;
}

double time_of(const Crossings &c, const MoveTimes &moves, const std::vector<bool> &on_processor) {
    const Prices prices(c, moves);
    Standing standing = prices.start();
    double time = 0;
    for (size_t i = 0; i < c.work.size(); i++)
        time += prices.step(standing, i, on_processor[c.work[i].layer]);
    return time + prices.end(standing);
}

} // namespace longwave::compiler
