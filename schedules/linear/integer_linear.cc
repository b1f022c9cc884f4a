#include "schedules/linear/integer_linear.h"
#include "schedules/linear/integer_tiles.h"
#include "schedules/linear/quantized_rows.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// One definition of y: register tiles side by side, each of `group.panels` panels, for all rows. A
// word has four inputs of an output. Where one instruction multiplies and adds pairs, the two pairs
// of a word go into sums of their own, which lie side by side and are added at the end. Where one
// does so with a whole word of int8, the sums are those of the two digits of a row's numbers.
// Elsewhere each input is multiplied by the outputs of a panel.
class IntegerWalk {
public:
    IntegerWalk(const KernelBuilder &k, const Product &product, const QuantizedRows &rows, const IntegerTiles &tiles,
                const LinearTiles::Group &group, int number)
        : p_(product), rows_(rows), tiles_(tiles), group_(group), number_(number),
          vec_(std::min(k.target.vector_lanes, panel_width)), digits_(has_dot_products(k.target)), sides_(k.target.integer_pairs || digits_ ? 2 : 1),
          id_(std::to_string(number)),
          z_({{0, digits_ ? 4 : 4 / sides_}, {0, static_cast<int>(product.panels.words()) / tiles.parts}}, "z" + id_),
          halves_(0, sides_, "halves" + id_), sum_("sum" + id_), folded_("folded" + id_) {}

    void add_to(Func &y, const KernelBuilder::Epilogue &epilogue) {
        // THE ALGORITHM
        const Expr word = z_.y * tiles_.parts + q, of_word = digits_ ? Expr(z_.x) : pair * 2 + z_.x;
        const Expr w = p_.w(c * 4 + of_word, word, (group_.first + g * group_.panels + j) * p_.halves + h);
        sum_(pair, c, j, h, i, q, t, g, b) = 0;
        sum_(pair, c, j, h, i, q, t, g, b) +=
            digits_ ? cast<int32_t>(rows_.digit(pair, word * 4 + of_word, row(t, i))) * cast<int32_t>(w)
                    : cast<int32_t>(rows_.steps(word * 4 + of_word, row(t, i))) * cast<int32_t>(cast<int16_t>(w));
        folded_(c, j, h, i, q, t, g, b) = 0;
        const Expr side = sum_(halves_, c, j, h, i, q, t, g, b);
        folded_(c, j, h, i, q, t, g, b) += digits_ ? side * select(halves_ == 1, 256, 1) : side;
        RDom d({{0, panel_width},
                {0, group_.panels},
                {0, tiles_.rows},
                {0, tiles_.tiles},
                {0, group_.count},
                {0, p_.blocks_wanted(1)}},
               "d" + id_);
        const std::vector<Expr> at = {(group_.first + d[4] * group_.panels + d[1]) * panel_width + d[0],
                                      row(d[3], d[2])};
        const auto result = [&](int half) -> Expr {
            Expr sum = folded_(d[0], d[1], half, d[2], 0, d[3], d[4], d[5]);
            for (int part = 1; part < tiles_.parts; part++)
                sum += folded_(d[0], d[1], half, d[2], part, d[3], d[4], d[5]);
            // In this order whatever the tile is: a row has the same bits in a block of any size.
            return p_.scaled(strict_float(cast<float>(sum) * rows_.unit(at[1])), at[0], half);
        };
        y(at) = epilogue(p_.halves == 2 ? result(0) * sigmoid(result(1)) : result(0), at);
        schedule(y.update(number_), y, d);
    }

private:
    static constexpr int panel_width = static_cast<int>(lanes);

    // The last tile overlaps the one before: its rows are computed again.
    Expr row(const Expr &tile, const Expr &of_tile) const {
        if (tiles_.tiles == 1) return of_tile;
        return min(tile * tiles_.rows, p_.rows - tiles_.rows) + of_tile;
    }

    // THE SCHEDULE
    void schedule(Stage stage, Func y, const RDom &d) {
        stage.allow_race_conditions().reorder(d[0], d[1], d[2], d[3], d[4], d[5]);
        RVar lane("lane"), outer("outer"), inner("inner");
        if (vec_ == panel_width) stage.vectorize(d[0]);
        else stage.split(d[0], d[0], lane, vec_).vectorize(lane).unroll(d[0]);
        stage.unroll(d[1]).unroll(d[2]);

        const int outputs = digits_ ? vec_ : sides_ == 2 ? vec_ / 2 : panel_width; // of a vector of sums
        bound(sum_).compute_at(y, d[3]).bound_extent(pair, sides_);
        if (digits_) sum_.reorder_storage(c, pair).reorder(c, pair).unroll(pair);
        else sum_.reorder(pair, c).vectorize(pair);
        sum_.vectorize(c, outputs).unroll(c).unroll(j).unroll(h).unroll(q).unroll(i);
        sum_.update().split(z_.y, outer, inner, tiles_.turn).split(c, c, lanes_, outputs);
        // What a tile has less of, rows or vectors, is held in registers beside the sums.
        if (digits_) sum_.update().reorder({z_.x, lanes_, c, pair, i, j, h, q, inner, outer});
        else if (sides_ == 1) sum_.update().reorder({lanes_, pair, i, c, j, h, z_.x, q, inner, outer});
        else if (tiles_.rows < group_.panels * p_.halves * panel_width / outputs)
            sum_.update().reorder({z_.x, pair, lanes_, i, c, j, h, q, inner, outer});
        else sum_.update().reorder({z_.x, pair, lanes_, c, j, h, i, q, inner, outer});
        if (digits_) sum_.update().atomic().vectorize(lanes_).vectorize(z_.x).unroll(pair);
        else if (sides_ == 1) sum_.update().vectorize(lanes_).unroll(pair).unroll(z_.x);
        else sum_.update().atomic().vectorize(lanes_).vectorize(pair).vectorize(z_.x);
        sum_.update().unroll(c).unroll(j).unroll(h).unroll(i).unroll(q).unroll(inner);

        // By a reduction: two strided loads would read across the store and wait for it.
        bound(folded_).compute_at(y, d[3]).vectorize(c, vec_).unroll(c).unroll(j).unroll(h).unroll(q).unroll(i);
        folded_.update().split(c, c, lanes_, vec_).reorder({halves_, lanes_, c, j, h, i, q});
        if (sides_ == 1 || digits_) folded_.update().vectorize(lanes_).unroll(halves_);
        else folded_.update().atomic().vectorize(lanes_).vectorize(halves_);
        folded_.update().unroll(c).unroll(j).unroll(h).unroll(i).unroll(q);
    }

    Func &bound(Func &f) {
        return f.store_in(MemoryType::Stack)
            .bound_extent(c, panel_width)
            .bound_extent(j, group_.panels)
            .bound_extent(h, p_.halves)
            .bound_extent(i, tiles_.rows)
            .bound_extent(q, tiles_.parts);
    }

    const Product &p_;
    const QuantizedRows &rows_;
    const IntegerTiles &tiles_;
    const LinearTiles::Group group_;
    const int number_, vec_;
    const bool digits_;
    const int sides_;
    const std::string id_;
    // c: output of a panel, j: panel of a tile, h: half, q: part of a sum, i: row of a tile, t:
    // tile of rows, g: tile of panels, b: whether anybody wants the row, pair: of a word, or all of
    // it, or a digit.
    Var c{"c"}, j{"j"}, h{"h"}, q{"q"}, i{"i"}, t{"t"}, g{"g"}, b{"b"}, pair{"pair"}, lanes_{"lanes"};
    RDom z_, halves_;
    Func sum_, folded_;
};

} // namespace

void build_integer_linear(KernelBuilder &k, const Product &p) {
    const Shape y_shape = p.y_shape();
    const IntegerTiles tiles = integer_tiles(k.target, p.panels, p.rows);
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, p.out);
    QuantizedRows rows(p, p.most_steps(0));
    Var o("o"), r("r");
    Func y("y");
    y(o, r) = undef<float>();
    int stage = 0;
    for (const LinearTiles::Group &group : tiles.groups)
        IntegerWalk(k, p, rows, tiles, group, stage++).add_to(y, epilogue);
    rows.schedule(k.target.vector_lanes, has_dot_products(k.target));
    k.output(y, y_shape);
}

} // namespace longwave::schedules
