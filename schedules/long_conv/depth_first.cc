#include "schedules/halide/internals.h"
#include "schedules/long_conv/stages.h"
#include <algorithm>

namespace longwave::schedules {

using namespace Halide;

namespace depth_first {

// Without a piece the group's loops go over all of them.
Group Stages::group(const Phase &stage, const Pass &pass, const Expr &piece) const {
    const int blocks = transform_.blocks(pass.level),
              points = transform_.blocks(pass.level + pass.count) / blocks;
    const int here = stage.columns ? blocks : blocks / height_; // blocks of this piece
    const int size = (stage.columns ? height_ : width_) / here, step = size / points;
    const int beside = stage.columns ? chunk_ : 1;
    const int pieces = piece.defined() ? 1 : stage.columns ? width_ / chunk_ : height_;
    const RDom d({{0, beside}, {0, step}, {0, here}, {0, pieces}}, fresh_name("pass"));
    const Expr which = piece.defined() ? piece : Expr(d.w);
    const Expr base = (here == 1 ? Expr(0) : d.z * size) + (step == 1 ? Expr(0) : Expr(d.y));
    Group group{.piece = which, .loops = {d.x, d.y, d.z, d.w}};
    for (int i = 0; i < points; i++) {
        const Expr at = base + i * step;
        group.local.push_back(stage.columns ? at * chunk_ + d.x : at);
        const Expr row = stage.columns ? at : which, column = stage.columns ? which * chunk_ + d.x : at;
        group.at.push_back(row * width_ + column);
        group.kept.push_back(row * pitch_ + column);
    }
    group.block = here == 1 ? Expr(0) : Expr(d.z);
    if (!stage.columns) group.block += which * here;
    return group;
}

// The small buffer, if there is one.
Func Stages::define(const Phase &stage, const std::vector<Var> &rest) const {
    std::vector<Var> vars = {piece_};
    vars.insert(vars.end(), rest.begin(), rest.end());
    Func work = buffer(stage.columns ? "columns" : "row", vars);
    for (size_t i = 0; i < stage.passes.size(); i++) {
        const Pass &pass = stage.passes[i];
        const bool last = stage.to.defined() && i + 1 == stage.passes.size();
        Group points = group(stage, pass, last ? Expr() : Expr(piece_));
        std::vector<Expr> where = {points.piece};
        where.insert(where.end(), rest.begin(), rest.end());
        std::vector<Complex> x;
        for (size_t m = 0; m < points.at.size(); m++)
            x.push_back(i == 0 ? stage.in(points, m) : read_buffer(work, where)(points.local[m]));
        if (pass.way != Way::inverse) transform_.forward(x, pass.level, points.block);
        if (pass.way == Way::middle) {
            for (size_t m = 0; m < x.size(); m++) x[m] = x[m] * form_.spectrum(points.at[m]);
        }
        if (pass.way != Way::forward) transform_.inverse(x, pass.level, points.block);
        if (i == 0)
            for (Func f : stage.in_groups) f.compute_at(LoopLevel(last ? stage.to : work, points.loops[2]));
        if (!last) {
            write_buffer(work, form_.structure.vec)(points.local, x, points.loops);
            continue;
        }
        stage.out(points, x);
        const LoopLevel pieces(stage.to, points.loops.back());
        for (Func f : stage.rows) f.bound_extent(piece_, 1), keep(f, width_, pieces);
        if (Func f = stage.product; f.defined()) {
            f.compute_at(pieces).bound_extent(g_, width_ / 4).bound_extent(piece_, 1);
            store(f, int64_t{2} * form_.type.bytes() * lanes_ * width_);
        }
        if (i == 0) continue;
        work.bound_extent(piece_, 1);
        keep(work, stage.columns ? height_ * chunk_ : width_, pieces);
    }
    return work;
}

std::vector<Pass> Stages::column_passes(Way way) const {
    std::vector<Pass> passes = {{way, 0, first_}};
    for (int level = first_; level < columns_; level++) passes.push_back({way, level});
    return passes;
}

std::vector<Pass> Stages::row_passes(Way way, int end) const {
    std::vector<Pass> passes;
    for (int level = columns_; level < end; level++) passes.push_back({way, level});
    if (way == Way::inverse) std::reverse(passes.begin(), passes.end());
    return passes;
}

void Stages::there(Func a, const std::vector<Var> &rest) const {
    const int step = length_ / transform_.blocks(first_);
    const auto in = [=, this](const Group &group, size_t m) -> Complex {
        const Expr &at = group.at[m];
        const int first = static_cast<int>(m) * step; // of the positions of this point
        if (first >= form_.rows) return {};
        if (first + step <= form_.rows) return form_.input(at);
        const Expr value = form_.input(min(at, form_.rows - 1)).re;
        return {select(at < form_.rows, value, zero(form_.type)), Expr()};
    };
    define({.columns = true,
            .passes = column_passes(Way::forward),
            .to = a,
            .in = in,
            .out = [=, this](Group &group, std::vector<Complex> &x) { write(a, group, x); }},
           rest);
}

// `ends`: where rows come from and go to. Returns what several copies share, if there are several.
Func Stages::rows(const Phase &ends) const {
    Phase stage = ends;
    Func spectrum;
    stage.passes = row_passes(Way::forward, levels_);
    if (form_.copies) {
        spectrum = buffer("spectrum_of_u", {});
        stage.to = spectrum;
        stage.out = [=, this](Group &group, std::vector<Complex> &x) { write(spectrum, group, x); };
        define(stage, {});
        keep(spectrum, height_ * pitch_, LoopLevel(form_.y, form_.lanes));
        stage = ends;
        stage.passes = {{Way::inverse, levels_ - 1}};
        stage.in = [=, this](const Group &group, size_t m) {
            return read_buffer(spectrum)(group.kept[m]) * form_.spectrum(group.at[m]);
        };
    } else {
        stage.passes.back().way = Way::middle;
    }
    const std::vector<Pass> back = row_passes(Way::inverse, levels_ - 1);
    stage.passes.insert(stage.passes.end(), back.begin(), back.end());
    define(stage, copy_);
    return spectrum;
}

void Stages::back(Func b) const {
    std::vector<Pass> passes = column_passes(Way::inverse);
    std::reverse(passes.begin(), passes.end());
    const int step = length_ / transform_.blocks(first_);
    const auto out = [=, this](Group &group, std::vector<Complex> &x) {
        if (form_.rows < length_) drop_outside(form_.rows, step, group.at[0], group.at, x);
        form_.output(group.at, x, group.loops);
    };
    define({.columns = true,
            .passes = passes,
            .to = form_.y,
            .in = [=, this](const Group &group,
                            size_t m) { return read_buffer(b, exprs(copy_))(group.kept[m]); },
            .out = out},
           copy_);
}

void Stages::define(KernelBuilder &k) const {
    const LoopLevel whole(form_.y, form_.lanes);
    Phase ends{.columns = false, .passes = {}, .to = form_.y, .in = {}, .out = {}};
    if (columns_ == 0) {
        ends.in = [=, this](const Group &group, size_t m) { return form_.input(group.at[m]); };
        ends.out = [=, this](Group &group, std::vector<Complex> &x) {
            form_.output(group.at, x, group.loops);
        };
        return rows_of_phases(ends);
    }
    Func a = buffer("a", each_), b = buffer("b", copy_);
    there(a, each_);
    ends.to = b;
    ends.in = [=, this](const Group &group, size_t m) { return read_buffer(a, exprs(each_))(group.kept[m]); };
    ends.out = [=, this](Group &group, std::vector<Complex> &x) { write(b, group, x); };
    if (form_.phases) rows_of_phases(ends);
    else if (const Func spectrum = rows(ends); form_.copies) k.share_memory(a, spectrum);
    if (!form_.copies) k.share_memory(a, b);
    back(b);
    keep(a, height_ * pitch_, whole);
    keep(b, height_ * pitch_, form_.copies ? LoopLevel(form_.y, form_.copy) : whole);
}

void Stages::define_spectrum() const {
    Func a = buffer("a", {form_.copy});
    there(a, {form_.copy});
    Phase stage{.columns = false, .passes = {}, .to = form_.y, .in = {}, .out = {}};
    stage.passes = row_passes(Way::forward, levels_);
    stage.in = [=, this](const Group &group, size_t m) {
        return read_buffer(a, {form_.copy})(group.kept[m]);
    };
    stage.out = [this](Group &group, std::vector<Complex> &x) { form_.output(group.at, x, group.loops); };
    define(stage, {form_.copy});
    keep(a, height_ * pitch_, LoopLevel(form_.y, form_.copy));
}

} // namespace depth_first

int DepthFirst::column_levels(const RightAngle &transform, const TransformStructure &structure, int rows,
                              bool phases) {
    const TransformPasses passes(transform);
    const int most = passes.levels() - (phases ? 2 : 1); // a row of phases has a pass before its last level
    if (structure.columns == 0 || most < 1) return 0;
    const int levels = passes.leading_levels(structure.columns, most);
    // The last pass has to write something at every step (drop_outside).
    return rows < passes.length(passes.leading_levels(structure.outer, levels)) ? 0 : levels;
}

void DepthFirst::define(KernelBuilder &k) const { depth_first::Stages(*this).define(k); }
void DepthFirst::define_spectrum() const { depth_first::Stages(*this).define_spectrum(); }
Func DepthFirst::spectrum_of_phases() const { return depth_first::Stages(*this).spectrum_of_phases(); }

} // namespace longwave::schedules
