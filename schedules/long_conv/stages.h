// How the depth-first form (depth_first.h) is put together. Internal to it.
#pragma once
#include "schedules/long_conv/depth_first.h"

namespace longwave::schedules::depth_first {

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

} // namespace longwave::schedules::depth_first
