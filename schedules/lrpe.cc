// lrpe: a row turned by its position, [x·cos(tΘ) ‖ x·sin(tΘ)] for each head.
#include "schedules/elementary.h"
#include "schedules/phases.h"
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_lrpe(KernelBuilder &k) {
    const int heads = k.params.integer("heads", 1, 1 << 12), dk = k.params.integer("dk", 1, 1 << 12),
              rows = k.params.integer("rows", 1, 1 << 20);
    const int axes = k.params.integer_or("axes", 0, 0, 3);
    const int conditions = k.params.integer_or("conditions", 0, 0, 1 << 24);
    std::vector<int> sizes;
    sizes.reserve(3);
    for (int a = 0; a < axes; a++) sizes.push_back(k.params.integer("size_" + std::to_string(a), 1, 1 << 24));
    const int width = 2 * heads * dk, padded = static_cast<int>(pad(extent(width))),
              row = static_cast<int>(pad(extent(heads * dk)));
    ImageParam x = k.input("x", {{extent(dk), 1}, {extent(heads), dk}, {extent(rows), row}});
    ImageParam high = k.weight("turns_high", dense({dk, heads}), Int(32)),
               low = k.weight("turns_low", dense({dk, heads}), Int(32));
    k.no_epilogue();

    // THE ALGORITHM
    // The position is the row's number, or along the axes of an image that follows the conditions, at 0.
    Var i("i"), p("p"), h("h"), r("r"), a("a"), c("c");
    Func count = row_counter(rows), position("position"), turned("turned"), y("y");
    const Expr number = row_number(count, r, rows);
    Expr at = number;
    if (axes) {
        at = cast<int64_t>(0);
        int64_t stride = 1;
        for (int axis = axes - 1; axis >= 0; stride *= sizes[static_cast<size_t>(axis--)])
            at = select(a == axis,
                        (number - conditions) / cast<int64_t>(Expr(static_cast<int64_t>(stride))) %
                            cast<int64_t>(sizes[static_cast<size_t>(axis)]),
                        at);
        at = select(number < conditions, cast<int64_t>(0), at);
    }
    position(a, r) = cast<uint64_t>(at);
    const Expr axis = axes > 1 ? Expr(i / ((dk + axes - 1) / axes)) : Expr(0);
    const Turn turn = turn_of(phase_of(position(axis, r), high(i, h), low(i, h)));
    turned(i, p, h, r) = x(i, h, r) * select(p == 0, turn.cosine, turn.sine);

    // THE SCHEDULE
    position.compute_root();
    store(position, int64_t{8} * rows * std::max(axes, 1));
    const int vec = dividing_vector(dk, k.target.vector_lanes);
    if (width == padded) {
        y(i, p, h, r) = turned(i, p, h, r);
        y.reorder(p, i, h, r).bound(p, 0, 2).unroll(p).vectorize(i, vec);
        k.output(y, {{extent(dk), 1}, {2, dk}, {extent(heads), 2 * dk}, {extent(rows), padded}});
    } else {
        turned.compute_at(y, r).bound_extent(i, dk).bound_extent(p, 2).bound_extent(h, heads);
        turned.reorder(p, i, h).unroll(p).vectorize(i, vec);
        store(turned, int64_t{4} * width);
        const Expr lane = min(c, width - 1);
        y(c, r) = select(c < width, turned(lane % dk, lane / dk % 2, lane / (2 * dk), r), 0.0f);
        k.output(y, dense({padded, rows}));
    }
    k.in_place(count, dense({1}));
}

static const Kernel lrpe{"lrpe", build_lrpe};

} // namespace longwave::schedules
