#include "schedules/transforms/lane_transform.h"
#include <cmath>
#include <numbers>

namespace longwave::schedules {

using namespace Halide;

LaneTransform::LaneTransform(int length, int vector_lanes, std::function<Expr(const Expr &)> table)
    : length_(length), vector_lanes_(vector_lanes), levels_(lane_levels(static_cast<uint32_t>(length))),
      table_(std::move(table)) {}

LaneTransform::Butterfly LaneTransform::butterfly(int level, const std::string &name) const {
    const int count = length_ / levels_[level].radix, vec = dividing_vector(count, vector_lanes_);
    RDom r(0, vec, 0, count / vec, name + "_r");
    return {r, r.y * vec, r.x, vec};
}

Complex LaneTransform::twiddle(int level, const Butterfly &b, int power) const {
    const LaneLevel &l = levels_[level];
    if (level == 0) {
        const double angle = 2 * std::numbers::pi * 0.25 / l.radix * power;
        return {Expr(static_cast<float>(std::cos(angle))), Expr(static_cast<float>(std::sin(angle)))};
    }
    // A vector lies inside a period, and begins at a multiple of itself.
    const Expr at = (l.period < length_ / l.radix ? b.first % l.period : b.first) + b.lane +
                    (l.offset + 2 * (power - 1) * l.period);
    return {table_(at), table_(at + l.period)};
}

Func LaneTransform::define(const std::string &name, const Butterfly &b, const std::vector<Expr> &at,
                           const std::vector<Complex> &x, const std::vector<Var> &rest) const {
    Func f(name);
    std::vector<Var> vars = {Var("v")};
    vars.insert(vars.end(), rest.begin(), rest.end());
    f(vars) = Tuple(undef<float>(), undef<float>());
    std::vector<Expr> where = {scatter(at)};
    where.insert(where.end(), rest.begin(), rest.end());
    f(where) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
    std::vector<VarOrRVar> order = {b.loop.x, b.loop.y};
    order.insert(order.end(), rest.begin(), rest.end());
    f.update().reorder(order).allow_race_conditions().vectorize(b.loop.x);
    return f;
}

Func LaneTransform::forward(const std::string &name, const Read &in, int level,
                            const std::vector<Var> &rest) const {
    const int radix = levels_[level].radix, step = length_ / radix;
    const Butterfly b = butterfly(level, name);
    const Expr c = b.first + b.lane;
    std::vector<Expr> at(radix);
    std::vector<Complex> x(radix);
    for (int m = 0; m < radix; m++) {
        x[m] = in(c + m * step);
        if (m > 0) x[m] = x[m] * twiddle(level, b, m);
        at[m] = radix * c + m;
    }
    return define(name, b, at, dft(x), rest);
}

Func LaneTransform::inverse(const std::string &name, const Read &in, int level,
                            const std::vector<Var> &rest) const {
    const int radix = levels_[level].radix, step = length_ / radix;
    const Butterfly b = butterfly(level, name);
    const Expr c = b.first + b.lane;
    std::vector<Expr> at(radix);
    std::vector<Complex> x(radix);
    for (int j = 0; j < radix; j++) x[(radix - j) % radix] = in(radix * c + j); // changes the exponent's sign
    x = dft(x);
    for (int m = 0; m < radix; m++) {
        if (m > 0) x[m] = times_conjugate(x[m], twiddle(level, b, m));
        at[m] = c + m * step;
    }
    return define(name, b, at, x, rest);
}

LaneTransform::Read read_pairs(Func f, const std::vector<Expr> &rest) {
    return [f, rest](const Expr &position) {
        std::vector<Expr> at = {position};
        at.insert(at.end(), rest.begin(), rest.end());
        const FuncRef value = f(at);
        return Complex{value[0], value[1]};
    };
}

void define_positions(Func f, int first, int count, int vector_lanes,
                      const std::function<std::vector<Expr>(const Expr &at)> &value, size_t dimension) {
    const int whole = count / vector_lanes * vector_lanes;
    const std::vector<Var> vars = f.args();
    const auto define = [&](int begin, int n, int vec) {
        if (n == 0) return;
        RDom r(begin, n, f.name() + "_r");
        std::vector<Expr> at(vars.begin(), vars.end());
        at[dimension] = r;
        const std::vector<Expr> values = value(r);
        if (values.size() == 1) f(at) = values[0];
        else f(at) = Tuple(values);
        std::vector<VarOrRVar> order = {r.x};
        for (size_t i = 0; i < vars.size(); i++)
            if (i != dimension) order.emplace_back(vars[i]);
        Stage stage = f.update(f.num_update_definitions() - 1).reorder(order);
        if (vec > 1) stage.vectorize(r.x, vec);
    };
    define(first, whole, vector_lanes);
    define(first + whole, count - whole, 1);
}

Func LaneProduct::define(const std::string &name, int vector_lanes, const std::vector<Var> &rest) const {
    const int vec = dividing_vector(bins, vector_lanes),
              share = divisor_at_most(bins / vec, 4) * vec; // bins whose sums are under way together
    Func sum(name + "_sum"), z(name);
    Var e("e"), outer("outer"), inner("inner");
    std::vector<Var> vars = {e};
    vars.insert(vars.end(), rest.begin(), rest.end());
    const Complex begin = first ? first(e) : Complex{Expr(0.0f), Expr(0.0f)};
    sum(vars) = Tuple(begin.re, begin.im);
    std::vector<Expr> at(vars.begin(), vars.end());
    if (partitions > 0) {
        RDom q(0, partitions, name + "_q");
        const Complex a = x(e, q), b = k(e, q);
        sum(vars) = Tuple(sum(at)[0] + a.re * b.re - a.im * b.im, sum(at)[1] + a.re * b.im + a.im * b.re);
        sum.update().reorder(e, q).vectorize(e, vec).unroll(e);
    }
    z(vars) = Tuple(sum(at)[0], sum(at)[1]);
    z.bound(e, 0, bins).split(e, outer, inner, share).vectorize(inner, vec).unroll(inner);
    sum.compute_at(z, outer).bound_extent(e, share).vectorize(e, vec).unroll(e);
    return z;
}

} // namespace longwave::schedules
