// embedding: rows of a table. The caller has checked that every id is inside the vocabulary; of a
// table that holds the ids from `first` on, the others have rows of zeros. With `panels` the table
// lies as the matrix of a product (contract/panels.h), which shares it: row `id` is the weights of
// output `id`.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Embedding {
    int width, rows;
    Shape shape;
    Var c{"c"}, r{"r"};
    Func y{"y"};
};

// Row `id` of the table at feature c.
using Lookup = std::function<Expr(const Expr &c, const Expr &id)>;

Lookup declare_rows(KernelBuilder &k, int width, int vocabulary) {
    const ImageParam table = k.weight("table", dense({width, vocabulary}));
    return [table](const Expr &c, const Expr &id) { return table(c, id); };
}

// Features behind the last are those that round a row up to whole vectors: they are zero.
Lookup declare_panels(KernelBuilder &k, int channels, int vocabulary, int inputs) {
    Product p{};
    p.panels = {static_cast<uint32_t>(inputs), static_cast<uint32_t>(vocabulary), 1, stored_format(k.params)};
    declare_matrix(k, p, vocabulary);
    const int all = p.inputs();
    return [p, channels, all](const Expr &c, const Expr &id) {
        const int of_panel = static_cast<int>(p.panels.width());
        const Expr at = min(c, all - 1);
        const Expr weight = p.weight(id % of_panel, at / p.of_word(), at % p.of_word(), id / of_panel);
        const Expr value = p.panels.format == WeightFormat::int8 ? weight * 0x1p-24f * p.scale(id) : weight;
        return select(c < channels, value, 0.0f);
    };
}

// THE ALGORITHM
Embedding define_embedding(KernelBuilder &k) {
    const int vocabulary = k.params.integer("vocabulary", 1, 1 << 24),
              channels = k.params.integer("width", 1, 1 << 20);
    const int first = k.params.integer_or("first", -1, 0, 1 << 24); // -1: the table holds every id
    const int inputs = k.params.integer_or("panels", 0, channels, 1 << 20);
    k.params.require(inputs == 0 || vocabulary > 1, "'panels' are for several ids");
    const int rows = k.params.integer("rows", 1, 1 << 20), width = static_cast<int>(pad(channels));
    Embedding e{.width = width, .rows = rows, .shape = dense({width, rows})};
    ImageParam ids = k.input("ids", dense({rows}), Int(32));
    const Lookup row = inputs ? declare_panels(k, channels, vocabulary, inputs) : declare_rows(k, width, vocabulary);
    const Expr id = first < 0 ? Expr(ids(e.r)) : ids(e.r) - first;
    Expr value = row(e.c, clamp(id, 0, vocabulary - 1));
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
