#include "schedules/long_conv_depth_first.h"
#include <algorithm>

namespace longwave::schedules {

using namespace Halide;

namespace {

enum class Step { forward, middle, inverse };
struct Pass {
    Step step;
    int level, count = 1; // levels [level, level + count)
};

// The groups of points of one pass: where the points lie in the whole transform and in the small buffer.
struct Group {
    std::vector<Expr> at, local;
    Expr block;
    Expr piece; // which columns, or which row
    std::vector<RVar> loops;
};

// Passes one after the other over a small buffer, for one piece of the matrix after the other. The last one
// writes elsewhere and has the loop over the pieces.
struct Phase {
    bool columns;
    std::vector<Pass> passes;
    Func to; // what `out` defines
    std::function<Complex(const Group &group, size_t point)> in;
    std::function<void(Group &group, std::vector<Complex> &x)> out;
};

class Stages {
public:
    explicit Stages(const DepthFirst &form)
        : form_(form), transform_(form.transform), levels_(static_cast<int>(transform_.radices().size())),
          columns_(DepthFirst::column_levels(transform_, form.structure, form.rows)),
          first_(TransformPasses(transform_).leading_levels(form.structure.outer, columns_)),
          length_(transform_.blocks(levels_)), height_(transform_.blocks(columns_)),
          width_(length_ / height_), chunk_(divisor_at_most(width_, form.structure.chunk)) {
        if (form.copies) copy_ = {form.copy};
    }
    void define() const;
    void define_spectrum() const;

private:
    Group group(const Phase &stage, const Pass &pass, const Expr &piece) const;
    void define(const Phase &stage, const std::vector<Var> &rest) const;
    std::vector<Pass> column_passes(Step step) const;
    void there(Func a, const std::vector<Var> &rest) const;
    Func rows(Func a) const;
    void back(Func b) const;

    Func buffer(const std::string &name, const std::vector<Var> &rest) const {
        std::vector<Var> vars = {v_, part_, p_};
        vars.insert(vars.end(), rest.begin(), rest.end());
        return transform_buffer(name, vars, form_.type);
    }
    std::vector<Expr> copy() const { return {copy_.begin(), copy_.end()}; }
    void write(Func f, const Group &group, const std::vector<Complex> &x) const {
        write_buffer(f, form_.structure.vec)(group.at, x, group.loops);
    }

    const DepthFirst &form_;
    const RightAngle &transform_;
    const int levels_, columns_, first_; // all; of columns; of the pass whose twiddles are constants
    const int length_, height_, width_;  // height_ rows of width_ points
    const int chunk_;                    // columns beside each other
    const Var v_{"v"}, part_{"part"}, p_{"p"}, piece_{"piece"};
    std::vector<Var> copy_;
};

// Without a piece the group's loops go over all of them.
Group Stages::group(const Phase &stage, const Pass &pass, const Expr &piece) const {
    const int blocks = transform_.blocks(pass.level),
              points = transform_.blocks(pass.level + pass.count) / blocks;
    const int here = stage.columns ? blocks : blocks / height_; // blocks of this piece
    const int size = (stage.columns ? height_ : width_) / here, step = size / points;
    const int beside = stage.columns ? chunk_ : 1;
    const int pieces = piece.defined() ? 1 : stage.columns ? width_ / chunk_ : height_;
    const RDom d({{0, beside}, {0, step}, {0, here}, {0, pieces}}, Internal::unique_name("pass"));
    const Expr which = piece.defined() ? piece : Expr(d.w);
    const Expr base = (here == 1 ? Expr(0) : d.z * size) + (step == 1 ? Expr(0) : Expr(d.y));
    Group group{.piece = which, .loops = {d.x, d.y, d.z, d.w}};
    for (int i = 0; i < points; i++) {
        const Expr at = base + i * step;
        group.local.push_back(stage.columns ? at * chunk_ + d.x : at);
        group.at.push_back(stage.columns ? at * width_ + (which * chunk_ + d.x) : which * width_ + at);
    }
    group.block = here == 1 ? Expr(0) : Expr(d.z);
    if (!stage.columns) group.block += which * here;
    return group;
}

void Stages::define(const Phase &stage, const std::vector<Var> &rest) const {
    std::vector<Var> vars = {piece_};
    vars.insert(vars.end(), rest.begin(), rest.end());
    Func work = buffer(stage.columns ? "columns" : "row", vars);
    for (size_t i = 0; i < stage.passes.size(); i++) {
        const Pass &pass = stage.passes[i];
        const bool last = i + 1 == stage.passes.size();
        Group points = group(stage, pass, last ? Expr() : Expr(piece_));
        std::vector<Expr> where = {points.piece};
        where.insert(where.end(), rest.begin(), rest.end());
        std::vector<Complex> x;
        for (size_t m = 0; m < points.at.size(); m++)
            x.push_back(i == 0 ? stage.in(points, m) : read_buffer(work, where)(points.local[m]));
        if (pass.step != Step::inverse) transform_.forward(x, pass.level, points.block);
        if (pass.step == Step::middle) {
            for (size_t m = 0; m < x.size(); m++) x[m] = x[m] * form_.spectrum(points.at[m]);
        }
        if (pass.step != Step::forward) transform_.inverse(x, pass.level, points.block);
        if (!last) {
            write_buffer(work, form_.structure.vec)(points.local, x, points.loops);
            continue;
        }
        stage.out(points, x);
        if (i == 0) continue;
        work.bound_extent(piece_, 1);
        keep_buffer(work, form_.structure.vec, stage.columns ? height_ * chunk_ : width_,
                    LoopLevel(stage.to, points.loops.back()));
    }
}

std::vector<Pass> Stages::column_passes(Step step) const {
    std::vector<Pass> passes = {{step, 0, first_}};
    for (int level = first_; level < columns_; level++) passes.push_back({step, level});
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
        return {select(at < form_.rows, value, Internal::make_zero(form_.type)), Expr()};
    };
    define({.columns = true,
            .passes = column_passes(Step::forward),
            .to = a,
            .in = in,
            .out = [=, this](Group &group, std::vector<Complex> &x) { write(a, group, x); }},
           rest);
}

Func Stages::rows(Func a) const {
    Func b = buffer("b", copy_), from = a;
    Phase stage{.columns = false, .passes = {}, .to = b, .in = {}, .out = {}};
    const auto to = [this](Func f) {
        return [this, f](Group &group, std::vector<Complex> &x) { write(f, group, x); };
    };
    const auto read = [&from](const Group &group, size_t m) { return read_buffer(from)(group.at[m]); };
    for (int level = columns_; level < levels_; level++) stage.passes.push_back({Step::forward, level});
    stage.in = read, stage.out = to(b);
    if (form_.copies) {
        Func spectrum = buffer("spectrum_of_u", {});
        stage.to = spectrum, stage.out = to(spectrum);
        define(stage, {});
        keep_buffer(spectrum, form_.structure.vec, length_, LoopLevel(form_.y, form_.lanes));
        from = spectrum;
        stage.passes = {{Step::inverse, levels_ - 1}};
        stage.to = b, stage.out = to(b);
        stage.in = [=, this](const Group &group, size_t m) {
            return read_buffer(spectrum)(group.at[m]) * form_.spectrum(group.at[m]);
        };
    } else {
        stage.passes.back().step = Step::middle;
    }
    for (int level = levels_ - 2; level >= columns_; level--) stage.passes.push_back({Step::inverse, level});
    define(stage, copy_);
    return b;
}

void Stages::back(Func b) const {
    std::vector<Pass> passes = column_passes(Step::inverse);
    std::reverse(passes.begin(), passes.end());
    const int step = length_ / transform_.blocks(first_);
    const auto out = [=, this](Group &group, std::vector<Complex> &x) {
        if (form_.rows < length_) drop_outside(form_.rows, step, group.at[0], group.at, x);
        form_.output(group.at, x, group.loops);
    };
    define({.columns = true,
            .passes = passes,
            .to = form_.y,
            .in = [=, this](const Group &group, size_t m) { return read_buffer(b, copy())(group.at[m]); },
            .out = out},
           copy_);
}

void Stages::define() const {
    const int vec = form_.structure.vec;
    const LoopLevel whole(form_.y, form_.lanes);
    Func a = buffer("a", {});
    there(a, {});
    Func b = rows(a);
    back(b);
    keep_buffer(a, vec, length_, whole);
    keep_buffer(b, vec, length_, form_.copies ? LoopLevel(form_.y, form_.copy) : whole);
}

void Stages::define_spectrum() const {
    Func a = buffer("a", {form_.copy});
    there(a, {form_.copy});
    Phase stage{.columns = false, .passes = {}, .to = form_.y, .in = {}, .out = {}};
    for (int level = columns_; level < levels_; level++) stage.passes.push_back({Step::forward, level});
    stage.in = [=, this](const Group &group, size_t m) { return read_buffer(a, {form_.copy})(group.at[m]); };
    stage.out = [this](Group &group, std::vector<Complex> &x) { form_.output(group.at, x, group.loops); };
    define(stage, {form_.copy});
    keep_buffer(a, form_.structure.vec, length_, LoopLevel(form_.y, form_.copy));
}

} // namespace

int DepthFirst::column_levels(const RightAngle &transform, const TransformStructure &structure, int rows) {
    const TransformPasses passes(transform);
    if (structure.columns == 0 || passes.levels() < 2) return 0;
    const int levels = passes.leading_levels(structure.columns, passes.levels() - 1);
    // The last pass has to write something at every step (drop_outside).
    return rows < passes.length(passes.leading_levels(structure.outer, levels)) ? 0 : levels;
}

void DepthFirst::define() const { Stages(*this).define(); }
void DepthFirst::define_spectrum() const { Stages(*this).define_spectrum(); }

} // namespace longwave::schedules
