// conv2d: short convolutions over time and frequency on a ring of rows: regular, pointwise,
// depthwise and in groups; a 1-D convolution has one frequency. Of several streams each has one row. On a
// CPU the products of a result are added in parts of at most `longest_chain`, because the error of a float32
// sum grows with the length of its chain. Few frequencies are written out, and then no product with the zeros
// around them is computed. Where few channels are read, the places of rows in the ring would take more
// instructions than the products: a tile of rows takes one place per tap, unless the ring ends inside. Up to
// 8 channels of a result take vectors of 4 or 8 lanes. On a gpu the result of one frequency may lie channel
// by channel.
#include "schedules/contract/kernels/conv.h"
#include "schedules/conv/register_tile.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/transposed_tile.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int longest_chain = 16;    // products
constexpr int most_written_out = 32; // frequencies of the result times taps
constexpr int few_channels = 16;     // of the input: places cost as much as products
constexpr int most_unrolled = 8;     // channels of the input
constexpr int most_places = 16;      // of a tile of rows

// Lanes of a row that are computed; those behind them are zero.
int lanes_of(int channels, int width) {
    return channels <= 4 ? std::min(4, width) : channels <= 8 ? std::min(8, width) : width;
}

// One dimension of the products of a result, in parts of equal length; the last may be shorter.
struct Parts {
    int extent, length;
    Parts(int n, int most) : extent(n), length((n + (n + most - 1) / most - 1) / ((n + most - 1) / most)) {}
    int count() const { return (extent + length - 1) / length; }
    bool even() const { return extent % length == 0; }
};

struct Conv2d {
    contract::Conv2d::Arguments<contract::Names> a;
    int in_width, width, lanes, out_f, rows, used_f, height; // `height`: rows that the taps touch
    int streams; // each with one row; 1: a call of a single stream, with any rows
    bool padded, depthwise;
    bool skips; // the products with zeros around the frequencies: each part belongs to one tap of them
    int tile;   // rows; 0: each row has a place of its own in the ring
    Shape shape;
    KernelBuilder::Epilogue finished;
    Var c, f, r, i, n, s, q; // q: number of a tile, in which r counts from its first row
    RDom taps, parts;        // products of a part; parts of a sum, not on a gpu
    Func framed, part, sum, y;
    RDom parts_together; // with tiles: the same for those whose rows lie together
    Func part_together;

    Expr sum_at(const Expr &channel) const {
        return tile ? sum(channel, f, r % tile, r / tile) : sum(channel, f, r);
    }
    void finish() { y(c, f, r) = finished(sum_at(c), {c, f, r}); }

    // The result in two updates, of which the second writes the zeros behind the lanes.
    Stage finish_lanes(int vec) {
        const RDom computed(0, lanes, "computed"), rest(lanes, width - lanes, "rest");
        y(c, f, r) = undef<float>();
        y(computed, f, r) = finished(sum_at(computed), {computed, f, r});
        y(rest, f, r) = 0.0f;
        y.update(0).vectorize(computed, vec).unroll(computed);
        y.update(1).vectorize(rest, dividing_vector(width - lanes, vec)).unroll(rest);
        return y.update(0);
    }
};

// THE ALGORITHM, up to the sums
Conv2d define_conv2d(KernelBuilder &k, const contract::Conv2d &p, int tile = 0) {
    const Params &params = k.params;
    const auto a = contract::names_of<contract::Conv2d>();
    const int time = p.time, frequency = p.frequency, stride_t = p.stride_t, stride_f = p.stride_f,
              dilation_t = p.dilation_t, pad_f = p.pad_f;
    const int in_f = p.in_f, in_c = p.in_c, out_f = p.out_f, out_c = p.out_c;
    const int groups = p.groups, phase = p.phase.or_else(stride_t - 1), rows = p.rows, ring = p.ring;
    const int in_width = static_cast<int>(pad(in_c)), width = static_cast<int>(pad(out_c));
    const int in_row = p.in_row.or_else(in_f * in_width), streams = p.streams;
    params.require(in_row >= in_f * in_width, "'in_row' must hold the row");
    params.require(streams == 1 || (rows == 1 && k.target.kind == targets::Kind::cpu),
                   "'streams' are for one row on a CPU");
    params.require(in_c % groups == 0 && out_c % groups == 0, "'groups' must divide in_c and out_c");
    const bool depthwise = groups > 1 && groups == in_c && in_c == out_c, has_bias = p.bias;
    const int of_group = in_c / groups, to_group = out_c / groups; // channels of a group
    params.require(in_c == 1 || in_row == in_f * in_width, "'in_row' may exceed the row only when in_c is 1");
    const int reach = (time - 1) * dilation_t; // rows before the newest tap
    params.require(ring >= int64_t{rows} * stride_t + std::max(0, reach - phase),
                   "'ring' must hold the new rows and their history");
    const int used_f = (out_f - 1) * stride_f + frequency; // frequencies the taps touch, padding included
    params.require(phase < rows * stride_t, "'phase' must lie in the new rows");

    const Shape y_shape = dense({width, out_f, rows * streams});
    Shape x_shape = {{extent(in_width), 1}, {extent(in_f), in_width}, {extent(ring), in_row}};
    if (streams > 1) x_shape.push_back({extent(streams), ring * in_row});
    ImageParam x = k.input(a.x, x_shape);
    ImageParam w = depthwise ? k.weight(a.w, dense({width, frequency, time}))
                             : k.weight(a.w, dense({width, of_group, frequency, time}));
    ImageParam bias;
    if (has_bias) bias = k.weight(a.bias, dense({width}));
    const auto position = k.scalar_of_streams(a.position, ring - rows * stride_t, streams);

    Var c("c"), f("f"), r("r"), i("i"), n("n"), s("s"), q("q");
    const Expr first = tile           ? q * tile + r
                       : streams == 1 ? Expr(r)
                                      : Expr(0),
               stream = streams == 1 ? Expr(0) : Expr(r);
    const int channels = depthwise ? 1 : of_group;
    const Parts of_c(channels, longest_chain), of_f(frequency, std::max(1, longest_chain / of_c.length)),
        of_t(time, std::max(1, longest_chain / (of_c.length * of_f.length)));
    const bool around = pad_f > 0 || used_f > in_f,
               skips = around && k.target.kind == targets::Kind::cpu && of_f.length == 1 &&
                       frequency * out_f <= most_written_out,
               padded = around && !skips;
    // Rows count from the first new one, history is negative.
    auto value = [&](const Expr &channel, const Expr &at_f, const Expr &row, const Expr &of) -> Expr {
        const Expr at = wrapped(position(of) + row, ring);
        return streams == 1 ? x(channel, at_f, at) : x(channel, at_f, at, of);
    };
    Func framed(
        "framed"); // the rows in use with zeros around the frequencies; row n is new row n - reach + phase
    framed(i, f, n, s) = select(f >= pad_f && f < pad_f + in_f,
                                value(i, clamp(f - pad_f, 0, in_f - 1), n - reach + phase, s), 0.0f);
    auto input = [&](const Expr &channel, const Expr &tap_f, const Expr &tap_t) -> Expr {
        Expr at_f = f * stride_f + tap_f, row = first * stride_t + tap_t * dilation_t;
        return padded ? Expr(framed(channel, at_f, row, stream))
                      : value(channel, skips ? clamp(at_f - pad_f, 0, in_f - 1) : at_f, row - reach + phase,
                              stream);
    };
    Func part("part"), sum("sum"), y("y");
    const Expr from =
        groups == 1 ? Expr(0) : min(c / to_group, groups - 1) * of_group; // padding lanes: anything
    const auto place = [&](const Expr &row, const Expr &tap_t) -> Expr { // may be negative: then `ring` later
        return position(Expr(0)) + row * stride_t + tap_t * dilation_t - reach + phase;
    };
    const auto term = [&](const Expr &channel, const Expr &tap_f, const Expr &tap_t) {
        return depthwise ? w(c, tap_f, tap_t) * input(c, tap_f, tap_t)
                         : w(c, channel, tap_f, tap_t) * input(from + channel, tap_f, tap_t);
    };
    const Expr start = has_bias ? Expr(bias(c)) : Expr(0.0f);
    RDom taps, parts, parts_together;
    Func part_together("part_together");
    if (k.target.kind == targets::Kind::gpu) {
        taps = RDom(0, channels, 0, frequency, 0, time, "taps");
        sum(c, f, r) = start;
        sum(c, f, r) += term(taps.x, taps.y, taps.z);
    } else {
        Var pc("pc"), pf("pf"), pt("pt");
        taps = RDom(0, of_c.length, 0, of_f.length, 0, of_t.length, "taps");
        const Expr channel = pc * of_c.length + taps.x, tap_f = pf * of_f.length + taps.y,
                   tap_t = pt * of_t.length + taps.z;
        if (!of_c.even()) taps.where(channel < channels);
        if (!of_f.even()) taps.where(tap_f < frequency);
        if (!of_t.even()) taps.where(tap_t < time);
        if (skips) taps.where(f * stride_f + pf >= pad_f && f * stride_f + pf < pad_f + in_f);
        std::vector<Var> at{c, f, r};
        if (tile) at.push_back(q);
        const auto of_part = [&at](Func &of, const std::vector<Expr> &number) {
            std::vector<Expr> all(at.begin(), at.end());
            all.insert(all.end(), number.begin(), number.end());
            return of(all);
        };
        const auto all_parts = [&](const char *name) {
            return RDom(0, of_c.count(), 0, of_f.count(), 0, of_t.count(), name);
        };
        of_part(part, {pc, pf, pt}) = 0.0f;
        of_part(part, {pc, pf, pt}) += term(channel, tap_f, tap_t);
        parts = all_parts("parts");
        sum(at) = start;
        if (tile) {                       // both ways have the same order of products, so the same bits
            Expr divided = cast<bool>(0); // an expression of q alone, which stands outside of the loops
            for (int tap = 0; tap < time; tap++) {
                const Expr first_row = place(q * tile, tap);
                divided = divided || (first_row < 0 && first_row + (tile - 1) * stride_t >= 0);
            }
            const Expr together = x(from + channel, 0, wrapped(place(q * tile, tap_t), ring) + r * stride_t);
            of_part(part_together, {pc, pf, pt}) = 0.0f;
            of_part(part_together, {pc, pf, pt}) += w(c, channel, tap_f, tap_t) * together;
            parts_together = all_parts("parts_together");
            parts_together.where(!divided);
            parts.where(divided);
            sum(at) += of_part(part_together, {parts_together.x, parts_together.y, parts_together.z});
        }
        sum(at) += of_part(part, {parts.x, parts.y, parts.z});
    }

    const int height = reach + (rows - 1) * stride_t + 1;
    return {a,
            in_width,
            width,
            lanes_of(out_c, width),
            out_f,
            rows * streams,
            used_f,
            height,
            streams,
            padded,
            depthwise,
            skips,
            tile,
            y_shape,
            k.epilogue(y_shape, out_c),
            c,
            f,
            r,
            i,
            n,
            s,
            q,
            taps,
            parts,
            framed,
            part,
            sum,
            y,
            parts_together,
            part_together};
}

// Rows of a tile that divides the rows, of which few channels are read over one frequency; else 0.
int tile_of_rows(const KernelBuilder &k, const contract::Conv2d &p) {
    const int in_c = p.in_c, groups = p.groups, width = static_cast<int>(pad(int{p.out_c})),
              lanes = lanes_of(p.out_c, width), vec = dividing_vector(lanes, k.target.vector_lanes),
              across = register_tile(lanes / vec, p.rows, k.target.vector_registers).across,
              tile = divisor_at_most(p.rows, across);
    const bool one_frequency = p.in_f == 1 && p.out_f == 1 && p.frequency == 1 && p.streams == 1;
    return one_frequency && groups == 1 && in_c <= few_channels && p.time <= most_places && tile > 1 &&
                   2 * tile >= across
               ? tile
               : 0;
}

// A register tile of channels by frequencies (or rows, when there is one frequency), and by streams. The
// last tile of a dimension overlaps the one before it, but where tiles divide the rows.
void conv2d_on_cpu(KernelBuilder &k, const contract::Conv2d &p) {
    Conv2d d = define_conv2d(k, p, tile_of_rows(k, p));
    // The zeros behind few lanes are an update, which must compute nothing twice.
    const bool few = d.tile > 0 && d.lanes < d.width;
    const int vec = dividing_vector(few ? d.lanes : d.width, k.target.vector_lanes);
    if (!few) d.finish();
    Stage result = few ? d.finish_lanes(vec) : Stage(d.y);
    const auto &[a, in_width, width, lanes, out_f, rows, used_f, height, streams, padded, depthwise, skips,
                 of_tile, shape, finished, c, f, r, i, n, s, q, taps, parts, framed_, part_, sum_, y_,
                 parts_together, part_together_] = d;
    Func framed = framed_, part = part_, sum = sum_, y = y_, part_together = part_together_;
    // All rows of one frequency; else frequencies, of one row or of all streams.
    // Or one frequency of all streams: which products it has is known, so each tile has them all.
    const bool one_of_all = skips && streams > 1;
    const int places = out_f == 1 || one_of_all ? rows : out_f * (streams > 1 ? rows : 1);
    RegisterTile tile = register_tile((few ? lanes : width) / vec, places, k.target.vector_registers);
    if (of_tile) tile.across = of_tile;
    const int tile_f = one_of_all ? 1 : std::min(out_f, tile.across),
              tile_r = out_f == 1    ? tile.across
                       : streams > 1 ? std::max(1, tile.across / tile_f)
                                     : 1,
              block = tile.vectors * vec;
    const TailStrategy tail = few ? TailStrategy::RoundUp : TailStrategy::ShiftInwards;
    Var co("co"), ci("ci"), fo("fo"), fi("fi"), ro("ro"), ri("ri");
    if (of_tile) y.bound(r, 0, rows);
    if (!few) result.split(c, co, ci, block, tail);
    result.split(f, fo, fi, tile_f, tail).split(r, ro, ri, tile_r, tail);
    if (few) result.reorder(fi, ri, fo, ro);
    else result.reorder(ci, fi, ri, fo, co, ro).vectorize(ci, vec).unroll(ci);
    result.unroll(fi).unroll(ri);
    const auto in_registers = [&, &c = c, &f = f, &r = r](Stage stage) {
        stage.vectorize(c, vec).unroll(c).unroll(f).unroll(r);
    };
    const auto of_products = [&, &c = c, &f = f, &r = r, &q = q, &taps = taps](Func of) {
        of.bound_extent(c, block).bound_extent(f, tile_f).bound_extent(r, tile_r);
        in_registers(of);
        if (of_tile) of.bound_extent(q, 1);
        of.update().reorder({c, f, r, taps.x, taps.y, taps.z});
        in_registers(of.update());
    };
    sum.bound_extent(c, block).bound_extent(f, tile_f).bound_extent(r, tile_r);
    if (of_tile) sum.bound_extent(q, 1);
    in_registers(sum);
    sum.compute_at(y, fo);
    const int last = of_tile ? 1 : 0; // the update with places of their own
    std::vector<VarOrRVar> order{c, f, r, parts.x, parts.y, parts.z};
    if (of_tile) order.emplace_back(q);
    sum.update(last).reorder(order);
    in_registers(sum.update(last));
    of_products(part);
    part.compute_at(sum, parts.x);
    if (of_tile) {
        sum.update(0).reorder({c, f, r, parts_together.x, parts_together.y, parts_together.z, q});
        in_registers(sum.update(0));
        of_products(part_together);
        part_together.compute_at(sum, parts_together.x);
        if (in_width <= few_channels && int{p.in_c} <= most_unrolled) part_together.update().unroll(taps.x);
    }
    if (skips) { // which products there are is known where the code is written
        result.unroll(fo);
        sum.update().unroll(parts.y);
    }
    if (padded) {
        const int vector = k.target.vector_lanes;
        framed.compute_root().bound_extent(i, in_width).bound_extent(f, used_f).bound_extent(n, height);
        framed.bound_extent(s, streams);
        if (in_width > 1) framed.vectorize(i, vector);
        else if (used_f >= vector) framed.vectorize(f, vector, TailStrategy::ShiftInwards);
        store(framed, int64_t{4} * in_width * used_f * height * streams);
    }
    k.output(y, a.y, shape);
}

// A thread for each sum; what its neighbours read as well comes from the caches.
void conv2d_on_gpu(KernelBuilder &k, const contract::Conv2d &p) {
    Conv2d d = define_conv2d(k, p);
    if (k.asks_channel_major_of_result()) {
        // The ring has rows, and so has the tile.
        const TransposedTile transposed(d.width, d.rows, TransposedTile::Result::channels);
        Func tile("tile");
        tile(d.c, d.r) = d.sum(d.c, 0, transposed.inside(d.r));
        d.y(d.c, d.f, d.r) = d.finished(tile(d.c, d.r), {d.c, d.f, d.r});
        const VarOrRVar thread = transposed.schedule(d.y, tile, d.c, d.r);
        d.sum.compute_at(tile, thread.var).store_in(MemoryType::Register);
    } else {
        d.finish();
        const Spread loops = spread(d.y, {d.c, d.f, d.r}, {d.width, d.out_f, d.rows});
        d.sum.compute_at(d.y, loops.thread.var).store_in(MemoryType::Register);
    }
    k.output(d.y, d.a.y, d.shape);
    if (d.out_f > 1 || !TransposedTile::fits(d.width)) return;
    k.allow_channel_major_with_operands({d.y.name()});
    k.prefer_one_order();
}

const Kernel<contract::Conv2d> conv2d{conv2d_on_cpu, conv2d_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
