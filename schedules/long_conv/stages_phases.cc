// The rows of the depth-first form when lanes are phases (polyphase.h).
#include "schedules/long_conv/stages.h"

namespace longwave::schedules::depth_first {

using namespace Halide;

Polyphase::Group Stages::group_of_phases(const std::vector<Var> &rest) const {
    Polyphase::Group group{.g = g_, .index = piece_ * (width_ / 4) + g_, .rest = {piece_}};
    if (height_ == 1) group.index = g_;
    group.rest.insert(group.rest.end(), rest.begin(), rest.end());
    return group;
}

// Up to the first of the two levels of phases; what is kept on the way, for a group and for a row.
Polyphase::Step Stages::halfway(const Phase &ends, const std::vector<Var> &rest, std::vector<Func> &steps,
                                Func &row) const {
    Phase there = ends;
    there.passes = row_passes(Way::forward, levels_ - 1);
    there.to = Func();
    row = define(there, rest);
    const Polyphase::Group group = group_of_phases(rest);
    const auto blocks = [&](const Expr &phase) {
        std::vector<Complex> x;
        for (int r = 0; r < 4; r++) {
            std::vector<Expr> at = {phase, 0, g_ * 4 + r};
            at.insert(at.end(), group.rest.begin(), group.rest.end());
            x.push_back({row(at), Expr()});
            at[1] = 1;
            x.back().im = row(at);
        }
        return x;
    };
    const Polyphase::Step first = form_.phases->interleaved(group, blocks);
    Polyphase::Step half = form_.phases->halfway(group, first.values());
    steps = {first.f, half.f};
    return half;
}

void Stages::rows_of_phases(const Phase &ends) const {
    Phase stage = ends;
    const Polyphase &phases = *form_.phases;
    const Polyphase::Group group = group_of_phases(copy_);
    const Polyphase::Values kernel = [&](const Expr &value) {
        return form_.spectrum(group.index * Polyphase::values + value);
    };
    Func row;
    std::vector<Func> steps;
    const Polyphase::Step half = halfway(ends, each_, steps, row);
    Polyphase::Step product;
    if (form_.copies) {
        const Polyphase::Step spectrum = phases.spectrum(group_of_phases(each_), half.values());
        Func f = spectrum.f;
        for (Func step : steps) step.compute_at(f, g_);
        row.bound_extent(piece_, 1);
        keep(row, width_, LoopLevel(f, piece_));
        f.compute_at(LoopLevel(form_.y, form_.lanes));
        store(f, int64_t{2} * form_.type.bytes() * lanes_ * length_);
        std::vector<Expr> at = {Expr(g_), Expr(piece_)};
        at.insert(at.end(), each_.begin(), each_.end());
        product = phases.product_of(group, spectrum.values(at), kernel);
    } else {
        product = phases.product(group, half.values(), kernel);
        for (Func step : steps) step.compute_at(product.f, g_);
        stage.rows = {row};
    }
    const Polyphase::Step turned = phases.turned(group, product.values()),
                          back = phases.phases_of(group, turned.values()),
                          last = phases.turned(group, back.values());
    stage.in_groups = {turned.f, back.f, last.f};
    stage.product = product.f;
    stage.passes = row_passes(Way::inverse, levels_);
    stage.in = [=, this](const Group &points, size_t m) {
        std::vector<Expr> at = {Expr(points.loops[2]), points.piece};
        at.insert(at.end(), copy_.begin(), copy_.end());
        return last.values(at)(Polyphase::phases * static_cast<int>(m) + v_);
    };
    define(stage, copy_);
}

Func Stages::spectrum_of_phases() const {
    Func a = buffer("a", copy_), row;
    Phase ends{.columns = false, .passes = {}, .to = {}, .in = {}, .out = {}};
    ends.in = [=, this](const Group &group, size_t m) {
        return columns_ == 0 ? form_.input(group.at[m]) : read_buffer(a, exprs(copy_))(group.kept[m]);
    };
    if (columns_ > 0) {
        there(a, copy_);
        keep(a, height_ * pitch_, LoopLevel(form_.y, form_.copy));
    }
    std::vector<Func> steps;
    const Polyphase::Step half = halfway(ends, copy_, steps, row);
    const Func spectrum = form_.phases->spectrum(group_of_phases(copy_), half.values()).f;
    steps.push_back(spectrum);
    for (Func f : steps) f.compute_at(form_.y, g_);
    row.bound_extent(piece_, 1);
    keep(row, width_, LoopLevel(form_.y, piece_));
    return spectrum;
}

} // namespace longwave::schedules::depth_first
