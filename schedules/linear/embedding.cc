// embedding: rows of a table. The caller has checked that every id is inside the vocabulary; of a
// table that holds the ids from `first` on, the others have rows of zeros. With `panels` the table
// lies as the matrix of a product (contract/panels.h), which shares it: row `id` is the weights of
// output `id`. On a gpu the result may lie channel by channel.
#include "schedules/contract/kernels/linear.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/transposed_tile.h"
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Embedding {
    contract::Embedding::Arguments<contract::Names> a;
    int width, rows;
    Shape shape;
    std::function<Expr(const Expr &c, const Expr &r)> value;
    KernelBuilder::Epilogue finished;
    Var c{"c"}, r{"r"};
    Func y{"y"};
};

// Row `id` of the table at feature c.
using Lookup = std::function<Expr(const Expr &c, const Expr &id)>;

Lookup declare_rows(KernelBuilder &k, const Embedding &e, int vocabulary) {
    const ImageParam table = k.weight(e.a.table, dense({e.width, vocabulary}));
    return [table](const Expr &c, const Expr &id) { return table(c, id); };
}

// Features behind the last are those that round a row up to whole vectors: they are zero.
Lookup declare_panels(KernelBuilder &k, const Embedding &e, const contract::Embedding &params) {
    const int channels = params.width;
    Product p{};
    p.panels = {extent(params.panels), extent(params.vocabulary), 1,
                *find_weight_format(params.weights.value)};
    declare_matrix(k, p, params.vocabulary, e.a.w, e.a.scale);
    const int all = p.inputs();
    return [p, channels, all](const Expr &c, const Expr &id) {
        const int of_panel = static_cast<int>(p.panels.width());
        const Expr at = min(c, all - 1);
        const Expr weight = p.weight(id % of_panel, at / p.of_word(), at % p.of_word(), id / of_panel);
        const Expr value = p.panels.format == WeightFormat::int8 ? weight * 0x1p-24f * p.scale(id) : weight;
        return select(c < channels, value, 0.0f);
    };
}

Embedding declare_embedding(KernelBuilder &k, const contract::Embedding &p) {
    const int vocabulary = p.vocabulary, channels = p.width, first = p.first, inputs = p.panels,
              rows = p.rows, width = static_cast<int>(pad(extent(channels)));
    k.params.require(inputs == 0 || inputs >= channels, "'panels' must be at least 'width'");
    k.params.require(inputs == 0 || vocabulary > 1, "'panels' are for several ids");
    k.params.require(inputs > 0 || p.weights.is<"float32">(), "'weights' are those of 'panels'");
    Embedding e{.a = contract::names_of<contract::Embedding>(),
                .width = width,
                .rows = rows,
                .shape = dense({width, rows}),
                .value = {},
                .finished = {}};
    ImageParam ids = k.input(e.a.ids, dense({rows}), Int(32));
    const Lookup row = inputs ? declare_panels(k, e, p) : declare_rows(k, e, vocabulary);
    e.value = [=](const Expr &c, const Expr &r) {
        const Expr id = first < 0 ? Expr(ids(r)) : ids(r) - first;
        const Expr value = row(c, clamp(id, 0, vocabulary - 1));
        return first < 0 ? value : select(id >= 0 && id < vocabulary, value, 0.0f);
    };
    e.finished = k.epilogue(e.shape, channels);
    return e;
}

// THE ALGORITHM
void define_embedding(Embedding &e) { e.y(e.c, e.r) = e.finished(e.value(e.c, e.r), {e.c, e.r}); }

void embedding_on_cpu(KernelBuilder &k, const contract::Embedding &p) {
    Embedding e = declare_embedding(k, p);
    define_embedding(e);
    e.y.vectorize(e.c, dividing_vector(e.width, k.target.vector_lanes));
    k.output(e.y, e.a.y, e.shape);
}

void embedding_on_gpu(KernelBuilder &k, const contract::Embedding &p) {
    Embedding e = declare_embedding(k, p);
    if (k.asks_channel_major_of_result()) {
        // The table has rows, and so has the tile.
        const TransposedTile transposed(e.width, e.rows, TransposedTile::Result::channels);
        Func tile("tile");
        tile(e.c, e.r) = e.value(e.c, transposed.inside(e.r));
        e.y(e.c, e.r) = e.finished(tile(e.c, e.r), {e.c, e.r});
        transposed.schedule(e.y, tile, e.c, e.r);
    } else {
        define_embedding(e);
        spread(e.y, {e.c, e.r}, {e.width, e.rows});
    }
    k.output(e.y, e.a.y, e.shape);
    if (!TransposedTile::fits(e.width)) return;
    k.allow_channel_major_with_operands({e.y.name()});
    k.prefer_one_order();
}

const Kernel<contract::Embedding> embedding{embedding_on_cpu, embedding_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
