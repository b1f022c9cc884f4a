#include "compiler/ops/long_conv/load_balancing.h"
#include <algorithm>
#include <optional>

namespace longwave::compiler::convolution {
namespace {

// Empty: a block would cost more than `most`.
std::vector<uint32_t> fill(const std::vector<Job> &jobs, const std::vector<double> &load, double most) {
    std::vector<uint32_t> blocks_of_jobs;
    size_t block = 0;
    double sum = load[0];
    for (const Job &job : jobs) {
        while (sum + job.cost() > most) {
            if (++block == load.size()) return {};
            sum = load[block];
        }
        sum += job.cost();
        blocks_of_jobs.push_back(static_cast<uint32_t>(block));
    }
    return blocks_of_jobs;
}

// The bytes from one place to another place of the same shape; empty if there is no such distance.
std::optional<uint64_t> distance(const Argument &from, const Argument &to) {
    const Place *a = std::get_if<Place>(&from), *b = std::get_if<Place>(&to);
    if (!a || !b) return a || b ? std::nullopt : std::optional<uint64_t>(0);
    if (a->buffer != b->buffer || b->offset < a->offset) return {};
    return b->offset - a->offset;
}

// Makes `next` one more tile of `step` when all its places lie one tile further.
bool add_tile(Step &step, const Step &next) {
    if (step.spec != next.spec) return false;
    for (size_t i = 0; i < step.args.size(); i++) {
        const auto far = distance(step.args[i], next.args[i]);
        const Place *place = std::get_if<Place>(&step.args[i]);
        if (!far || (place && step.tiles > 1 && *far != step.tiles * place->tile_bytes)) return false;
    }
    for (size_t i = 0; i < step.args.size(); i++)
        if (Place *place = std::get_if<Place>(&step.args[i]))
            place->tile_bytes = *distance(step.args[i], next.args[i]) / step.tiles;
    step.tiles++;
    step.cost += next.cost;
    return true;
}

// All steps of the job, or none.
bool add_tiles(std::vector<Step> &steps, const Job &next) {
    if (steps.size() != next.steps.size()) return false;
    std::vector<Step> wider = steps;
    for (size_t i = 0; i < steps.size(); i++)
        if (!add_tile(wider[i], next.steps[i])) return false;
    steps = std::move(wider);
    return true;
}

} // namespace

double Job::cost() const {
    double sum = 0;
    for (const Step &step : steps) sum += step.cost;
    return sum;
}

std::vector<uint32_t> balance_load(const std::vector<Job> &jobs, const std::vector<double> &load) {
    double low = 0, high = *std::max_element(load.begin(), load.end());
    for (const Job &job : jobs) high += job.cost();
    for (int halving = 0; halving < 50; halving++) {
        const double middle = (low + high) / 2;
        (fill(jobs, load, middle).empty() ? low : high) = middle;
    }
    return fill(jobs, load, high);
}

void spread_load(ir::KernelCall &call, const std::vector<Job> &jobs, uint32_t blocks, uint32_t replay) {
    const std::vector<uint32_t> blocks_of_jobs = balance_load(jobs, call.load(blocks));
    for (size_t first = 0, next = 0; first < jobs.size(); first = next) {
        std::vector<Step> steps = jobs[first].steps;
        for (next = first + 1; next < jobs.size() && blocks_of_jobs[next] == blocks_of_jobs[first]; next++)
            if (jobs[first].alone || jobs[next].alone || !add_tiles(steps, jobs[next])) break;
        for (Step &step : steps) {
            step.period = blocks;
            step.phase = blocks_of_jobs[first];
            call.also(std::move(step), replay);
        }
    }
}

} // namespace longwave::compiler::convolution
