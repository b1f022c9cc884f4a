#include "compiler/planner/convolution.h"
#include "schedules/twiddles.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace longwave::compiler {

namespace {

const char costs_text[] =
#include "long_conv_costs.inc"
    ;

// Figures of one machine, ns an output element; the choice needs their ratios only. Each table is read between its points on a logarithmic scale.
class Costs {
public:
    static const Costs &get() {
        static const Costs costs;
        return costs;
    }
    double direct(double rows, double taps) const { return at("direct", rows, 1) + taps * at("direct", rows, 2); }
    double transforms(double length) const { return at("transform", length, 1); } // one forward and one inverse
    double partition(double bytes) const { return at("partition", bytes, 1); }    // one product of spectra, of so many bytes in all

private:
    double at(const char *table, double where, size_t column) const {
        const auto &rows = json_.at(table);
        auto x = [&](size_t i) { return std::log2(rows[i][0].get<double>()); };
        auto y = [&](size_t i) { return rows[i][column].get<double>(); };
        double wanted = std::clamp(std::log2(where), x(0), x(rows.size() - 1));
        size_t i = 1;
        while (i + 1 < rows.size() && wanted > x(i)) i++;
        return y(i - 1) + (y(i) - y(i - 1)) * (wanted - x(i - 1)) / (x(i) - x(i - 1));
    }

    nlohmann::json json_ = nlohmann::json::parse(costs_text);
};

struct Candidate {
    ConvolutionChoice choice;
    std::string refused; // why it does not apply
};

Candidate direct(const ConvolutionShape &s) {
    Candidate c{.choice = {.algorithm = Algorithm::direct}};
    if (s.two_sided) c.refused = "it is one-sided, and the convolution has two sides";
    c.choice.cost = Costs::get().direct(s.rows, s.taps);
    return c;
}

Candidate right_angle(const ConvolutionShape &s) {
    Candidate c{.choice = {.algorithm = Algorithm::right_angle}};
    if (s.streaming) c.refused = "it transforms whole sequences";
    c.choice.length = schedules::right_angle_length(s.rows);
    c.choice.cost = Costs::get().transforms(c.choice.length) * c.choice.length / s.rows;
    return c;
}

// What one product of spectra costs an output element when partitions hold `taps` taps in all. The spectra of every layer, the signals' and the kernels', pass
// through the caches before this layer's are needed again.
double product(const ConvolutionShape &s, double taps) {
    const double complex_bytes = 2 * sizeof(float);
    return Costs::get().partition(complex_bytes * taps * s.channels * (1 + s.copies) * s.layers);
}

// Why a stream's blocks cannot be transformed; empty when they can.
std::string no_blocks(const ConvolutionShape &s) {
    if (!s.streaming) return "it is a streaming form";
    if (s.two_sided) return "it is one-sided, and the convolution has two sides";
    if (schedules::right_angle_radices(s.rows).empty())
        return fmt::format("a block of {} rows has no transform (products of 2, 3 and 5, at least 4)", s.rows);
    return {};
}

Candidate partitioned(const ConvolutionShape &s) {
    Candidate c{.choice = {.algorithm = Algorithm::partitioned}, .refused = no_blocks(s)};
    if (!c.refused.empty()) return c;
    c.choice.length = s.rows;
    c.choice.partitions = (s.taps + s.rows - 1) / s.rows;
    c.choice.cost = Costs::get().transforms(s.rows) + c.choice.partitions * product(s, s.taps);
    return c;
}

// The first taps in partitions of a block, the others in large partitions of R blocks (Gardner 1995): what these give of a large block of input is needed two
// large blocks later, so that its tiles of channels have R blocks to be computed in, one after the other, and the cost of a block stays flat.
Candidate nonuniform(const ConvolutionShape &s) {
    Candidate best{.choice = {.algorithm = Algorithm::nonuniform}, .refused = no_blocks(s)};
    if (!best.refused.empty()) return best;
    best.refused = fmt::format("{} taps are too few for blocks of {} rows", s.taps, s.rows);
    for (uint32_t ratio : {4, 8, 16}) { // powers of two: layers that choose differently still have a short period together
        uint64_t large = uint64_t{ratio} * s.rows;
        if (s.taps <= 2 * large) break;
        ConvolutionChoice choice{
            .algorithm = Algorithm::nonuniform, .length = s.rows, .partitions = 2 * ratio, .tail_length = static_cast<uint32_t>(large)};
        choice.tail_partitions = static_cast<uint32_t>((s.taps - 2 * large + large - 1) / large);
        choice.cost = Costs::get().transforms(s.rows) + Costs::get().transforms(static_cast<double>(large)) +
                      (choice.partitions + choice.tail_partitions) * product(s, s.taps);
        if (best.refused.empty() && choice.cost >= best.choice.cost) continue;
        best = {.choice = choice, .refused = {}};
    }
    return best;
}

} // namespace

const char *name_of(Algorithm algorithm) {
    switch (algorithm) {
    case Algorithm::direct: return "direct";
    case Algorithm::right_angle: return "right_angle";
    case Algorithm::partitioned: return "partitioned";
    case Algorithm::nonuniform: return "nonuniform";
    }
    return "";
}

Expected<ConvolutionChoice> choose_convolution(const ConvolutionShape &shape, const std::string &force) {
    std::vector<Candidate> all = {direct(shape), right_angle(shape), partitioned(shape), nonuniform(shape)};
    if (!force.empty()) {
        auto found = std::find_if(all.begin(), all.end(), [&](const Candidate &c) { return force == name_of(c.choice.algorithm); });
        if (found == all.end()) return Status::usage(fmt::format("--convolution {}: expected direct, right_angle, partitioned or nonuniform", force));
        if (found->refused.empty()) return found->choice;
        // A forced streaming form leaves whole sequences to the planner, and the other way round.
        bool whole_only = found->choice.algorithm == Algorithm::right_angle,
             stream_only = found->choice.algorithm == Algorithm::partitioned || found->choice.algorithm == Algorithm::nonuniform;
        bool other_entry = shape.streaming ? whole_only : stream_only;
        if (!other_entry) return Status::usage(fmt::format("--convolution {} does not apply: {}", force, found->refused));
    }
    std::erase_if(all, [](const Candidate &c) { return !c.refused.empty(); });
    if (all.empty()) return Status::input(fmt::format("no algorithm computes a two-sided convolution of {} channel", shape.channels));
    std::sort(all.begin(), all.end(), [](const Candidate &a, const Candidate &b) { return a.choice.cost < b.choice.cost; });
    ConvolutionChoice best = all[0].choice;
    if (all.size() > 1) best.runner_up = fmt::format("{}, +{:.0f} %", name_of(all[1].choice.algorithm), 100 * (all[1].choice.cost / best.cost - 1));
    return best;
}

} // namespace longwave::compiler
