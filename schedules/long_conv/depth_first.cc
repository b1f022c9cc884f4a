#include "schedules/long_conv/depth_first.h"
#include "schedules/halide/internals.h"
#include <algorithm>

namespace longwave::schedules {

using namespace Halide;

namespace depth_first {

enum class Way { forward, middle, inverse };
struct Pass {
    Way way;
    int level, count = 1; // levels [level, level + count)
};

// The groups of points of one pass: where the points lie in the whole transform, in a buffer of all
// of it, whose rows are `pitch_` apart, and in the small buffer.
struct Group {
    std::vector<Halide::Expr> at, kept, local;
    Halide::Expr block;
    Halide::Expr piece; // which columns, or which row
    std::vector<Halide::RVar> loops;
};

// Passes one after the other over a small buffer, for one piece of the matrix after the other. The
// last one writes elsewhere and has the loop over the pieces.
struct Phase {
    bool columns;
    std::vector<Pass> passes;
    Halide::Func to; // what `out` defines; undefined: the small buffer is the end of it
    std::function<Complex(const Group &group, size_t point)> in;
    std::function<void(Group &group, std::vector<Complex> &x)> out;
    // Of phases. Kept for a piece: the row before the groups, and `product`, all groups of it
    // between the way there and the way back, so that one group's waiting is hidden by others. Kept
    // for a group of the first pass: the rest.
    std::vector<Halide::Func> rows = {}, in_groups = {};
    Halide::Func product = {};
};

class Stages {
public:
    explicit Stages(const DepthFirst &form)
        : form_(form), transform_(form.transform), levels_(static_cast<int>(transform_.radices().size())),
          columns_(DepthFirst::column_levels(transform_, form.structure, form.rows, form.phases)),
          first_(TransformPasses(transform_).leading_levels(form.structure.outer, columns_)),
          length_(transform_.blocks(levels_)), height_(transform_.blocks(columns_)),
          width_(length_ / height_), pitch_(width_ + form.structure.gap),
          chunk_(divisor_at_most(width_, form.structure.chunk)),
          lanes_(form.phases ? Polyphase::phases : form.structure.vec) {
        if (form.phases) each_ = {form.lanes};
        each_.insert(each_.end(), form.outside.begin(), form.outside.end());
        copy_ = each_;
        if (form.copies) copy_.push_back(form.copy);
    }
    void define(KernelBuilder &k) const;
    void define_spectrum() const;
    Halide::Func spectrum_of_phases() const;

private:
    Group group(const Phase &stage, const Pass &pass, const Halide::Expr &piece) const;
    Halide::Func define(const Phase &stage, const std::vector<Halide::Var> &rest) const;
    std::vector<Pass> column_passes(Way way) const;
    std::vector<Pass> row_passes(Way way, int end) const;
    void there(Halide::Func a, const std::vector<Halide::Var> &rest) const;
    Halide::Func rows(const Phase &ends) const;
    void rows_of_phases(const Phase &ends) const;
    Polyphase::Step halfway(const Phase &ends, const std::vector<Halide::Var> &rest,
                            std::vector<Halide::Func> &steps, Halide::Func &row) const;
    Polyphase::Group group_of_phases(const std::vector<Halide::Var> &rest) const;
    void back(Halide::Func b) const;

    Halide::Func buffer(const std::string &name, const std::vector<Halide::Var> &rest) const {
        std::vector<Halide::Var> vars = {v_, part_, p_};
        vars.insert(vars.end(), rest.begin(), rest.end());
        return transform_buffer(name, vars, form_.type);
    }
    std::vector<Halide::Expr> exprs(const std::vector<Halide::Var> &vars) const {
        return {vars.begin(), vars.end()};
    }
    void keep(Halide::Func f, int positions, const Halide::LoopLevel &loop) const {
        keep_buffer(f, lanes_, positions, loop);
    }
    void write(Halide::Func f, const Group &group, const std::vector<Complex> &x) const {
        write_buffer(f, form_.structure.vec)(group.kept, x, group.loops);
    }

    const DepthFirst &form_;
    const RightAngle &transform_;
    const int levels_, columns_, first_; // all; of columns; of the pass whose twiddles are constants
    const int length_, height_, width_;  // height_ rows of width_ points
    const int pitch_;                    // positions from a row to the next where all of them are kept
    const int chunk_;                    // columns beside each other
    const int lanes_;                    // of a buffer
    const Halide::Var v_{"v"}, part_{"part"}, p_{"p"}, piece_{"piece"}, g_{"g"};
    std::vector<Halide::Var> each_, copy_; // dimensions of every buffer, and of what depends on the copy
};

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

// The rows of the depth-first form when lanes are phases (polyphase.h).

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
    const Polyphase::Step transposed = phases.transposed(group, product.values()),
                          back = phases.phases_of(group, transposed.values()),
                          last = phases.transposed(group, back.values());
    stage.in_groups = {transposed.f, back.f, last.f};
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
