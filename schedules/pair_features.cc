// pair_features: what a retrieval head sees of two pooled documents: u, v, u − v, u·v.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_pair_features(KernelBuilder &k) {
    const int width = static_cast<int>(pad(k.params.integer("channels", 1, 1 << 20)));
    k.no_epilogue();
    ImageParam u = k.input("u", dense({width})), v = k.input("v", dense({width}));

    // THE ALGORITHM
    Var c("c"), part("part");
    Func y("y");
    y(c, part) = select(part == 0, u(c), part == 1, v(c), part == 2, u(c) - v(c), u(c) * v(c));

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(width, k.target.vector_lanes)).bound(part, 0, 4).unroll(part);
    k.output(y, dense({width, 4}));
}

static const Kernel pair_features{"pair_features", build_pair_features};

} // namespace longwave::schedules
