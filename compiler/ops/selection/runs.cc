#include "compiler/ops/selection/runs.h"
#include "schedules/contract/kernel.h"
#include <algorithm>

namespace longwave::ir {

namespace {

constexpr size_t piece = schedules::lanes;

// Lanes from one to the next one; 0: both are zero.
int32_t step_of(int32_t lane, int32_t next) {
    if (lane < 0 && next < 0) return 0;
    const bool beside = lane >= 0 && next >= 0 && (next - lane == 1 || next - lane == -1);
    return beside ? next - lane : INT32_MAX;
}

struct Run {
    size_t begin, end;
    int32_t first, step;
};

std::vector<Run> split(const std::vector<int32_t> &lanes) {
    std::vector<Run> runs;
    for (size_t i = 0; i < lanes.size();) {
        const int32_t step = i + 1 < lanes.size() ? step_of(lanes[i], lanes[i + 1]) : INT32_MAX;
        size_t end = i + 1;
        while (step != INT32_MAX && end < lanes.size() && step_of(lanes[end - 1], lanes[end]) == step) ++end;
        runs.push_back({i, end, lanes[i], lanes[i] < 0 ? 0 : step});
        i = end;
    }
    return runs;
}

// The last piece of a run overlaps the one before it.
void add(Pieces &pieces, const Run &run) {
    for (size_t at = run.begin; at < run.end; at += piece) {
        const size_t to = std::min(at, run.end - piece);
        pieces.to.push_back(static_cast<int32_t>(to));
        pieces.from.push_back(run.first + run.step * static_cast<int32_t>(to - run.begin));
    }
}

// Zeros may reach over what is written after them.
void add_zeros(Pieces &pieces, const Run &run, size_t row) {
    for (size_t at = run.begin; at < run.end; at += piece)
        pieces.to.push_back(static_cast<int32_t>(std::min(at, row - piece)));
}

} // namespace

std::optional<Runs> runs_of(const std::vector<int32_t> &lanes) {
    if (lanes.size() < piece) return std::nullopt;
    Runs runs;
    for (const Run &run : split(lanes)) {
        if (run.step == 0) {
            add_zeros(runs.zeros, run, lanes.size());
            continue;
        }
        if (run.end - run.begin < piece) return std::nullopt;
        add(run.step > 0 ? runs.forward : runs.backward, run);
    }
    if (runs.forward.to.empty() && runs.backward.to.empty()) return std::nullopt;
    return runs;
}

} // namespace longwave::ir
