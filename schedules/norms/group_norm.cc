// group_norm: statistics of groups of channels over all rows of a sequence. Sums are float64: those
// of the channels of a group first, then those of the groups.
#include "schedules/contract/kernels/norms.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_group_norm(KernelBuilder &k, const contract::GroupNorm &p) {
    const auto a = contract::names_of<contract::GroupNorm>();
    const int channels = p.channels, bands = p.frequencies, groups = p.groups, rows = p.rows;
    const float eps = p.eps;
    k.params.require(channels % groups == 0, "'groups' must divide 'channels'");
    const int width = static_cast<int>(pad(extent(channels))), of_group = channels / groups;
    const Shape shape = dense({width, bands, rows});
    ImageParam x = k.input(a.x, shape), weight = k.weight(a.weight, dense({width})),
               bias = k.weight(a.bias, dense({width}));
    const Expr length = k.scalar(a.length, rows);

    // THE ALGORITHM
    Var c("c"), f("f"), r("r"), g("g");
    Func sum("sum"), mean("mean"), square("square"), var("var"), centre("centre"), scale("scale"), y("y");
    RDom all(0, bands, 0, length, "all"), again(0, bands, 0, length, "again"), each(0, of_group, "each");
    const auto row = [&](const Expr &at) { return unsafe_promise_clamped(at, 0, rows - 1); };
    const Expr count = cast<double>(max(length, 1)) * cast<double>(bands * of_group);
    sum(c) = cast<double>(0);
    sum(c) += cast<double>(x(c, all.x, row(all.y)));
    mean(g) = cast<double>(0);
    mean(g) += sum(g * of_group + each) / count;
    const Expr of = min(c / of_group, groups - 1),
               apart = cast<double>(x(c, again.x, row(again.y))) - mean(of);
    square(c) = cast<double>(0);
    square(c) += apart * apart;
    var(g) = cast<double>(0);
    var(g) += square(g * of_group + each) / count;
    centre(c) = mean(of);
    scale(c) = cast<float>(1 / sqrt(max(var(of) + cast<double>(eps), cast<double>(1e-30f)))) * weight(c);
    const Expr value = cast<float>(cast<double>(x(c, f, r)) - centre(c)) * scale(c) + bias(c);
    y(c, f, r) = k.epilogue(select(r < length, value, 0.0f), {c, f, r}, shape, channels);

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    y.vectorize(c, vec);
    for (Func part : {sum, square}) {
        part.compute_root().bound_extent(c, width).vectorize(c, vec);
        part.update().reorder(c, part.rvars()[0], part.rvars()[1]).vectorize(c, vec);
        store(part, int64_t{8} * width);
    }
    for (Func part : {centre, scale}) {
        part.compute_root().bound_extent(c, width);
        store(part, int64_t{8} * width);
    }
    for (Func part : {mean, var}) {
        part.compute_root().bound_extent(g, groups);
        store(part, int64_t{8} * groups);
    }
    k.output(y, a.y, shape);
}

static const Kernel<contract::GroupNorm> group_norm{build_group_norm};

} // namespace longwave::schedules
