#include "schedules/attention/matrix_state.h"

namespace longwave::schedules {

using namespace Halide;

MatrixState::MatrixState(KernelBuilder &k, const Params &p, Arguments arguments)
    : names(std::move(arguments)), rows(p.rows), heads(p.heads), key_heads(p.key_heads), dk(p.dk), dv(p.dv),
      state_rows(p.parts * dk), one_head(of_one_head(heads, dv)),
      width(static_cast<int>(pad(static_cast<uint32_t>(heads * dv)))), tile(tile_of()),
      groups(one_head ? heads : 1), tiles(width / tile / groups), vec(std::min(k.target.vector_lanes, tile)),
      k_(k) {
    k.no_epilogue();
    k.params.require(int64_t{width} * state_rows <= 1 << 28,
                     "'heads', 'dk' and 'dv' make a state of more than 2^28 elements");
    k.params.require(heads % key_heads == 0, "'key_heads' must divide 'heads'");
    q = keys(names.q, state_rows);
    key = keys(names.keys, dk);
    v = k.input(names.v, row_shape({static_cast<uint32_t>(rows), width}));
    y(c, i, s, h) = only({{Part::o, undef<float>()}});
}

ImageParam MatrixState::keys(const contract::Names::Input &name, int of_head, int count) {
    const int row = static_cast<int>(pad(static_cast<uint32_t>(count * of_head)));
    return k_.input(name, {{extent(of_head), 1}, {extent(rows), row}, {extent(count), of_head}});
}

size_t MatrixState::index(Part part) const {
    size_t at = 0;
    for (const Part before : {Part::high, Part::low, Part::read, Part::o}) {
        if (before == part) break;
        at += has(before);
    }
    return at;
}

Tuple MatrixState::only(const std::vector<Written> &written) const {
    std::vector<Expr> values(index(Part::o) + 1, undef<float>());
    for (const Written &one : written) values[index(one.part)] = one.value;
    return Tuple(values);
}

MatrixState::Sum MatrixState::plus(const Expr &row, const Expr &p) const {
    const Expr high = at(Part::high, row), increment = p + at(Part::low, row);
    const Expr sum = strict_float(high + increment);
    return {sum, strict_float(increment - strict_float(sum - high))};
}

void MatrixState::outputs(const Dim &o_rows) {
    const Shape state = state_shape();
    std::vector<KernelBuilder::Output> list = {k_.updated(names.high, state)};
    if (has(Part::low)) list.push_back(k_.updated(names.low, state));
    if (has(Part::read)) list.push_back(k_.result(names.read, row_shape(o_rows)));
    list.push_back(k_.result(names.o, row_shape(o_rows)));
    k_.outputs(y, list);
}

MatrixUpdate outer_product(const MatrixState &a) {
    return {{a.key}, [](const Expr &, const Expr &v, const std::vector<Expr> &keys) { return keys[0] * v; }};
}

MatrixUpdate decaying(const MatrixState &a, const ImageParam &k) {
    if (!k.defined())
        return {{a.key}, [](const Expr &now, const Expr &v, const std::vector<Expr> &keys) {
                    return keys[0] * (v - now);
                }};
    return {{a.key, k}, [](const Expr &now, const Expr &v, const std::vector<Expr> &keys) {
                return keys[1] * v - keys[0] * now;
            }};
}

void build_step(KernelBuilder &, MatrixState &a, const MatrixUpdate &update) {
    // THE ALGORITHM o has no row dimension: every row of S adds to the same element.
    const Var c = a.c, s = a.s, h = a.h;
    using Part = MatrixState::Part;
    RDom r(0, a.dk, 0, a.state_rows / a.dk, "r");
    const Expr row = r.y * a.dk + r.x, now = a.at(Part::high, row);
    std::vector<Expr> of_row;
    for (size_t n = 0; n < update.keys.size(); n++)
        of_row.push_back(update.keys[n](n == 0 ? Expr(r.x) : row, 0, a.key_head()));
    const Expr p = update.increment(now, a.v(c, 0, s, h), of_row);
    const MatrixState::Sum sum = a.plus(row, p);
    a.y(c, 0, s, h) = a.only({{Part::o, 0.0f}});
    // The sum again, in plain sight: Halide must see what this element reads of its siblings, and
    // does not look inside strict_float.
    a.y(c, row, s, h) = a.only(
        {{Part::high, sum.high},
         {Part::low, sum.low},
         {Part::o, a.at(Part::o, row) + a.q(row, 0, a.key_head()) * (now + (p + a.at(Part::low, row)))}});

    // THE SCHEDULE
    a.y.update(0).vectorize(c, a.vec);
    a.y.update(1)
        .split(c, a.co, a.ci, std::min(a.tile, 4 * a.vec))
        .reorder(a.ci, r.x, r.y, a.co, s, h)
        .vectorize(a.ci, a.vec)
        .unroll(a.ci);
    a.outputs({extent(a.state_rows), 0});
}

MatrixChunk::RegisterTile MatrixChunk::register_tile(int vectors, int rows, int sums) {
    RegisterTile best;
    for (int across = 1; across <= std::min(vectors, 4); across++) {
        if (vectors % across) continue;
        const int down = divisor_at_most(rows, sums / across);
        const int more = across * down - best.across * best.down;
        if (more > 0 || (more == 0 && across + down < best.across + best.down)) best = {across, down};
    }
    return best;
}

MatrixChunk::MatrixChunk(KernelBuilder &k, MatrixState &a)
    : sums(k.target.vector_registers == 32 ? 16 : 8), k_(k), a_(a),
      time_(register_tile(a.tile / a.vec, a.rows, sums)), state_(register_tile(a.tile / a.vec, a.dk, sums)) {
    // It is unrolled.
    k.params.require(a.rows <= 64, "'rows' must be at most 64 on a CPU");
}

void MatrixChunk::sum_values(Part part, const Weight &weight) {
    const Var c = a_.c, t = a_.t, s = a_.s, h = a_.h;
    Func inside("inside");
    RDom j(0, a_.rows, "rj"), r(0, time_.down, 0, a_.rows / time_.down, "first");
    inside(c, t, s, h) = 0.0f;
    inside(c, t, s, h) += weight(j, t) * a_.v(c, j, s, h);
    const Expr row = r.y * time_.down + r.x;
    a_.y(c, row, s, h) = a_.only({{part, inside(c, row, s, h)}});
    schedule(time_.across, {r.x, r.y});
    schedule_block(inside, r.y, time_, t, j);
}

void MatrixChunk::add(Part part, Part from, const Weight &weight) {
    const Var c = a_.c, s = a_.s, h = a_.h;
    RDom r(0, time_.down, 0, from == Part::high ? a_.state_rows : a_.rows, 0, a_.rows / time_.down, "r");
    const Expr row = r.z * time_.down + r.x;
    a_.y(c, row, s, h) = a_.only({{part, a_.at(part, row) + weight(r.y, row) * a_.at(from, r.y)}});
    schedule(time_.across, {r.x, r.y, r.z});
}

void MatrixChunk::move(const Weight &weight,
                       const std::function<std::vector<MatrixState::Written>(
                           const Expr &row, const Expr &of_part, const Expr &increment)> &next) {
    const Var c = a_.c, i = a_.i, s = a_.s, h = a_.h;
    Func increment("increment");
    RDom t(0, a_.rows, "rs"), r(0, state_.down, 0, a_.dk / state_.down, 0, a_.state_rows / a_.dk, "ru");
    increment(c, i, s, h) = 0.0f;
    increment(c, i, s, h) += weight(i, t) * a_.v(c, t, s, h);
    const Expr of_part = r.y * state_.down + r.x, row = r.z * a_.dk + of_part;
    a_.y(c, row, s, h) = a_.only(next(row, of_part, increment(c, row, s, h)));
    schedule(state_.across, {r.x, r.y, r.z});
    schedule_block(increment, r.y, state_, i, t);
}

void MatrixChunk::add_read(const Weight &weight) {
    const Var c = a_.c, s = a_.s, h = a_.h;
    RDom r(0, state_.down, 0, a_.rows, 0, a_.state_rows / state_.down, "r");
    const Expr row = r.z * state_.down + r.x;
    a_.y(c, row, s, h) =
        a_.only({{Part::high, a_.at(Part::high, row) + weight(row, r.y) * a_.at(Part::read, r.y)}});
    schedule(state_.across, {r.x, r.y, r.z});
}

void MatrixChunk::schedule(int across, const std::vector<RVar> &loops) {
    schedules_.push_back([this, which = updates_++, block = across * a_.vec, loops] {
        std::vector<VarOrRVar> order = {a_.ci};
        order.insert(order.end(), loops.begin(), loops.end());
        order.insert(order.end(), {a_.co, a_.s, a_.h});
        Stage stage = a_.y.update(which).split(a_.c, a_.co, a_.ci, block).reorder(order);
        stage.vectorize(a_.ci, a_.vec).unroll(a_.ci).unroll(loops[0]);
    });
}

void MatrixChunk::schedule_block(Func f, const RVar &at, const RegisterTile &tile, const Var &row,
                                 const RVar &over) {
    schedules_.push_back([this, f, at, tile, row, over]() mutable {
        f.compute_at(a_.y, at)
            .bound_extent(a_.c, tile.across * a_.vec)
            .bound_extent(row, tile.down)
            .vectorize(a_.c, a_.vec)
            .unroll(a_.c)
            .unroll(row);
        f.update().reorder(a_.c, row, over).vectorize(a_.c, a_.vec).unroll(a_.c).unroll(row);
    });
}

void MatrixChunk::finish() {
    for (const auto &each : schedules_) each();
    a_.outputs({extent(a_.rows), a_.width});
}

} // namespace longwave::schedules
