// pair_features: what a retrieval head sees of two pooled documents: u, v, u − v, u·v.
#include "schedules/contract/kernels/pooling.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct PairFeatures {
    const contract::PairFeatures::Arguments<contract::Names> a = contract::names_of<contract::PairFeatures>();
    int width;
    Var c{"c"}, part{"part"};
    Func y{"y"};
};

// THE ALGORITHM
PairFeatures define_pair_features(KernelBuilder &k, const contract::PairFeatures &params) {
    PairFeatures p{.width = static_cast<int>(pad(extent(params.channels)))};
    k.no_epilogue();
    ImageParam u = k.input(p.a.u, dense({p.width})), v = k.input(p.a.v, dense({p.width}));
    const Var &c = p.c, &part = p.part;
    p.y(c, part) = select(part == 0, u(c), part == 1, v(c), part == 2, u(c) - v(c), u(c) * v(c));
    return p;
}

void pair_features_on_cpu(KernelBuilder &k, const contract::PairFeatures &params) {
    PairFeatures p = define_pair_features(k, params);
    p.y.vectorize(p.c, dividing_vector(p.width, k.target.vector_lanes)).bound(p.part, 0, 4).unroll(p.part);
    k.output(p.y, p.a.y, dense({p.width, 4}));
}

void pair_features_on_gpu(KernelBuilder &k, const contract::PairFeatures &params) {
    PairFeatures p = define_pair_features(k, params);
    spread(p.y, {p.c, p.part}, {p.width, 4});
    k.output(p.y, p.a.y, dense({p.width, 4}));
}

const Kernel<contract::PairFeatures> pair_features{pair_features_on_cpu, pair_features_on_gpu,
                                                   Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
