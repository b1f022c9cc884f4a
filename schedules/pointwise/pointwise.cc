// pointwise: an epilogue chain alone, on values that no other kernel could finish. Rows may lie channel by
// channel: on a CPU those of few channels. On a gpu it may also change the order: x lies row by row and the
// result channel by channel, or the other way round. Without a chain it then does nothing else.
#include "schedules/contract/kernels/pointwise.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/transposed_tile.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Pointwise {
    const contract::Pointwise::Arguments<contract::Names> a = contract::names_of<contract::Pointwise>();
    int group = 0, rows = 0;
    bool grouped = false; // several padded groups of channels in a row
    Shape shape;
    ImageParam x;
    KernelBuilder::Epilogue finished;
    Var i{"i"}, g{"g"}, r{"r"};
    Func y{"y"};

    std::vector<Var> vars() const { return grouped ? std::vector<Var>{i, g, r} : std::vector<Var>{i, r}; }
};

Pointwise declare_pointwise(KernelBuilder &k, const contract::Pointwise &params) {
    const int width = params.width, rows = params.rows, channels = params.channels.or_else(width),
              group = channels == width ? width : static_cast<int>(pad(channels));
    k.params.require(width % group == 0, "'width' must be a multiple of the padded 'channels'");
    Pointwise p{
        .group = group, .rows = rows, .grouped = group != width, .shape = {}, .x = {}, .finished = {}};
    p.shape = p.grouped ? dense({group, width / group, rows}) : dense({width, rows});
    p.x = k.input(p.a.x, p.shape);
    p.finished = k.epilogue(p.shape, channels);
    return p;
}

// THE ALGORITHM
void define_pointwise(Pointwise &p) {
    const std::vector<Var> vars = p.vars();
    const std::vector<Expr> at(vars.begin(), vars.end());
    p.y(vars) = p.finished(p.x(at), at);
}

// Lanes are rows of one channel, and those behind the channels stay as they are.
void few_channels(KernelBuilder &k, const contract::Pointwise &params) {
    Pointwise p;
    const int width = params.width, rows = params.rows, channels = params.channels.or_else(width);
    p.shape = {{extent(channels), 1}, {extent(rows), width}};
    p.x = k.input(p.a.x, p.shape);
    p.finished = k.epilogue(p.shape, channels);
    define_pointwise(p);
    int vec = 1;
    while (2 * vec <= std::min(k.target.vector_lanes, rows)) vec *= 2;
    p.y.reorder(p.r, p.i).vectorize(p.r, vec, TailStrategy::ShiftInwards);
    k.output(p.y, p.a.y, p.shape);
    k.allow_channel_major_with_operands({p.a.x.text, p.y.name()});
}

void pointwise_on_cpu(KernelBuilder &k, const contract::Pointwise &params) {
    constexpr int few = 16;
    const bool narrow = params.width <= few && params.width > 1;
    if (narrow && k.asks_channel_major()) return few_channels(k, params);
    Pointwise p = declare_pointwise(k, params);
    define_pointwise(p);
    const int vec = k.target.vector_lanes;
    if (p.group >= vec) {
        p.y.vectorize(p.i, vec, p.group % vec ? TailStrategy::ShiftInwards : TailStrategy::Auto);
    } else if (p.group == 1 && !p.grouped && p.rows >= vec) {
        // one value a row: rows are contiguous
        p.y.reorder(p.r, p.i).vectorize(p.r, vec, TailStrategy::ShiftInwards);
    }
    k.output(p.y, p.a.y, p.shape);
    if (narrow) k.allow_channel_major_with_operands({p.a.x.text, p.y.name()});
}

// x lies in one order, and the result with its operands in the other.
void transposed_pointwise(KernelBuilder &k, Pointwise &p) {
    const bool from_channels = k.is_channel_major(p.a.x.text);
    const TransposedTile transposed(
        p.group, p.rows, from_channels ? TransposedTile::Result::rows : TransposedTile::Result::channels);

    // THE ALGORITHM
    Func tile("tile");
    tile(p.i, p.r) = p.x(p.i, transposed.inside(p.r));
    p.y(p.i, p.r) = p.finished(tile(p.i, p.r), {p.i, p.r});

    // THE SCHEDULE
    transposed.schedule(p.y, tile, p.i, p.r);
}

void straight_pointwise(KernelBuilder &k, Pointwise &p) {
    define_pointwise(p);
    std::vector<VarOrRVar> dims;
    std::vector<int> extents;
    for (const Var &var : p.vars()) dims.emplace_back(var);
    for (const Dim &dim : p.shape) extents.push_back(static_cast<int>(dim.extent));
    // More threads in a workgroup, or several rows in a thread: its loads are under way together.
    constexpr SpreadOptions variants[] = {{}, {.threads = 256}, {.elements_y = 4}};
    const bool varies = !p.grouped && worth_variants(p.group, p.rows);
    SpreadOptions options = variants[k.variant(varies ? std::size(variants) : 1)];
    options.rows_first = k.asks_channel_major();
    spread(p.y, dims, extents, options);
}

void pointwise_on_gpu(KernelBuilder &k, const contract::Pointwise &params) {
    Pointwise p = declare_pointwise(k, params);
    const bool transposes = !p.grouped && TransposedTile::fits(p.group);
    if (transposes && k.is_channel_major(p.a.x.text) != k.asks_channel_major_of_result())
        transposed_pointwise(k, p);
    else straight_pointwise(k, p);
    k.output(p.y, p.a.y, p.shape);
    if (!transposes) return k.allow_channel_major_with_operands({p.a.x.text, p.y.name()});
    k.allow_channel_major({p.a.x.text});
    k.allow_channel_major_with_operands({p.y.name()});
    k.prefer_one_order();
}

const Kernel<contract::Pointwise> pointwise{pointwise_on_cpu, pointwise_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
