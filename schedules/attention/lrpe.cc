// lrpe: a row rotated by its position, [x·cos(tΘ) ‖ x·sin(tΘ)] for each head.
#include "schedules/attention/gpu_positions.h"
#include "schedules/attention/phases.h"
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/positions.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Lrpe {
    const contract::Lrpe::Arguments<contract::Names> names = contract::names_of<contract::Lrpe>();
    int heads, dk, rows, axes, conditions;
    contract::Several<3, 1, 1 << 24> sizes;
    ImageParam x, high, low;
    std::optional<RowCount> count;

    Lrpe(KernelBuilder &k, const contract::Lrpe &p)
        : heads(p.heads), dk(p.dk), rows(p.rows), axes(static_cast<int>(p.sizes.size())),
          conditions(p.conditions), sizes(p.sizes) {
        const int row = static_cast<int>(pad(extent(heads * dk)));
        x = k.input(names.x, {{extent(dk), 1}, {extent(heads), dk}, {extent(rows), row}});
        count.emplace(k, rows, p.counts, names.count_so_far, names.count);
        high = k.weight(names.theta_high, dense({dk, heads}), Int(32));
        low = k.weight(names.theta_low, dense({dk, heads}), Int(32));
        k.no_epilogue();
    }
    int width() const { return 2 * heads * dk; }
    int padded() const { return static_cast<int>(pad(extent(width()))); }
    // Of feature i of a head.
    Expr axis(const Expr &i) const { return axes > 1 ? Expr(i / ((dk + axes - 1) / axes)) : Expr(0); }
    // [dk, 2, heads] in each row, and the same memory as rows.
    Shape rotated_shape() const {
        return {{extent(dk), 1}, {2, dk}, {extent(heads), 2 * dk}, {extent(rows), padded()}};
    }
};

void lrpe_on_cpu(KernelBuilder &k, const contract::Lrpe &params) {
    Lrpe n(k, params);
    const int heads = n.heads, dk = n.dk, rows = n.rows, axes = n.axes, width = n.width(),
              padded = n.padded();

    // THE ALGORITHM The position is the row's number, or along the axes of an image that follows
    // the conditions, at 0.
    Var i("i"), p("p"), h("h"), r("r"), a("a"), c("c");
    Func position("position"), rotated("rotated"), y("y");
    const Expr number = row_number(n.count->now(), r, rows);
    Expr at = number;
    if (axes) {
        at = cast<int64_t>(0);
        int64_t stride = 1;
        for (int axis = axes - 1; axis >= 0; stride *= n.sizes[static_cast<size_t>(axis--)])
            at = select(a == axis,
                        (number - n.conditions) / cast<int64_t>(Expr(static_cast<int64_t>(stride))) %
                            cast<int64_t>(n.sizes[static_cast<size_t>(axis)]),
                        at);
        at = select(number < n.conditions, cast<int64_t>(0), at);
    }
    position(a, r) = cast<uint64_t>(at);
    const Rotation rotation = rotation_of(phase_of(position(n.axis(i), r), n.high(i, h), n.low(i, h)));
    rotated(i, p, h, r) = n.x(i, h, r) * select(p == 0, rotation.cosine, rotation.sine);

    // THE SCHEDULE
    position.compute_root();
    store(position, int64_t{8} * rows * std::max(axes, 1));
    const int vec = dividing_vector(dk, k.target.vector_lanes);
    if (width == padded) {
        y(i, p, h, r) = rotated(i, p, h, r);
        y.reorder(p, i, h, r).bound(p, 0, 2).unroll(p).vectorize(i, vec);
        k.output(y, n.names.y, n.rotated_shape());
    } else {
        rotated.compute_at(y, r).bound_extent(i, dk).bound_extent(p, 2).bound_extent(h, heads);
        rotated.reorder(p, i, h).unroll(p).vectorize(i, vec);
        store(rotated, int64_t{4} * width);
        const Expr lane = min(c, width - 1);
        y(c, r) = select(c < width, rotated(lane % dk, lane / dk % 2, lane / (2 * dk), r), 0.0f);
        k.output(y, n.names.y, dense({padded, rows}));
    }
    n.count->output();
}

// A thread for each feature.
void lrpe_on_gpu(KernelBuilder &k, const contract::Lrpe &params) {
    const Lrpe n(k, params);

    // THE ALGORITHM
    Var c("c"), r("r");
    Func y("y");
    const Expr lane = min(c, n.width() - 1), i = lane % n.dk, part = lane / n.dk % 2, h = lane / (2 * n.dk);
    WordPair position = moved_on(moved_back(n.count->words(), n.rows), r);
    if (n.axes) {
        int all = 1;
        for (const int64_t size : n.sizes.values) all *= static_cast<int>(size);
        const Expr before_image = count_is_below(position, n.conditions),
                   number = count_modulo(moved_back(position, n.conditions), all);
        Expr at = 0;
        int stride = 1;
        for (int a = n.axes - 1; a >= 0; stride *= n.sizes[static_cast<size_t>(a--)])
            at = select(n.axis(i) == a, number / stride % n.sizes[static_cast<size_t>(a)], at);
        position = {cast<uint32_t>(select(before_image, 0, at)), cast<uint32_t>(0)};
    }
    const Rotation rotation = rotation_of(phase_of(position, n.high(i, h), n.low(i, h)));
    const Expr value = n.x(i, h, r) * select(part == 0, rotation.cosine, rotation.sine);
    y(c, r) = n.width() == n.padded() ? value : select(c < n.width(), value, 0.0f);

    // THE SCHEDULE
    spread(y, {c, r}, {n.padded(), n.rows});
    const Shape shape = dense({n.padded(), n.rows});
    k.outputs(y, {k.result(n.names.y, shape, n.width() == n.padded() ? n.rotated_shape() : shape)});
}

const Kernel<contract::Lrpe> lrpe{lrpe_on_cpu, lrpe_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
