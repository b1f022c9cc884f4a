#include "schedules/linear/integer_linear.h"
#include "schedules/linear/linear_tiles.h"
#include "schedules/linear/quantized_rows.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int panel_width = static_cast<int>(lanes), group_inputs = static_cast<int>(int4_group),
              words_of_group = group_inputs / 8;

// Of int8, which one instruction multiplies and adds.
int products_together(const targets::Target &target) {
    if (has_dot_products(target) || has_unsigned_dot_products(target)) return 4;
    return target.integer_pairs ? 2 : 1;
}

// A word has eight inputs of an output: the lower halves of its four bytes, then the upper ones.
// Such nibbles are 0 to 15, eight more than the weight, which is put right by the sum of the row
// over the group. They are multiplied by digits of the row, which are int8: one instruction adds
// four products to an int32, or two to an int16, or one. An int16 holds all that a group adds to
// it: eight times 2 · 15 · 128.
class GroupedWalk {
public:
    GroupedWalk(const KernelBuilder &k, const Product &product, const QuantizedRows &rows)
        : p_(product), rows_(rows), vec_(std::min(k.target.vector_lanes, panel_width)),
          together_(products_together(k.target)), sums_of_output_(4 / together_),
          apart_(has_unsigned_dot_products(k.target) ? 2 : 1),
          nibble_(k.target.integer_pairs ? UInt(8) : Int(8)), groups_(static_cast<int>(p_.panels.groups())),
          of_tile_(rows_of_tile(k.target)), tiles_(ceil_div(p_.rows, of_tile_)),
          z_({{0, together_}, {0, 2 / apart_}, {0, words_of_group}}, "z"),
          parts_({{0, sums_of_output_}, {0, p_.digits}, {0, apart_}}, "parts"),
          in_group_(0, group_inputs, "in_group"), all_(0, groups_, "groups") {}

    Func result(const KernelBuilder::Epilogue &epilogue) {
        // THE ALGORITHM
        const Expr offset = cast<int32_t>(steps(in_group_, g, r)) * -8;
        steps_of_group_(g, r) = 0;
        steps_of_group_(g, r) += offset;

        const Expr byte = reinterpret<uint8_t>(p_.w(zc, g * words_of_group + word, panel * p_.halves + h));
        const Expr above = apart_ == 2 ? byte & cast<uint8_t>(240) : byte >> cast<uint8_t>(4);
        nibbles_(zc, upper, word, h, g, panel) =
            cast(nibble_, select(upper == 0, byte & cast<uint8_t>(15), above));

        const Expr of_word = e * together_ + z_.x, of_byte = apart_ == 2 ? Expr(half) : Expr(z_.y),
                   nibble = nibbles_(c * 4 + of_word, of_byte, z_.z, h, g, panel),
                   step = digit(z_.z * 8 + of_byte * 4 + of_word, g, row(t, i));
        if (together_ == 4) {
            // From the sum of the row on, which is one addition less.
            sum_(e, c, digit_, half, h, i, g, t, panel) =
                select(digit_ == 0 && half == 0, steps_of_group_(g, row(t, i)), 0);
            sum_(e, c, digit_, half, h, i, g, t, panel) += cast<int32_t>(nibble) * cast<int32_t>(step);
        } else {
            const Expr product = cast<int16_t>(nibble) * cast<int16_t>(step);
            sum_(e, c, digit_, half, h, i, g, t, panel) = cast<int16_t>(0);
            // The instruction that multiplies bytes in pairs saturates, so Halide looks for that.
            const Expr so_far = sum_(e, c, digit_, half, h, i, g, t, panel);
            sum_(e, c, digit_, half, h, i, g, t, panel) =
                together_ == 2 ? saturating_add(so_far, product) : so_far + product;
        }
        whole_(c, h, i, g, t, panel) = together_ == 4 ? Expr(0) : steps_of_group_(g, row(t, i));
        const Expr sum = cast<int32_t>(sum_(parts_.x, c, parts_.y, parts_.z, h, i, g, t, panel));
        whole_(c, h, i, g, t, panel) += (apart_ == 2 ? select(parts_.z == 0, sum, sum >> 4) : sum) *
                                        cast<int32_t>(cast<int16_t>(select(parts_.y == 0, 1, 256)));

        // Group by group in this order, whatever the tile is: a row has the same bits in a block of
        // any size.
        Expr scale = p_.scale(c, all_, panel * p_.halves + h);
        if (by_group()) scale = scale * rows_.unit(row(t, i), all_);
        total_(c, h, i, t, panel) = 0.0f;
        total_(c, h, i, t, panel) = strict_float(
            total_(c, h, i, t, panel) + strict_float(cast<float>(whole_(c, h, i, all_, t, panel)) * scale));

        RDom d({{0, panel_width},
                {0, of_tile_},
                {0, tiles_},
                {0, static_cast<int>(p_.panels.count())},
                {0, p_.blocks_wanted(1)}},
               "d");
        const std::vector<Expr> at = {d[3] * panel_width + d[0], row(d[2], d[1])};
        const auto value = [&](int part) -> Expr {
            const Expr total = total_(d[0], part, d[1], d[2], d[3]),
                       scaled = by_group() ? total : strict_float(total * rows_.unit(at[1]));
            return p_.has_bias ? scaled + p_.bias(at[0] + part * p_.width()) : scaled;
        };
        Var o("o");
        Func y("y");
        y(o, r) = undef<float>();
        y(at) = epilogue(p_.halves == 2 ? value(0) * sigmoid(value(1)) : value(0), at);
        schedule(y, d);
        return y;
    }

private:
    // One digit holds little: its unit is that of 32 inputs, not of a row.
    bool by_group() const { return p_.digits == 1; }
    Expr steps(const Expr &input, const Expr &group, const Expr &at_row) const {
        return by_group() ? rows_.steps(input, at_row, group)
                          : rows_.steps(group * group_inputs + input, at_row);
    }
    Expr digit(const Expr &input, const Expr &group, const Expr &at_row) const {
        return by_group() ? rows_.digit(digit_, input, at_row, group)
                          : rows_.digit(digit_, group * group_inputs + input, at_row);
    }

    // Sums of a group and totals have registers, beside nibbles and a product.
    int rows_of_tile(const targets::Target &target) const {
        const int of_sum = together_ == 1 ? 2 : 1,
                  vectors = p_.halves * (p_.digits * of_sum * apart_ + 1) * panel_width / vec_;
        return std::clamp((target.vector_registers - 4) / vectors, 1, std::min(p_.rows, 8));
    }

    // The last tile overlaps the one before: its rows are computed again.
    Expr row(const Expr &tile, const Expr &of_tile) const {
        return tiles_ == 1 ? of_tile : min(tile * of_tile_, p_.rows - of_tile_) + of_tile;
    }

    // THE SCHEDULE
    void schedule(Func y, const RDom &d) {
        Stage stage = y.update();
        RVar lane("lane");
        stage.allow_race_conditions().reorder(d[0], d[1], d[2], d[3], d[4]);
        if (vec_ == panel_width) stage.vectorize(d[0]);
        else stage.split(d[0], d[0], lane, vec_).vectorize(lane).unroll(d[0]);
        stage.unroll(d[1]);

        bound(total_).compute_at(y, d[2]).vectorize(c, vec_).unroll(c).unroll(h).unroll(i);
        total_.update().reorder(c, h, i, all_.x).vectorize(c, vec_).unroll(c).unroll(h).unroll(i);

        // Neighbours by a reduction: two strided loads would read across the store and wait for it.
        Var l("l");
        bound(whole_).compute_at(total_, all_.x).vectorize(c, vec_).unroll(c).unroll(h).unroll(i);
        whole_.update().split(c, c, l, vec_).reorder({parts_.x, l, parts_.y, parts_.z, c, h, i});
        if (sums_of_output_ > 1) whole_.update().atomic().vectorize(l).vectorize(parts_.x);
        else whole_.update().vectorize(l);
        whole_.update().unroll(parts_.y).unroll(parts_.z).unroll(c).unroll(h).unroll(i);

        bound(sum_)
            .bound_extent(e, sums_of_output_)
            .bound_extent(digit_, p_.digits)
            .bound_extent(half, apart_)
            .compute_at(total_, all_.x)
            .vectorize(e)
            .vectorize(c, vec_)
            .unroll(c)
            .unroll(digit_)
            .unroll(half)
            .unroll(h)
            .unroll(i);
        sum_.update().split(c, c, l, vec_).reorder({z_.x, e, l, digit_, half, i, c, h, z_.y, z_.z});
        // Nothing saturates, so the order is free.
        if (together_ > 1) sum_.update().atomic(together_ == 2).vectorize(l).vectorize(e).vectorize(z_.x);
        else sum_.update().vectorize(l).vectorize(e);
        sum_.update().unroll(digit_).unroll(half).unroll(i).unroll(c).unroll(h).unroll(z_.y).unroll(z_.z);

        // In memory: whoever sees the mask knows what a nibble can be, and then finds no
        // instruction that multiplies bytes.
        nibbles_.compute_at(total_, all_.x)
            .store_in(MemoryType::Stack)
            .bound_extent(zc, 4 * panel_width)
            .bound_extent(upper, 2)
            .bound_extent(word, words_of_group)
            .bound_extent(h, p_.halves)
            .vectorize(zc, 4 * vec_)
            .unroll(zc)
            .unroll(upper)
            .unroll(word)
            .unroll(h);

        steps_of_group_.compute_root();
        steps_of_group_.update().atomic().vectorize(in_group_);
        store(steps_of_group_, int64_t{4} * groups_ * p_.rows);
    }

    Func &bound(Func &f) {
        return f.store_in(MemoryType::Stack)
            .bound_extent(c, panel_width)
            .bound_extent(h, p_.halves)
            .bound_extent(i, of_tile_);
    }

    const Product &p_;
    const QuantizedRows &rows_;
    const int vec_, together_,
        sums_of_output_; // products that one instruction adds, and sums beside each other
    // 2: upper halves of bytes stay where they are, sixteen times as large, and have sums of their
    // own. A mask runs beside the products, which a shift of bytes would hold up.
    const int apart_;
    const Type nibble_;
    const int groups_, of_tile_, tiles_;
    // c: output of a panel, zc: byte of its words, e: sum of an output, h: half, i: row of a tile,
    // t: tile of rows, g: group of inputs, r: row, word: of a group, upper: half of a byte,
    // half: the same, of sums that are apart.
    Var c{"c"}, zc{"zc"}, e{"e"}, h{"h"}, i{"i"}, t{"t"}, g{"g"}, r{"r"}, word{"word"}, upper{"upper"},
        half{"half"}, digit_{"digit"}, panel{"panel"};
    RDom z_, parts_, in_group_, all_;
    Func steps_of_group_{"steps_of_group"}, nibbles_{"nibbles"}, sum_{"sum"}, whole_{"whole"},
        total_{"total"};
};

} // namespace

void build_grouped_linear(KernelBuilder &k, const Product &p) {
    const Shape y_shape = p.y_shape();
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, p.out);
    QuantizedRows rows(p, p.most_steps(0), p.digits == 1 ? group_inputs : 0);
    GroupedWalk walk(k, p, rows);
    const Func y = walk.result(epilogue);
    rows.schedule(k.target.vector_lanes, p.digits);
    k.output(y, p.a.y, y_shape);
}

} // namespace longwave::schedules
