// What the transform kernels share: the passes of a right-angle transform as update definitions
// that gather the points of one group of butterflies, transform them in registers and scatter the
// results.
#pragma once
#include "schedules/halide/builder.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

// How a transform runs on a target: data in long_conv/<target>.json, by length. Either passes go
// one after the other over one buffer that holds the whole transform, or it is taken apart
// (depth_first.h).
struct TransformStructure {
    int vec = 16;  // lanes that go through a whole transform together
    int outer = 4; // most points of the outermost pass, whose twiddles are constants of the code; the others
                   // have one level each
    int columns = 0;    // depth first: most points of a column; 0: one pass after the other
    int chunk = 1;      // depth first: most columns beside each other
    int gap = 0;        // depth first: positions between rows, so that columns are spread over a cache's sets
    bool fused = false; // butterflies of multiply-adds, see RightAngle
};
TransformStructure transform_structure(const KernelBuilder &k, int length, int tile);
// Of so many rows whose lanes are phases (polyphase.h).
TransformStructure phases_structure(const KernelBuilder &k, int rows);

// The value at a position.
using Reader = std::function<Complex(const Halide::Expr &position)>;
// Defines an output at the positions of a group (the values may hold expressions of `at`) and
// schedules that definition; `loops` run over the groups.
using Writer = std::function<void(const std::vector<Halide::Expr> &at, const std::vector<Complex> &x,
                                  const std::vector<Halide::RVar> &loops)>;

// The passes of one transform.
class TransformPasses {
public:
    explicit TransformPasses(const RightAngle &transform) : transform_(transform) {}

    int levels() const { return static_cast<int>(transform_.radices().size()); }
    int length(int level = 0) const {
        return transform_.blocks(levels()) / transform_.blocks(level);
    } // of a block of that level
    // As many levels from the first on, at most `most`, as make no more than `limit` points; at
    // least one.
    int leading_levels(int limit, int most) const;

    // One pass over levels [level, level + count). Input positions from `rows` on are zero and not
    // read.
    void forward(const Reader &in, const Writer &out, int level, int count, int rows) const;
    // Back again. Output positions from `rows` on are not written.
    void inverse(const Reader &in, const Writer &out, int level, int count, int rows) const;
    // The last level forward, times the spectrum, and back.
    void middle(const Reader &in, const Reader &spectrum, const Writer &out, int rows) const;

private:
    enum class Step { forward, middle, inverse };
    void pass(Step step, const Reader &in, const Reader *spectrum, const Writer &out, int level, int count,
              int rows) const;

    const RightAngle &transform_;
};

// Buffers of complex values between passes: (lane, part, position, rest…), the two parts of a value
// beside each other.
Halide::Func transform_buffer(const std::string &name, const std::vector<Halide::Var> &vars,
                              Halide::Type type = Halide::Float(32));
Reader read_buffer(Halide::Func f, const std::vector<Halide::Expr> &rest = {});
Writer write_buffer(Halide::Func f, int vec);
// The last definition of an output that passes define: its lanes are split as those of everything
// before it, `vo` being the loop over the pieces.
void schedule_output(Halide::Func f, int vec, const std::vector<Halide::RVar> &loops,
                     const std::vector<Halide::Var> &outside, Halide::Var vo);
// The rows of a block that is shorter than its transform, and their tail, from all points `c` of the
// product: y(lane, copy, row) = (result(real part, row), what the next block adds), and its schedule.
struct ShorterRows {
    int rows, length, vec;
};
void define_shorter_rows(
    Halide::Func y, const ShorterRows &s, const Halide::Func &c, Halide::Var vo,
    const std::function<Halide::Expr(const Halide::Expr &, const std::vector<Halide::Expr> &)> &result);
// Storage of a buffer: `positions` rows of `vec` lanes, kept for one iteration of `loop` of
// `consumer`.
void keep_buffer(Halide::Func f, int vec, int positions, Halide::Func consumer, Halide::Var loop);
// f(lane, part, at[i], rest…) = x[i] for all points at once, not scheduled.
void define_points(Halide::Func f, const std::vector<Halide::Expr> &at, const std::vector<Complex> &x);
// Kept for one iteration of any loop.
void keep_buffer(Halide::Func f, int vec, int positions, const Halide::LoopLevel &loop);
// Drops the points of a group outside `rows`: they lie `step` apart, the first one, `first`,
// inside.
void drop_outside(int rows, int step, const Halide::Expr &first, std::vector<Halide::Expr> &at,
                  std::vector<Complex> &x);

} // namespace longwave::schedules
