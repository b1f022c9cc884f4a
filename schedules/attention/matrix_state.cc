#include "schedules/attention/matrix_state.h"

namespace longwave::schedules {

using namespace Halide;

MatrixState::MatrixState(KernelBuilder &k, const Params &p, Arguments arguments)
    : names(std::move(arguments)), rows(p.rows), heads(p.heads), dk(p.dk), dv(p.dv), state_rows(p.turns * dk),
      one_head(of_one_head(heads, dv)), width(static_cast<int>(pad(static_cast<uint32_t>(heads * dv)))),
      tile(tile_of()), groups(one_head ? heads : 1), tiles(width / tile / groups),
      vec(std::min(k.target.vector_lanes, tile)), k_(k) {
    k.no_epilogue();
    k.params.require(int64_t{width} * state_rows <= 1 << 28,
                     "'heads', 'dk' and 'dv' make a state of more than 2^28 elements");
    q = keys(names.q, state_rows);
    key = keys(names.keys, dk);
    v = k.input(names.v, row_shape({static_cast<uint32_t>(rows), width}));
    y(c, i, s, h) = only_o(undef<float>());
}

ImageParam MatrixState::keys(const contract::Names::Input &name, int of_head) {
    const int row = static_cast<int>(pad(static_cast<uint32_t>(heads * of_head)));
    return k_.input(name, {{extent(of_head), 1}, {extent(rows), row}, {extent(heads), of_head}});
}

MatrixState::Sum MatrixState::plus(const Expr &row, const Expr &p) const {
    const Expr high = y(c, row, s, h)[0], increment = p + y(c, row, s, h)[1];
    const Expr sum = strict_float(high + increment);
    return {sum, strict_float(increment - strict_float(sum - high))};
}

void MatrixState::outputs(const Dim &o_rows) {
    const Shape state = state_shape();
    k_.outputs(y, {k_.updated(names.high, state), k_.updated(names.low, state),
                   k_.result(names.o, row_shape(o_rows))});
}

RegisterTile register_tile(int vectors, int rows, int sums) {
    RegisterTile best;
    for (int across = 1; across <= std::min(vectors, 4); across++) {
        if (vectors % across) continue;
        const int down = divisor_at_most(rows, sums / across);
        const int more = across * down - best.across * best.down;
        if (more > 0 || (more == 0 && across + down < best.across + best.down)) best = {across, down};
    }
    return best;
}

void schedule_update(MatrixState &a, int which, int block, const std::vector<RVar> &loops) {
    std::vector<VarOrRVar> order = {a.ci};
    order.insert(order.end(), loops.begin(), loops.end());
    order.insert(order.end(), {a.co, a.s, a.h});
    Stage stage = a.y.update(which).split(a.c, a.co, a.ci, block).reorder(order);
    stage.vectorize(a.ci, a.vec).unroll(a.ci).unroll(loops[0]);
}

void schedule_block(const MatrixState &a, Func f, const RVar &at, int block, const Var &row, int down,
                    const RVar &over) {
    f.compute_at(a.y, at)
        .bound_extent(a.c, block)
        .bound_extent(row, down)
        .vectorize(a.c, a.vec)
        .unroll(a.c)
        .unroll(row);
    f.update().reorder(a.c, row, over).vectorize(a.c, a.vec).unroll(a.c).unroll(row);
}

} // namespace longwave::schedules
