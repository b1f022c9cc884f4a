// embedding: rows of a table. The caller has checked that every id is inside the vocabulary.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_embedding(KernelBuilder &k) {
    const int vocabulary = k.params.integer("vocabulary", 1, 1 << 24),
              channels = k.params.integer("width", 1, 1 << 20);
    const int rows = k.params.integer("rows", 1, 1 << 20), width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, rows});
    ImageParam ids = k.input("ids", dense({rows}), Int(32));
    ImageParam table = k.weight("table", dense({width, vocabulary}));

    // THE ALGORITHM
    Var c("c"), r("r");
    Func y("y");
    y(c, r) = k.epilogue(table(c, clamp(ids(r), 0, vocabulary - 1)), {c, r}, y_shape, channels);

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(width, k.target.vector_lanes));
    k.output(y, y_shape);
}

static const Kernel embedding{"embedding", build_embedding};

} // namespace longwave::schedules
