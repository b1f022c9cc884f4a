#include "schedules/contract/dyadic_plan.h"
#include <algorithm>

namespace longwave::schedules {

namespace {

using Reads = std::vector<DyadicRead>;

// Boxes and ramps of s rows. Without ramps `box` holds A_s; with them A_{s/2}, from which A_s is
// one addition and G_s needs no other ring. u itself is the stage of one row: no ring but its own.
struct Stage {
    int s = 1, box = 0, ramp = -1, hat = -1;
    int entry = 0; // rows by which the streams lag behind the input
    int half() const { return s / 2; }
};

class Planner {
public:
    Planner(const DyadicShape &shape, int rows)
        : shape_(shape), rows_(rows), lines_(!shape.nearest && shape.kernel_dim > 1) {
        ring();
        plan_.steps.push_back({{0, {}}});
    }
    DyadicPlan plan();

private:
    // Where scale i begins, by how much it is stretched, and how many taps it has.
    int64_t offset(int i) const {
        return i == 0 ? 0 : int64_t{shape_.kernel_dim} << (i - 1 + shape_.init_scale);
    }
    int stretch(int i) const { return 1 << (std::max(0, i - 1) + shape_.init_scale); }
    int length(int i) const {
        const int64_t whole = int64_t{shape_.kernel_dim} * stretch(i);
        return static_cast<int>(std::min(whole, shape_.taps - offset(i)));
    }
    // By how much its first hat or box lags behind the input.
    int entry(int i) const { return static_cast<int>(offset(i)) - (lines_ ? stretch(i) / 2 : 0); }

    int ring() {
        plan_.rings.emplace_back();
        reach_.push_back(0);
        return static_cast<int>(plan_.rings.size()) - 1;
    }
    // Notes that a ring is looked back so far, and returns how many rows of u that goes back.
    int look_back(int ring, int lag) {
        const auto which = static_cast<size_t>(ring);
        plan_.rings[which].lag = std::max(plan_.rings[which].lag, lag);
        return lag + reach_[which];
    }

    static Reads sum(std::initializer_list<Reads> parts);
    static Reads box(const Stage &stage, int lag, float factor);
    static Reads ramp(const Stage &stage, int lag, float factor) {
        if (stage.s == 1) return {{stage.box, lag, 0.5f * factor}};
        return {{stage.ramp, lag, factor}};
    }
    static Reads descent(const Stage &stage, int lag, float factor) {
        return sum({box(stage, lag, factor), ramp(stage, lag, -factor)});
    }

    Stage doubled(const Stage &from, int entry, bool ramps, bool hats);
    void step(std::vector<DyadicWrite> writes);
    void weigh(int scale, int weight, const Reads &reads);
    void comb(int scale, int first, int count, int ring, int lag, int stride);
    void add_scale(int i, const Stage &stage);
    void add_lines(int i, const Stage &stage);
    void add_rest(int i, int weight, int next, int rows);
    void place();

    const DyadicShape &shape_;
    const int rows_;
    const bool lines_;
    DyadicPlan plan_;
    std::vector<int> reach_; // of each ring
};

Reads Planner::sum(std::initializer_list<Reads> parts) {
    Reads all;
    for (const Reads &part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

Reads Planner::box(const Stage &stage, int lag, float factor) {
    if (stage.s == 1 || stage.ramp < 0) return {{stage.box, lag, factor}};
    return {{stage.box, lag, factor}, {stage.box, lag + stage.half(), factor}};
}

void Planner::step(std::vector<DyadicWrite> writes) {
    for (const DyadicWrite &write : writes)
        for (const DyadicRead &read : write.sum) {
            int &reach = reach_[static_cast<size_t>(write.ring)];
            reach = std::max(reach, look_back(read.ring, read.lag));
        }
    plan_.steps.push_back(std::move(writes));
}

// The stage of twice the rows, as of `entry`.
Stage Planner::doubled(const Stage &from, int entry, bool ramps, bool hats) {
    const int lag = entry - from.entry, s = from.s;
    Stage to{.s = 2 * s, .box = ring(), .entry = entry};
    if (!ramps) {
        step({{to.box, sum({box(from, lag, 1), box(from, lag + s, 1)})}});
        return to;
    }
    to.ramp = ring();
    const Reads rising = sum({ramp(from, lag, 0.5f), ramp(from, lag + s, 0.5f), box(from, lag + s, 0.5f)});
    std::vector<DyadicWrite> writes = {{to.box, box(from, lag, 1)}, {to.ramp, rising}};
    if (!hats) {
        step(writes);
        return to;
    }
    to.hat = ring();
    const Reads falling = descent(to, to.s, 1);
    if (to.s >= rows_) { // falling lies before this call's rows: all in one step
        writes.push_back({to.hat, sum({rising, falling})});
        step(writes);
    } else {
        step(writes);
        step({{to.hat, sum({ramp(to, 0, 1), falling})}});
    }
    return to;
}

void Planner::comb(int scale, int first, int count, int ring, int lag, int stride) {
    if (count <= 0) return;
    plan_.reach = std::max(plan_.reach, look_back(ring, lag + (count - 1) * stride));
    plan_.terms.push_back({scale, first, count, ring, lag, stride, 1});
}

void Planner::weigh(int scale, int weight, const Reads &reads) {
    for (const DyadicRead &read : reads) {
        plan_.reach = std::max(plan_.reach, look_back(read.ring, read.lag));
        plan_.terms.push_back({scale, weight, 1, read.ring, read.lag, 1, read.factor});
    }
}

// The last `rows` taps, fewer than a stretch: weight·(1 − f) + next·f with f from 0 to 1 over a
// stretch, or `weight` alone (next < 0). They are boxes and ramps of 2^b rows, small ones first, in
// streams that begin where these taps do.
void Planner::add_rest(int i, int weight, int next, int rows) {
    const float s = static_cast<float>(stretch(i));
    const int begin = shape_.taps - rows;
    Stage stage;
    for (int b = 0; rows >> b; b++) {
        if (b > 0) stage = doubled(stage, begin, next >= 0, false);
        if (!(rows >> b & 1)) continue;
        const int before = rows & ((1 << b) - 1), lag = before + begin - stage.entry;
        const float from = static_cast<float>(before) / s, size = static_cast<float>(1 << b) / s;
        if (next < 0) {
            weigh(i, weight, box(stage, lag, 1));
        } else {
            weigh(i, weight, sum({box(stage, lag, 1 - from), ramp(stage, lag, -size)}));
            weigh(i, next, sum({box(stage, lag, from), ramp(stage, lag, size)}));
        }
    }
}

void Planner::add_lines(int i, const Stage &stage) {
    const int d = shape_.kernel_dim, s = stage.s, h = stage.half(), base = entry(i) - stage.entry;
    const bool whole = length(i) == int64_t{d} * s;
    const int last = whole ? d - 1 : (length(i) - h) / s; // of the weights whose rise is complete
    const int first = base < 0 ? 1 : 0; // the first scale's first hat would begin before the present
    comb(i, first, last + 1 - first, stage.hat, base + first * s, s);
    if (base < 0) {
        weigh(i, 0, sum({Reads{{stage.box, 0, 1}}, descent(stage, h, 1)}));
    } else {
        weigh(i, 0, {{stage.box, base + h, 1}, {stage.ramp, base, -1}});
    }
    if (whole) {
        weigh(i, d - 1, {{stage.box, base + d * s + h, -1}, {stage.ramp, base + d * s, 1}});
        return;
    }
    weigh(i, last, descent(stage, base + (last + 1) * s, -1));
    add_rest(i, last, last + 1 < d ? last + 1 : -1, length(i) - h - last * s);
}

void Planner::add_scale(int i, const Stage &stage) {
    if (lines_ && stage.s > 1) return add_lines(i, stage);
    const int lag = static_cast<int>(offset(i)) - stage.entry;
    comb(i, 0, length(i) / stage.s, stage.box, lag, stage.s);
    add_rest(i, length(i) / stage.s, -1, length(i) % stage.s);
}

// Ring lengths are one odd number times powers of two, the number that wastes least; and whole
// vectors, so that blocks of 16 rows lie on cache lines.
void Planner::place() {
    const auto fitting = [](int odd, int lag) {
        int64_t length = int64_t{16} * odd;
        while (length < std::max(lag + dyadic_rows, 2 * dyadic_rows)) length *= 2;
        return length;
    };
    int64_t least = 0;
    int best = 1;
    for (int odd = 1; odd < 256; odd += 2) {
        int64_t total = 0;
        for (const DyadicRing &ring : plan_.rings) total += fitting(odd, ring.lag);
        if (least > 0 && total >= least) continue;
        least = total;
        best = odd;
    }
    for (DyadicRing &ring : plan_.rings) {
        ring.length = static_cast<int>(fitting(best, ring.lag));
        ring.offset = static_cast<int>(plan_.slots);
        plan_.period = std::max(plan_.period, ring.length);
        plan_.slots += ring.length + dyadic_rows;
    }
}

DyadicPlan Planner::plan() {
    comb(-1, 0, shape_.direct, 0, 0, 1);
    Stage stage;
    for (int i = 0; i < shape_.scales && offset(i) < shape_.taps; i++) {
        if (length(i) < (lines_ ? stretch(i) / 2 : stretch(i))) { // ends within its first constant
            add_rest(i, 0, -1, length(i));
            break;
        }
        while (stage.s < stretch(i))
            stage = doubled(stage, std::max(0, entry(i)), lines_, lines_ && 2 * stage.s == stretch(i));
        add_scale(i, stage);
    }
    place();
    return plan_;
}

} // namespace

int dyadic_call_rows(int block) {
    int rows = std::min(block, dyadic_rows);
    while (block % rows) rows--;
    return rows;
}

DyadicPlan dyadic_plan(const DyadicShape &shape, int rows) { return Planner(shape, rows).plan(); }

int64_t DyadicPlan::products() const {
    int64_t n = 0;
    for (const DyadicTerm &term : terms) n += term.count;
    return n;
}

int64_t DyadicPlan::additions() const {
    int64_t n = 0;
    for (const auto &step : steps)
        for (const DyadicWrite &write : step)
            n += std::max<int64_t>(0, static_cast<int64_t>(write.sum.size()) - 1);
    return n;
}

} // namespace longwave::schedules
