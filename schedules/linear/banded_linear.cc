// banded_linear: y = x·w + bias, where each output depends on a few neighbouring inputs, such as
// the bands of a mel filter bank. Only these weights are stored.
#include "schedules/contract/kernels/linear.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_banded_linear(KernelBuilder &k, const contract::BandedLinear &p) {
    const auto a = contract::names_of<contract::BandedLinear>();
    const int in = p.in, out = p.out, rows = p.rows, band = p.band;
    k.params.require(band <= in, "'band' must be at most 'in'");
    const Shape shape = dense({static_cast<int>(pad(extent(out))), rows});
    const ImageParam x = k.input(a.x, dense({in, rows})), w = k.weight(a.w, dense({band, out})),
                     first = k.weight(a.first, dense({out}), Int(32));
    const bool has_bias = p.bias;
    const ImageParam bias = has_bias ? k.weight(a.bias, dense({static_cast<int>(pad(extent(out)))})) : x;
    const int vec = dividing_vector(band, std::min(k.target.vector_lanes, 8)), tile = rows % 2 == 0 ? 2 : 1;

    // THE ALGORITHM
    // Whatever `first` holds, a band lies inside the row.
    Var o("o"), r("r"), q("q");
    RDom i(0, band / vec, "i"), d({{0, vec}, {0, out}}, "d");
    Func sum("sum"), total("total"), y("y");
    const Expr at = i * vec + q;
    sum(q, o, r) = 0.0f;
    sum(q, o, r) += w(at, o) * x(clamp(first(o), 0, in - band) + at, r);
    total(o, r) = has_bias ? Expr(bias(o)) : Expr(0.0f);
    total(d.y, r) += sum(d.x, d.y, r);
    y(o, r) = k.epilogue(total(o, r), {o, r}, shape, out);

    // THE SCHEDULE
    Var ro("ro"), ri("ri");
    y.split(r, ro, ri, tile).reorder(o, ri, ro).unroll(ri).vectorize(o, k.target.vector_lanes);
    total.compute_at(y, ro).bound_extent(r, tile).vectorize(o, k.target.vector_lanes).unroll(r);
    total.update().reorder(d.x, r, d.y).atomic().vectorize(d.x).unroll(r);
    store(total, int64_t{4} * static_cast<int>(pad(extent(out))) * tile);
    sum.compute_at(total, d.y).store_in(MemoryType::Stack).vectorize(q).unroll(r);
    sum.update().reorder(q, r, i).vectorize(q).unroll(r).unroll(i, std::min(4, band / vec));
    k.output(y, a.y, shape);
}

static const Kernel<contract::BandedLinear> banded_linear{build_banded_linear};

} // namespace longwave::schedules
