#include "schedules/transforms/lane_transform.h"
#include <cmath>
#include <numbers>

namespace longwave::schedules {

using namespace Halide;

LaneTransform::LaneTransform(int length, int vector_lanes, std::function<Expr(const Expr &)> table)
    : length_(length), vector_lanes_(vector_lanes), levels_(lane_levels(static_cast<uint32_t>(length))),
      table_(std::move(table)) {}

LaneTransform::Butterfly LaneTransform::butterfly(int count, const std::string &name) const {
    const int vec = dividing_vector(count, vector_lanes_);
    RDom r(0, vec, 0, count / vec, name + "_r");
    return {r, r.y * vec, r.x, vec, count};
}

Complex LaneTransform::twiddle(int level, const Butterfly &b, int power) const {
    const LaneLevel &l = levels_[level];
    if (level == 0) {
        const double angle = 2 * std::numbers::pi * 0.25 / l.radix * power;
        return {Expr(static_cast<float>(std::cos(angle))), Expr(static_cast<float>(std::sin(angle)))};
    }
    // A vector lies inside a period, and begins at a multiple of itself.
    const Expr at = (l.period < b.count ? b.first % l.period : b.first) + b.lane +
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

Func LaneTransform::forward(const std::string &name, const ReadInput &in, int level, int count,
                            const std::vector<Var> &rest) const {
    const int radix = levels_[level].radix;
    const Butterfly b = butterfly(count, name);
    const Expr c = b.first + b.lane;
    std::vector<Expr> at(radix);
    std::vector<Complex> x(radix);
    for (int m = 0; m < radix; m++) {
        x[m] = in(c, m);
        if (m > 0) x[m] = x[m] * twiddle(level, b, m);
        at[m] = radix * c + m;
    }
    return define(name, b, at, dft(x), rest);
}

Func LaneTransform::forward(const std::string &name, const Read &in, int level,
                            const std::vector<Var> &rest) const {
    const int count = length_ / levels_[level].radix;
    return forward(name, [=](const Expr &c, int m) { return in(c + m * count); }, level, count, rest);
}

Func LaneTransform::forward_slice(const std::string &name, const ReadInput &in, int level, int count) const {
    return forward(name, in, level, count, {});
}

std::vector<Complex> LaneTransform::back(const Read &in, int level, const Butterfly &b) const {
    const int radix = levels_[level].radix;
    std::vector<Complex> x(radix);
    for (int j = 0; j < radix; j++)
        x[(radix - j) % radix] = in(radix * (b.first + b.lane) + j); // changes the exponent's sign
    x = dft(x);
    for (int m = 1; m < radix; m++) x[m] = times_conjugate(x[m], twiddle(level, b, m));
    return x;
}

Func LaneTransform::inverse(const std::string &name, const Read &in, int level,
                            const std::vector<Var> &rest) const {
    const int radix = levels_[level].radix, count = length_ / radix;
    const Butterfly b = butterfly(count, name);
    std::vector<Expr> at(radix);
    for (int m = 0; m < radix; m++) at[m] = b.first + b.lane + m * count;
    return define(name, b, at, back(in, level, b), rest);
}

Func LaneTransform::inverse_slice(const std::string &name, const Read &in, int level, int count) const {
    const int radix = levels_[level].radix;
    const Butterfly b = butterfly(count, name);
    std::vector<Expr> inputs;
    for (int m = 0; m < radix; m++) inputs.emplace_back(m);
    const std::vector<Complex> x = back(in, level, b);
    Func f(name);
    Var v("v"), m("m");
    f(v, m) = Tuple(undef<float>(), undef<float>());
    f(b.first + b.lane, scatter(inputs)) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
    f.update().reorder(b.loop.x, b.loop.y).allow_race_conditions().vectorize(b.loop.x);
    return f.bound(v, 0, count).bound(m, 0, radix);
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

namespace {

// z(16·g + l, rest…) = value(l, g), vector by vector. `value` reads sums that are computed for `vectors`
// vectors at a time: in a loop whose name the result is.
struct BinLoop {
    RDom r;
    RVar l_outer{"l_outer"}, l_inner{"l_inner"}, g_outer{"g_outer"}, g_inner{"g_inner"};
    BinLoop(Func z, int bins, int vec, int groups, const std::vector<Var> &rest,
            const std::function<std::vector<Expr>(const Expr &l, const Expr &g)> &value)
        : r(0, lane_group, 0, bins / lane_group, z.name() + "_r") {
        std::vector<Expr> at = {r.x + lane_group * r.y};
        at.insert(at.end(), rest.begin(), rest.end());
        z(at) = Tuple(value(r.x, r.y));
        std::vector<VarOrRVar> order = {l_inner, l_outer, g_inner, g_outer};
        order.insert(order.end(), rest.begin(), rest.end());
        z.update()
            .split(r.x, l_outer, l_inner, vec)
            .split(r.y, g_outer, g_inner, groups)
            .reorder(order)
            .allow_race_conditions()
            .vectorize(l_inner)
            .unroll(g_inner);
    }
};

Func undefined_pairs(const std::string &name, int bins, size_t elements, const std::vector<Var> &rest) {
    Func z(name);
    std::vector<Var> vars = {Var("e")};
    vars.insert(vars.end(), rest.begin(), rest.end());
    z(vars) = Tuple(std::vector<Expr>(elements, undef<float>()));
    return z.bound(vars[0], 0, bins);
}

} // namespace

Func LaneProduct::define(const std::string &name, int vector_lanes, const std::vector<Var> &rest) const {
    const int vec = dividing_vector(lane_group, vector_lanes),
              groups = divisor_at_most(bins / lane_group, std::max(1, 4 * vec / lane_group)); // under way
    Func sum(name + "_sum"), z = undefined_pairs(name, bins, 2, rest);
    Var l("l"), g("g");
    std::vector<Var> vars = {l, g};
    vars.insert(vars.end(), rest.begin(), rest.end());
    const Complex begin = first ? first(l, g) : Complex{Expr(0.0f), Expr(0.0f)};
    sum(vars) = Tuple(begin.re, begin.im);
    std::vector<Expr> at(vars.begin(), vars.end());
    if (partitions > 0) {
        RDom q(0, partitions, name + "_q");
        const Complex a = x(l, g, q), b = k(l, g, q);
        sum(vars) = Tuple(sum(at)[0] + a.re * b.re - a.im * b.im, sum(at)[1] + a.re * b.im + a.im * b.re);
        sum.update().reorder(l, g, q).vectorize(l, vec).unroll(l).unroll(g);
    }
    BinLoop loop(z, bins, vec, groups, rest, [&](const Expr &l, const Expr &g) {
        std::vector<Expr> where = {l, g};
        where.insert(where.end(), rest.begin(), rest.end());
        return std::vector<Expr>{sum(where)[0], sum(where)[1]};
    });
    z.update().unroll(loop.l_outer);
    sum.compute_at(z, loop.g_outer).bound_extent(l, lane_group).bound_extent(g, groups);
    sum.vectorize(l, vec).unroll(l).unroll(g);
    return z;
}

Func LaneProduct::define_ahead(const std::string &name, int vector_lanes, int blocks) const {
    const int vec = dividing_vector(lane_group, vector_lanes);
    constexpr int together = 4; // blocks whose sums are in registers; the others read the L1 cache again
    const Var l("l"), g("g");
    std::vector<Func> sums;
    for (int from = 0; from < blocks; from += together) {
        const int until = std::min(from + together, blocks);
        Func sum(name + "_sum_" + std::to_string(from));
        sum(l, g) = Tuple(std::vector<Expr>(2 * static_cast<size_t>(until - from), 0.0f));
        // First the partitions whose products all of these blocks want, then the others, each wanted by
        // one block less.
        for (int wanted = until, begin = 0; wanted > from; wanted--) {
            const int end = partitions - wanted + 1;
            RDom q(begin, end - begin, name + "_q");
            std::vector<Expr> next;
            for (int b = from; b < until; b++) {
                const auto i = 2 * static_cast<size_t>(b - from);
                const Expr re = sum(l, g)[i], im = sum(l, g)[i + 1];
                const Complex a = x(l, g, q), c = k(l, g, q + b);
                next.push_back(b < wanted ? re + a.re * c.re - a.im * c.im : re);
                next.push_back(b < wanted ? im + a.re * c.im + a.im * c.re : im);
            }
            sum(l, g) = Tuple(next);
            sum.update(until - wanted).reorder(l, g, q).vectorize(l, vec);
            begin = end;
        }
        sums.push_back(sum);
    }
    Func z = undefined_pairs(name, bins, 2 * static_cast<size_t>(blocks), {});
    BinLoop loop(z, bins, vec, 1, {}, [&](const Expr &l, const Expr &g) {
        std::vector<Expr> values;
        for (const Func &sum : sums)
            for (int i = 0; i < sum.outputs(); i++) values.push_back(sum(l, g)[i]);
        return values;
    });
    for (Func &sum : sums)
        sum.compute_at(z, loop.l_outer).bound_extent(l, vec).bound_extent(g, 1).vectorize(l, vec);
    return z;
}

} // namespace longwave::schedules
