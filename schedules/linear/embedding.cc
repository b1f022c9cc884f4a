// embedding: rows of a table. The caller has checked that every id is inside the vocabulary; of a table that
// holds the ids from `first` on, the others have rows of zeros.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Embedding {
    int width, rows;
    Shape shape;
    Var c{"c"}, r{"r"};
    Func y{"y"};
};

// THE ALGORITHM
Embedding define_embedding(KernelBuilder &k) {
    const int vocabulary = k.params.integer("vocabulary", 1, 1 << 24),
              channels = k.params.integer("width", 1, 1 << 20);
    const int first = k.params.integer_or("first", -1, 0, 1 << 24); // -1: the table holds every id
    const int rows = k.params.integer("rows", 1, 1 << 20), width = static_cast<int>(pad(channels));
    Embedding e{.width = width, .rows = rows, .shape = dense({width, rows})};
    ImageParam ids = k.input("ids", dense({rows}), Int(32));
    ImageParam table = k.weight("table", dense({width, vocabulary}));
    const Expr id = first < 0 ? Expr(ids(e.r)) : ids(e.r) - first;
    Expr value = table(e.c, clamp(id, 0, vocabulary - 1));
    if (first >= 0) value = select(id >= 0 && id < vocabulary, value, 0.0f);
    e.y(e.c, e.r) = k.epilogue(value, {e.c, e.r}, e.shape, channels);
    return e;
}

void embedding_on_cpu(KernelBuilder &k) {
    Embedding e = define_embedding(k);
    e.y.vectorize(e.c, dividing_vector(e.width, k.target.vector_lanes));
    k.output(e.y, e.shape);
}

void embedding_on_gpu(KernelBuilder &k) {
    Embedding e = define_embedding(k);
    spread(e.y, {e.c, e.r}, {e.width, e.rows});
    k.output(e.y, e.shape);
}

const Kernel embedding{"embedding", embedding_on_cpu, embedding_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
