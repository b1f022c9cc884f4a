#include "schedules/linear/grouped_linear.h"
#include "schedules/linear/linear_tiles.h"
#include "schedules/linear/quantized_rows.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int panel_width = static_cast<int>(lanes), group_inputs = static_cast<int>(int4_group),
              words_of_group = group_inputs / 8;

// A word has eight inputs of an output: four pairs of neighbours, whose nibbles are the same four
// bits of its two halves. Masks leave each pair where it is, so that every second one counts
// sixteen times. Those have sums of their own. Nibbles are 0 to 15, eight more than the weight,
// which is put right by the sum of the row over the group.
class GroupedWalk {
public:
    GroupedWalk(const KernelBuilder &k, const Product &product, const QuantizedRows &rows)
        : p_(product), rows_(rows), vec_(std::min(k.target.vector_lanes, panel_width)), pairs_(k.target.integer_pairs),
          groups_(static_cast<int>(p_.panels.groups())), of_tile_(rows_of_tile(k.target)),
          tiles_(ceil_div(p_.rows, of_tile_)), z_({{0, 2}, {0, 2}, {0, words_of_group}}, "z"),
          in_group_(0, group_inputs, "in_group"), all_(0, groups_, "groups") {}

    Func result(const KernelBuilder::Epilogue &epilogue) {
        // THE ALGORITHM
        steps_of_group_(g, r) = 0;
        steps_of_group_(g, r) += cast<int32_t>(rows_.steps(g * group_inputs + in_group_, r)) * -8;

        const Expr half_word = p_.w(zc, g * words_of_group + word, panel * p_.halves + h);
        const Expr lower = select(pair < 2, half_word, half_word >> cast<uint16_t>(8));
        nibbles_(zc, pair, word, h, g, panel) =
            cast<int16_t>(lower & select(pair % 2 == 0, cast<uint16_t>(0x0f), cast<uint16_t>(0xf0)));

        const Expr of_word = z_.y * 2 + e; // the pair
        sum_(c, e, h, i, g, t, panel) = 0;
        sum_(c, e, h, i, g, t, panel) +=
            cast<int32_t>(nibbles_(c * 2 + z_.x, of_word, z_.z, h, g, panel)) *
            cast<int32_t>(rows_.steps(g * group_inputs + z_.z * 8 + of_word * 2 + z_.x, row(t, i)));

        // Group by group in this order, whatever the tile is: a row has the same bits in a block of
        // any size.
        const Expr whole = sum_(c, 0, h, i, all_, t, panel) + (sum_(c, 1, h, i, all_, t, panel) >> 4) +
                           steps_of_group_(all_, row(t, i));
        total_(c, h, i, t, panel) = 0.0f;
        total_(c, h, i, t, panel) =
            strict_float(total_(c, h, i, t, panel) +
                         strict_float(cast<float>(whole) * p_.scale(c, all_, panel * p_.halves + h)));

        RDom d({{0, panel_width},
                {0, of_tile_},
                {0, tiles_},
                {0, static_cast<int>(p_.panels.count())},
                {0, p_.blocks_wanted(1)}},
               "d");
        const std::vector<Expr> at = {d[3] * panel_width + d[0], row(d[2], d[1])};
        const auto value = [&](int half) -> Expr {
            const Expr sum = strict_float(total_(d[0], half, d[1], d[2], d[3]) * rows_.unit(at[1]));
            return p_.has_bias ? sum + p_.bias(at[0] + half * p_.width()) : sum;
        };
        Var o("o");
        Func y("y");
        y(o, r) = undef<float>();
        y(at) = epilogue(p_.halves == 2 ? value(0) * sigmoid(value(1)) : value(0), at);
        schedule(y, d);
        return y;
    }

private:
    // Two vectors of sums and one of totals for each row and half have registers, beside a pair and
    // a product.
    int rows_of_tile(const targets::Target &target) const {
        const int vectors = 3 * p_.halves * panel_width / vec_;
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

        bound(sum_).bound_extent(e, 2).compute_at(total_, all_.x).vectorize(c, vec_).unroll(c).unroll(e).unroll(h).unroll(i);
        Var l("l");
        sum_.update().split(c, c, l, vec_).reorder({z_.x, l, i, c, h, z_.y, e, z_.z});
        if (pairs_) sum_.update().atomic().vectorize(l).vectorize(z_.x);
        else sum_.update().vectorize(l).unroll(z_.x);
        sum_.update().unroll(i).unroll(c).unroll(h).unroll(z_.y).unroll(e).unroll(z_.z);

        // In memory: whoever sees the mask narrows the numbers and widens them again for every
        // product.
        nibbles_.compute_at(total_, all_.x)
            .store_in(MemoryType::Stack)
            .bound_extent(zc, 2 * panel_width)
            .bound_extent(pair, 4)
            .bound_extent(word, words_of_group)
            .bound_extent(h, p_.halves)
            .vectorize(zc, 2 * vec_)
            .unroll(zc)
            .unroll(pair)
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
    const int vec_;
    const bool pairs_;
    const int groups_, of_tile_, tiles_;
    // c: output of a panel, zc: half of its word, e: whether a pair counts sixteen times, h: half,
    // i: row of a tile, t: tile of rows, g: group of inputs, r: row, word: of a group, pair: of a
    // word.
    Var c{"c"}, zc{"zc"}, e{"e"}, h{"h"}, i{"i"}, t{"t"}, g{"g"}, r{"r"}, word{"word"}, pair{"pair"}, panel{"panel"};
    RDom z_, in_group_, all_;
    Func steps_of_group_{"steps_of_group"}, nibbles_{"nibbles"}, sum_{"sum"}, total_{"total"};
};

} // namespace

void build_grouped_linear(KernelBuilder &k, const Product &p) {
    const Shape y_shape = p.y_shape();
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, p.out);
    QuantizedRows rows(p, p.most_steps(0));
    GroupedWalk walk(k, p, rows);
    const Func y = walk.result(epilogue);
    rows.schedule(k.target.vector_lanes);
    k.output(y, y_shape);
}

} // namespace longwave::schedules
