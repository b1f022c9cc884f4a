// What a schedule file writes into: it asks for params, declares arguments with their static shapes, applies the epilogue and names the outputs.
#pragma once
#include "schedules/kernel.h"
#include "schedules/params.h"
#include "targets/target.h"
#include <Halide.h>

namespace longwave::schedules {

using Shape = std::vector<Dim>;

// Extents without gaps, innermost first.
Shape dense(const std::vector<int> &extents);

class KernelBuilder {
public:
    KernelBuilder(const std::string &kernel, const nlohmann::json &spec, const targets::Target &target);

    Params params;
    const targets::Target &target;

    Halide::ImageParam input(const std::string &name, const Shape &shape, Halide::Type type = Halide::Float(32));
    Halide::ImageParam weight(const std::string &name, const Shape &shape, Halide::Type type = Halide::Float(32));
    Halide::Expr scalar(const std::string &name);

    // The value after the epilogue chain. `shape` is the output's; its last dimension is the rows. `at` are the coordinates. Lanes of dimension 0 from
    // `valid` on become zero when the chain could make them something else.
    Halide::Expr epilogue(Halide::Expr value, const std::vector<Halide::Expr> &at, const Shape &shape, int valid);
    void no_epilogue() const;

    void output(Halide::Func f, const Shape &shape) { outputs(f, {shape}); }
    void outputs(Halide::Func f, const std::vector<Shape> &shapes); // one shape for each element of a tuple

    // Checks that the whole specification was used.
    void finish() const;
    Halide::Pipeline pipeline() const { return Halide::Pipeline(outputs_); }
    std::vector<Halide::Argument> arguments() const;
    const std::vector<Halide::ImageParam> &buffers() const { return buffers_; }
    const std::vector<Halide::Param<int>> &scalars() const { return scalars_; }
    const std::vector<Halide::Func> &outputs() const { return outputs_; }

private:
    Halide::ImageParam add(std::vector<Halide::ImageParam> &list, const std::string &name, const Shape &shape, Halide::Type type);

    std::string kernel_;
    const nlohmann::json &spec_;
    std::vector<Halide::ImageParam> inputs_, weights_, operands_;
    std::vector<Halide::Param<int>> scalars_;
    std::vector<Halide::Func> outputs_;
    mutable std::vector<Halide::ImageParam> buffers_;
};

// The largest vector of at most `lanes` that divides the extent evenly; 1 for odd extents.
int dividing_vector(int extent, int lanes);
// The largest divisor of `n` that is at most `limit`.
int divisor_at_most(int n, int limit);
// Where row `index` of a ring lies when index is in [-ring, ring).
Halide::Expr wrapped(const Halide::Expr &index, int ring);

// Storage rule of every intermediate: small ones in the stack frame, the others in the caller's scratch. `bytes` is what the whole Func holds.
void store(Halide::Func f, int64_t bytes);

} // namespace longwave::schedules
