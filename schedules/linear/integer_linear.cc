#include "schedules/linear/integer_linear.h"
#include "schedules/linear/linear_tiles.h"
#include "schedules/linear/quantized_rows.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// One definition of y: register tiles side by side, each of `group.panels` panels, for all rows. A
// word has four inputs of an output; IntegerForm says how they are multiplied. Sums of an output
// that lie side by side, and those of digits, are added at the end.
class IntegerWalk {
public:
    IntegerWalk(const KernelBuilder &k, const Product &product, IntegerForm form, const QuantizedRows &rows,
                const IntegerTiles &tiles, const LinearTiles::Group &group, int number)
        : p_(product), form_(form), rows_(rows), tiles_(tiles), group_(group), number_(number),
          vec_(std::min(k.target.vector_lanes, panel_width)), sides_(sums_of_output(form)),
          digits_(multiplies_bytes(form) ? product.digits : 1), id_(std::to_string(number)),
          z_({{0, form == IntegerForm::bytes ? 2 : 4 / sides_},
              {0, static_cast<int>(product.panels.words()) / words_together(form) / tiles.parts}},
             "z" + id_),
          ends_({{0, sides_}, {0, digits_}}, "ends" + id_), products_("products" + id_), sum_("sum" + id_),
          folded_("folded" + id_), raised_("raised" + id_) {}

    void add_to(Func &y, const KernelBuilder::Epilogue &epilogue) {
        // THE ALGORITHM
        const Expr at = z_.y * tiles_.parts + q, of_word = side * (4 / sides_) + z_.x;
        sum_(side, c, digit, j, h, i, q, t, g, b) = start();
        sum_(side, c, digit, j, h, i, q, t, g, b) += product(of_word, at);
        folded_(c, j, h, i, q, t, g, b) = 0;
        const Expr end = sum_(ends_.x, c, ends_.y, j, h, i, q, t, g, b);
        folded_(c, j, h, i, q, t, g, b) += digits_ > 1 ? end * select(ends_.y == 1, 256, 1) : end;
        RDom d({{0, panel_width},
                {0, group_.panels},
                {0, tiles_.rows},
                {0, tiles_.tiles},
                {0, group_.count},
                {0, p_.blocks_wanted(1)}},
               "d" + id_);
        const std::vector<Expr> at_y = {(group_.first + d[4] * group_.panels + d[1]) * panel_width + d[0],
                                        row(d[3], d[2])};
        const auto result = [&](int half) -> Expr {
            Expr sum = folded_(d[0], d[1], half, d[2], 0, d[3], d[4], d[5]);
            for (int part = 1; part < tiles_.parts; part++)
                sum += folded_(d[0], d[1], half, d[2], part, d[3], d[4], d[5]);
            // In this order whatever the tile is: a row has the same bits in a block of any size.
            return p_.scaled(strict_float(cast<float>(sum) * rows_.unit(at_y[1])), at_y[0], half);
        };
        y(at_y) = epilogue(p_.halves == 2 ? result(0) * sigmoid(result(1)) : result(0), at_y);
        schedule(y.update(number_), y, d);
    }

private:
    static constexpr int panel_width = static_cast<int>(lanes);

    // The last tile overlaps the one before: its rows are computed again.
    Expr row(const Expr &tile, const Expr &of_tile) const {
        if (tiles_.tiles == 1) return of_tile;
        return min(tile * tiles_.rows, p_.rows - tiles_.rows) + of_tile;
    }
    Expr weight(const Expr &of_word, const Expr &word) const {
        return p_.w(c * 4 + of_word, word, (group_.first + g * group_.panels + j) * p_.halves + h);
    }
    // What 128 times each digit adds to the sum of an output, taken off.
    Expr start() const {
        if (form_ != IntegerForm::above) return 0;
        return select(q == 0, rows_.digit_sum(digit, row(t, i)) * -128, 0);
    }
    // What is added to an int32.
    Expr product(const Expr &of_word, const Expr &at) {
        const Expr input = at * 4 + of_word;
        switch (form_) {
        case IntegerForm::words:
            return cast<int32_t>(rows_.digit(digit, input, row(t, i))) * cast<int32_t>(weight(of_word, at));
        case IntegerForm::above:
            // In a place of its own: whoever sees how it is made finds no instruction for it.
            raised_(byte, at_word, j, h, g, b) =
                reinterpret<uint8_t>(
                    p_.w(byte, at_word, (group_.first + g * group_.panels + j) * p_.halves + h)) ^
                cast<uint8_t>(128);
            return cast<int32_t>(raised_(c * 4 + of_word, at, j, h, g, b)) *
                   cast<int32_t>(rows_.digit(digit, input, row(t, i)));
        case IntegerForm::bytes: {
            const auto of = [&](const Expr &word) -> Expr {
                return cast<int16_t>(rows_.digit(digit, word * 4 + e, row(t, i))) *
                       cast<int16_t>(weight(e, word));
            };
            products_(e, c, digit, j, h, i, two, t, g, b) = of(two * 2) + of(two * 2 + 1);
            return cast<int32_t>(products_(of_word, c, digit, j, h, i, at, t, g, b));
        }
        default:
            return cast<int32_t>(rows_.steps(input, row(t, i))) *
                   cast<int32_t>(cast<int16_t>(weight(of_word, at)));
        }
    }

    // THE SCHEDULE
    void schedule(Stage stage, Func y, const RDom &d) {
        stage.allow_race_conditions().reorder(d[0], d[1], d[2], d[3], d[4], d[5]);
        RVar lane("lane"), outer("outer"), inner("inner");
        if (vec_ == panel_width) stage.vectorize(d[0]);
        else stage.split(d[0], d[0], lane, vec_).vectorize(lane).unroll(d[0]);
        stage.unroll(d[1]).unroll(d[2]);

        // Of a vector of sums. Bytes are loaded in whole vectors, whose products take two.
        const int outputs = form_ == IntegerForm::ones    ? panel_width
                            : form_ == IntegerForm::bytes ? vec_
                                                          : vec_ / sides_;
        bound(sum_).compute_at(y, d[3]).bound_extent(side, sides_).bound_extent(digit, digits_);
        sum_.vectorize(side)
            .vectorize(c, outputs)
            .unroll(c)
            .unroll(digit)
            .unroll(j)
            .unroll(h)
            .unroll(q)
            .unroll(i);
        sum_.update().split(z_.y, outer, inner, tiles_.unroll).split(c, c, lanes_, outputs);
        // What a tile has less of, rows or vectors, is held in registers beside the sums.
        const bool few_rows = tiles_.rows < group_.panels * p_.halves * panel_width / outputs;
        if (multiplies_bytes(form_))
            sum_.update().reorder({z_.x, side, lanes_, c, digit, i, j, h, q, inner, outer});
        else if (form_ == IntegerForm::ones)
            sum_.update().reorder({lanes_, side, digit, i, c, j, h, z_.x, q, inner, outer});
        else if (few_rows) sum_.update().reorder({z_.x, side, lanes_, digit, i, c, j, h, q, inner, outer});
        else sum_.update().reorder({z_.x, side, lanes_, digit, c, j, h, i, q, inner, outer});
        if (form_ == IntegerForm::ones) sum_.update().vectorize(lanes_).unroll(side).unroll(z_.x);
        else sum_.update().atomic().vectorize(lanes_).vectorize(side).vectorize(z_.x);
        sum_.update().unroll(digit).unroll(c).unroll(j).unroll(h).unroll(i).unroll(q).unroll(inner);
        // Next to the sums that take them, or they would not stay in registers.
        if (form_ == IntegerForm::above)
            raised_.compute_at(sum_, j)
                .store_in(MemoryType::Stack)
                .bound_extent(byte, 4 * panel_width)
                .vectorize(byte, 4 * vec_)
                .unroll(byte);
        if (form_ == IntegerForm::bytes)
            products_.compute_at(sum_, c)
                .store_in(MemoryType::Stack)
                .bound_extent(c, outputs)
                .bound_extent(e, 4)
                .vectorize(e)
                .vectorize(c);

        // By a reduction: two strided loads would read across the store and wait for it.
        bound(folded_).compute_at(y, d[3]).vectorize(c, vec_).unroll(c).unroll(j).unroll(h).unroll(q).unroll(
            i);
        folded_.update().split(c, c, lanes_, vec_).reorder({ends_.x, lanes_, ends_.y, c, j, h, i, q});
        if (sides_ == 1) folded_.update().vectorize(lanes_).unroll(ends_.x);
        else folded_.update().atomic().vectorize(lanes_).vectorize(ends_.x);
        folded_.update().unroll(ends_.y).unroll(c).unroll(j).unroll(h).unroll(i).unroll(q);
        sum_.bound_extent(q, tiles_.parts);
        folded_.bound_extent(q, tiles_.parts);
    }

    Func &bound(Func &f) {
        return f.store_in(MemoryType::Stack)
            .bound_extent(c, panel_width)
            .bound_extent(j, group_.panels)
            .bound_extent(h, p_.halves)
            .bound_extent(i, tiles_.rows);
    }

    const Product &p_;
    const IntegerForm form_;
    const QuantizedRows &rows_;
    const IntegerTiles &tiles_;
    const LinearTiles::Group group_;
    const int number_, vec_, sides_, digits_;
    const std::string id_;
    // c: output of a panel, j: panel of a tile, h: half, q: part of a sum, i: row of a tile, t:
    // tile of rows, g: tile of panels, b: whether anybody wants the row, side: sum of an output,
    // e: input of a word, two: words that are multiplied together, at_word and byte: of a panel.
    Var c{"c"}, j{"j"}, h{"h"}, q{"q"}, i{"i"}, t{"t"}, g{"g"}, b{"b"}, side{"side"}, digit{"digit"}, e{"e"},
        two{"two"}, at_word{"at_word"}, byte{"byte"}, lanes_{"lanes"};
    RDom z_, ends_;
    Func products_, sum_, folded_, raised_;
};

} // namespace

void build_integer_linear(KernelBuilder &k, const Product &p) {
    const Shape y_shape = p.y_shape();
    const IntegerForm form = integer_form(k.target, p.digits, static_cast<int>(p.panels.words()));
    const IntegerTiles tiles = integer_tiles(k.target, form, p.digits, p.panels, p.rows);
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, p.out);
    QuantizedRows rows(p, p.most_steps(0));
    Var o("o"), r("r");
    Func y("y");
    y(o, r) = undef<float>();
    int stage = 0;
    for (const LinearTiles::Group &group : tiles.groups)
        IntegerWalk(k, p, form, rows, tiles, group, stage++).add_to(y, epilogue);
    rows.schedule(k.target.vector_lanes, multiplies_bytes(form) ? p.digits : 0, form == IntegerForm::above);
    k.output(y, p.a.y, y_shape);
}

} // namespace longwave::schedules
