// embedding: rows of a table. The caller has checked that every id is inside the vocabulary; of a table that
// holds the ids from `first` on, the others have rows of zeros.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_embedding(KernelBuilder &k) {
    const int vocabulary = k.params.integer("vocabulary", 1, 1 << 24),
              channels = k.params.integer("width", 1, 1 << 20);
    const int first = k.params.integer_or("first", -1, 0, 1 << 24); // -1: the table holds every id
    const int rows = k.params.integer("rows", 1, 1 << 20), width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, rows});
    ImageParam ids = k.input("ids", dense({rows}), Int(32));
    ImageParam table = k.weight("table", dense({width, vocabulary}));

    // THE ALGORITHM
    Var c("c"), r("r");
    Func y("y");
    const Expr id = first < 0 ? Expr(ids(r)) : ids(r) - first;
    Expr value = table(c, clamp(id, 0, vocabulary - 1));
    if (first >= 0) value = select(id >= 0 && id < vocabulary, value, 0.0f);
    y(c, r) = k.epilogue(value, {c, r}, y_shape, channels);

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(width, k.target.vector_lanes));
    k.output(y, y_shape);
}

static const Kernel embedding{"embedding", build_embedding};

} // namespace longwave::schedules
