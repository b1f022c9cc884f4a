// linear: y = x·w + bias for one or many rows; with glu the values times the sigmoid of the gates;
// with blocks a block-diagonal matrix, whose blocks lie one behind another. Weights that are stored
// in fewer bytes than a float32 are widened in registers, or once for many rows. With advice the
// row is computed where it is wanted, and otherwise left as it is.
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/linear/integer_linear.h"
#include "schedules/linear/linear_product.h"
#include "schedules/linear/linear_tiles.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// One output: the lanes run along the input instead.
void build_single(KernelBuilder &k, const Product &p, const Shape &y_shape) {
    const int words = p.inputs() / p.of_word(), vec = dividing_vector(words, k.target.vector_lanes),
              tile = std::min(p.rows, 4);

    // THE ALGORITHM
    Var o("o"), r("r"), h("h"), q("q");
    RDom i({{0, p.of_word()}, {0, words / vec}}, "i"), part(0, vec, "part");
    Func sum("sum"), total("total"), y("y");
    sum(q, h, r) = 0.0f;
    const Expr word = i.y * vec + q;
    sum(q, h, r) += p.weight(0, word, i.x, h) * p.input(i.x * words + word, r, 0);
    total(h, r) = p.start(0, h);
    total(h, r) += sum(part, h, r);
    const auto result = [&](int half) { return p.finished(total(half, r), 0, half); };
    y(o, r) = k.epilogue(p.halves == 2 ? result(0) * sigmoid(result(1)) : result(0), {o, r}, y_shape, 1);

    // THE SCHEDULE
    Var ro("ro"), ri("ri");
    y.split(r, ro, ri, tile, TailStrategy::ShiftInwards).reorder(o, ri, ro).unroll(ri);
    sum.compute_at(y, ro).vectorize(q).unroll(h).unroll(r);
    sum.update().reorder(q, h, r, i.x, i.y).vectorize(q).unroll(h).unroll(r).unroll(i.x);
    total.compute_at(y, ro).unroll(h).unroll(r);
    total.update().unroll(part).unroll(h).unroll(r);
    k.output(y, p.a.y, y_shape);
}

// One definition of y: register tiles side by side, each of `group.panels` panels, for all rows.
class Walk {
public:
    Walk(const KernelBuilder &k, const Product &product, const LinearTiles &tiles,
         const LinearTiles::Group &group, int number)
        : p_(product), tiles_(tiles), group_(group), id_(std::to_string(number)), number_(number),
          slice_(panel_width / tiles.slices), tiles_count_(group.count * product.blocks * tiles.slices),
          of_block_(static_cast<int>(product.panels.count()) / product.blocks),
          vec_(std::min(k.target.vector_lanes, panel_width)),
          length_(p_.inputs() / tiles.chunks / tiles.parts),
          unrolled_(tiles.granule *
                    divisor_at_most(length_ / tiles.granule, std::max(1, tiles.unrolled / tiles.granule))),
          fetches_(tiles.fetch && tiles_count_ > 1), n_(0, length_, "n" + id_), sum_("sum" + id_),
          total_("total" + id_), fetch_("fetch" + id_), widened_("widened" + id_) {}

    void add_to(Func &y, const KernelBuilder::Epilogue &epilogue) {
        define_sums();
        define_total();
        RDom d({{0, slice_},
                {0, group_.panels},
                {0, tiles_.rows},
                {0, tiles_.tiles},
                {0, tiles_count_},
                {0, p_.blocks_wanted(tiles_.blocks)}},
               "d" + id_);
        const std::vector<Expr> at = {panel(d[4], d[1]) * panel_width + slice(d[4]) + d[0],
                                      row(d[5], d[3], d[2])};
        const auto result = [&](int half) -> Expr {
            return p_.finished(total_(d[0], d[1], half, d[2], d[3], d[4], d[5]), at[0], half);
        };
        y(at) = epilogue(p_.halves == 2 ? result(0) * sigmoid(result(1)) : result(0), at);
        schedule(y.update(number_), y, d);
    }

private:
    static constexpr int panel_width = static_cast<int>(lanes);

    // ---- THE ALGORITHM ----
    // No tile reaches into the next block of a block-diagonal matrix.
    Expr block(const Expr &tile) const {
        return p_.blocks == 1 ? Expr(0) : tile / (tiles_.slices * group_.count);
    }
    Expr panel(const Expr &tile, const Expr &of_tile) const {
        const Expr of_group = tile / tiles_.slices;
        return group_.first + of_tile +
               (p_.blocks == 1 ? of_group * group_.panels
                               : block(tile) * of_block_ + of_group % group_.count * group_.panels);
    }
    // Where the lanes of a tile begin in each of its panels.
    Expr slice(const Expr &tile) const {
        return tiles_.slices == 1 ? Expr(0) : tile % tiles_.slices * slice_;
    }
    // The last tile of a block and the last block overlap those before them: their rows are
    // computed again.
    Expr row(const Expr &block, const Expr &tile, const Expr &of_tile) const {
        const Expr first = tiles_.blocks == 1 ? Expr(0) : min(block * tiles_.block, p_.rows - tiles_.block);
        const Expr inside = tiles_.tiles == 1 ? Expr(0) : min(tile * tiles_.rows, tiles_.block - tiles_.rows);
        return first + inside + of_tile;
    }

    // Of one chunk of the inputs.
    void define_sums() {
        const Expr of_chunk = n_ * tiles_.parts + q, first = chunk * (length_ * tiles_.parts);
        const auto weight = [&](const Expr &of) {
            return p_.weight(c + slice(g), of / p_.of_word(), of % p_.of_word(), panel(g, j) * p_.halves + h);
        };
        if (tiles_.widen) widened_(c, m, j, h, chunk, g, b) = weight(first + m);
        const Expr w =
            tiles_.widen ? Expr(widened_(c, of_chunk, j, h, chunk, g, b)) : weight(first + of_chunk);
        Expr none = 0;
        if (fetches_) {
            define_fetch();
            none = clamp(fetch_(n_ / unrolled_, t, chunk, g, b), 0, 1);
        }
        sum_(c, j, h, q, i, t, chunk, g, b) = 0.0f;
        sum_(c, j, h, q, i, t, chunk, g, b) += w * p_.input(first + of_chunk + none, row(b, t, i), block(g));
    }

    // The weights that come next, chunk after chunk of a tile's panels, spread over the tiles of
    // rows: each asks for a share of some panels.
    void define_fetch() {
        const int segments = group_.panels * p_.halves, of_tile = ceil_div(segments, tiles_.tiles),
                  shares = std::max(1, tiles_.tiles / segments), steps = length_ / unrolled_;
        const int bytes = p_.inputs() / p_.of_word() / tiles_.chunks * panel_width * 4,
                  each = std::max(1, bytes / (shares * steps));
        const int panel_bytes = static_cast<int>(p_.panels.stride()) * 4;
        const Expr last = chunk == tiles_.chunks - 1;
        const Expr tile = select(last, (g + 1) % tiles_count_, g), next = select(last, 0, chunk + 1);
        Expr zero = 0;
        for (int s = 0; s < of_tile; s++) {
            const Expr segment = (t * of_tile + s) % segments, share = t * of_tile / segments % shares;
            const Expr from = (panel(tile, 0) * p_.halves + segment) * panel_bytes + next * bytes +
                              (share * steps + step) * each;
            for (int line = 0; line * 64 < each; line++) zero += prefetched(p_.w, from + line * 64);
        }
        fetch_(step, t, chunk, g, b) = zero;
    }

    void define_total() {
        const auto parts = [&](const Expr &of_row, const Expr &tile, const Expr &of_chunk) {
            Expr value = sum_(c, j, h, 0, of_row, tile, of_chunk, g, b);
            for (int part = 1; part < tiles_.parts; part++)
                value += sum_(c, j, h, part, of_row, tile, of_chunk, g, b);
            return value;
        };
        const Expr start = p_.start(panel(g, j) * panel_width + slice(g) + c, h);
        if (tiles_.chunks == 1) {
            // Strict: what the epilogue adds comes after, for any number of rows.
            total_(c, j, h, i, t, g, b) = strict_float(start + parts(i, t, 0));
        } else {
            total_(c, j, h, i, t, g, b) = start;
            added_ = RDom({{0, tiles_.rows}, {0, tiles_.tiles}, {0, tiles_.chunks}}, "added" + id_);
            total_(c, j, h, added_.x, added_.y, g, b) += parts(added_.x, added_.y, added_.z);
        }
    }

    // ---- THE SCHEDULE ----
    // for a block of rows { for a tile of panels { for a chunk of inputs { for a tile of rows {
    // sums in registers } } the epilogue } }; with one chunk the epilogue takes the sums from the
    // registers.
    void schedule(Stage stage, Func y, const RDom &d) {
        stage.allow_race_conditions().reorder(d[0], d[1], d[2], d[3], d[4], d[5]);
        RVar lane("lane"), outer("outer"), inner("inner");
        if (vec_ == slice_) stage.vectorize(d[0]);
        else stage.split(d[0], d[0], lane, vec_).vectorize(lane).unroll(d[0]);
        stage.unroll(d[1]);
        sum_.store_in(MemoryType::Stack);
        if (tiles_.chunks == 1) {
            stage.unroll(d[2]);
            sum_.compute_at(y, d[3]);
        } else {
            total_.compute_at(y, d[4]);
            bound(total_).bound_extent(t, tiles_.tiles);
            store(total_, int64_t{4} * slice_ * group_.panels * p_.halves * tiles_.rows * tiles_.tiles);
            total_.vectorize(c, vec_).unroll(c).unroll(j).unroll(h);
            total_.update()
                .reorder(c, j, h, added_.x, added_.y, added_.z, g, b)
                .vectorize(c, vec_)
                .unroll(c)
                .unroll(j)
                .unroll(h)
                .unroll(added_.x);
            sum_.compute_at(total_, added_.y);
        }
        bound(sum_).bound_extent(q, tiles_.parts);
        sum_.vectorize(c, vec_).unroll(c).unroll(j).unroll(h).unroll(q).unroll(i);
        // What a tile has less of, rows or vectors, is held in registers beside the sums.
        const bool few_rows = tiles_.rows < slice_ / vec_ * group_.panels * p_.halves;
        const std::vector<VarOrRVar> order =
            few_rows ? std::vector<VarOrRVar>{lanes_, i, c, j, h, q, inner, outer}
                     : std::vector<VarOrRVar>{lanes_, c, j, h, i, q, inner, outer};
        sum_.update()
            .split(n_, outer, inner, unrolled_)
            .split(c, c, lanes_, vec_)
            .reorder(order)
            .vectorize(lanes_)
            .unroll(c)
            .unroll(j)
            .unroll(h)
            .unroll(i)
            .unroll(q)
            .unroll(inner);
        if (fetches_) fetch_.compute_at(sum_, outer).store_in(MemoryType::Stack);
        if (tiles_.widen) schedule_widened(y, d[4]);
    }

    // A chunk of a tile's panels as float32, for all rows of the block.
    void schedule_widened(Func y, const RVar &tile) {
        const int inputs = length_ * tiles_.parts;
        if (tiles_.chunks == 1) widened_.compute_at(y, tile);
        else widened_.compute_at(total_, added_.z);
        widened_.bound_extent(c, slice_)
            .bound_extent(m, inputs)
            .bound_extent(j, group_.panels)
            .bound_extent(h, p_.halves);
        store(widened_, int64_t{4} * slice_ * inputs * group_.panels * p_.halves);
        Var place("place");
        widened_.split(m, m, place, p_.of_word())
            .reorder(c, place, m, j, h)
            .vectorize(c, vec_)
            .unroll(c)
            .unroll(place);
    }

    Func &bound(Func &f) {
        return f.bound_extent(c, slice_)
            .bound_extent(j, group_.panels)
            .bound_extent(h, p_.halves)
            .bound_extent(i, tiles_.rows);
    }

    const Product &p_;
    const LinearTiles &tiles_;
    const LinearTiles::Group group_;
    const std::string id_;
    const int number_, slice_, tiles_count_, of_block_, vec_, length_, unrolled_;
    const bool fetches_;
    // c: output of a panel, j: panel of a tile, h: half, q: part of a sum, i: row of a tile, t:
    // tile of a block of rows, g: tile of panels, b: block of rows, m: input of a chunk.
    Var c{"c"}, j{"j"}, h{"h"}, q{"q"}, i{"i"}, t{"t"}, chunk{"chunk"}, g{"g"}, b{"b"}, m{"m"}, step{"step"},
        lanes_{"lanes"};
    RDom n_, added_;
    Func sum_, total_, fetch_, widened_;
};

} // namespace

static void build_linear(KernelBuilder &k, const contract::Linear &params) {
    const Product p = declare_product(k, params);
    if (p.integer() && p.panels.format == WeightFormat::int4) return build_grouped_linear(k, p);
    if (p.integer()) return build_integer_linear(k, p);
    const Shape y_shape = p.y_shape();
    if (p.out == 1) return build_single(k, p, y_shape);

    const LinearTiles tiles = linear_tiles(k.target, p.panels, p.rows, p.blocks, p.of_stream);
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, p.out);
    Var o("o"), r("r");
    Func y("y");
    y(o, r) = undef<float>();
    int stage = 0;
    for (const LinearTiles::Group &group : tiles.groups)
        Walk(k, p, tiles, group, stage++).add_to(y, epilogue);
    k.output(y, p.a.y, y_shape);
}

static const Kernel<contract::Linear> linear{build_linear};

} // namespace longwave::schedules
