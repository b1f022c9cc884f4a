// narrow_conv: a causal convolution of few channels in a stream, with lanes over time. Rows of 16 lanes would
// mostly hold zeros. The kernel first copies the new rows into the channels that it keeps. All taps then read
// vectors of rows from there, because the first rows of the ring stand again behind its end. Fewer than 8
// rows have lanes over the channels of the result.
#include "schedules/contract/kernels/conv.h"
#include "schedules/conv/register_tile.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

class NarrowConv {
public:
    NarrowConv(KernelBuilder &builder, const contract::NarrowConv &params)
        : k_(builder), taps_(params.taps), dilation_(params.dilation), in_c_(params.in_c),
          out_c_(params.out_c), rows_(params.rows), ring_(params.ring.or_else(0)), again_(params.again),
          biased_(params.bias) {
        while (2 * vec_ <= std::min(k_.target.vector_lanes, rows_)) vec_ *= 2;
        taps_of_part_ = evenly(taps_, std::max(1, longest_chain / in_c_));
        tile_ = register_tile(rows_ / vec_, out_c_, k_.target.vector_registers);
        k_.params.require(remembers() || taps_ == 1, "'ring' must be given with several taps");
        k_.params.require(!remembers() || (ring_ % rows_ == 0 && ring_ >= rows_ + (taps_ - 1) * dilation_),
                          "'ring' must be a multiple of 'rows' that holds them and their history");
        k_.params.require(!remembers() || (again_ >= rows_ && again_ <= ring_),
                          "'again' must be from 'rows' to 'ring'");
    }

    void build() {
        declare();
        define();
        if (remembers()) schedule_past();
        if (by_channel()) tiles_of(y_);
        else if (over_rows()) rows_from_channels();
        else few_rows();
        k_.output(y_, a_.y, by_channel() ? channels_ : dense({width(out_c_), rows_}));
        if (remembers()) k_.in_place(past_, a_.past, dense({ring_ + again_, in_c_}));
        if (!over_rows()) return;
        if (in_c_ > 1) k_.allow_channel_major({a_.x.text}, transposed);
        if (out_c_ > 1) k_.allow_channel_major_with_operands({y_.name()}, transposed);
    }

private:
    // Row by row, lanes are gathered one by one.
    static constexpr uint32_t transposed = 8 * ideal_sectors;
    static constexpr int longest_chain = 24; // products; the error of a float32 sum grows with its chain

    // The largest part of at most `most` that all have, or nearly: the last part may be shorter.
    static int evenly(int n, int most) {
        const int parts = (n + most - 1) / most;
        return (n + parts - 1) / parts;
    }
    static int width(int channels) { return static_cast<int>(pad(static_cast<uint32_t>(channels))); }
    bool remembers() const { return ring_ > 0; }
    bool in_parts() const { return taps_of_part_ < taps_; }
    bool over_rows() const { return rows_ >= contract::NarrowConv::least_rows; }
    // One channel lies the same way in both orders.
    bool by_channel() const { return over_rows() && (out_c_ == 1 || k_.asks_channel_major_of_result()); }

    void declare() {
        x_ = k_.input(a_.x, {{extent(in_c_), 1}, {extent(rows_), width(in_c_)}});
        w_ = k_.weight(a_.w, dense({out_c_, in_c_, taps_}));
        if (biased_) bias_ = k_.weight(a_.bias, dense({out_c_}));
        channels_ = {{extent(out_c_), 1}, {extent(rows_), width(out_c_)}};
        finished_ = k_.epilogue(channels_, out_c_);
        if (remembers()) position_ = k_.scalar(a_.position, ring_ - rows_, rows_);
    }

    // THE ALGORITHM
    void define() {
        if (remembers()) {
            new_rows_ = RDom(0, rows_, "new_rows");
            repeated_ = RDom(0, rows_, 0, select(position_ + rows_ <= again_, 1, 0), "repeated");
            past_(n, i) = undef<float>();
            past_(position_ + new_rows_, i) = x_(i, new_rows_);
            past_(ring_ + position_ + repeated_.x, i) = x_(i, repeated_.x);
        }
        products_ = RDom(0, in_c_, 0, taps_of_part_, "products");
        const Expr tap = in_parts() ? Expr(part_number_ * taps_of_part_ + products_.y) : Expr(products_.y),
                   channel = products_.x, lag = (taps_ - 1 - tap) * dilation_,
                   value = remembers() ? Expr(past_(wrapped(position_ - lag, ring_) + r, channel))
                                       : Expr(x_(channel, r)),
                   product = w_(c, channel, tap) * value;
        if (!in_parts()) {
            sum_(r, c) = 0.0f;
            sum_(r, c) += product;
        } else {
            all_parts_ = RDom(0, (taps_ + taps_of_part_ - 1) / taps_of_part_, "parts");
            sum_(r, c) = biased_ ? Expr(bias_(c)) : Expr(0.0f);
            if (taps_ % taps_of_part_) products_.where(tap < taps_);
            part_(r, c, part_number_) = 0.0f;
            part_(r, c, part_number_) += product;
            // As written: LLVM would make one chain of them again.
            sum_(r, c) = strict_float(sum_(r, c) + part_(r, c, all_parts_));
        }
        if (by_channel()) y_(c, r) = finished_(whole(c), {c, r});
        else y_(c, r) = undef<float>();
    }

    // A sum of one part has its bias last: so its products are not rounded to steps of the bias.
    Expr whole(const Expr &channel) const {
        const Expr sum = sum_(r, channel);
        return biased_ && !in_parts() ? strict_float(sum + bias_(channel)) : sum;
    }

    // ---- THE SCHEDULE

    void schedule_past() {
        const int vec = dividing_vector(rows_, k_.target.vector_lanes);
        past_.update(0).reorder(new_rows_, i).vectorize(new_rows_, vec);
        past_.update(1).reorder(repeated_.x, i, repeated_.y).vectorize(repeated_.x, vec);
    }

    // The sums of a tile of rows and channels are in registers. `of`: of c and r.
    void tiles_of(Func of) {
        const int rows = tile_.vectors * vec_;
        of.bound(c, 0, out_c_).bound(r, 0, rows_);
        of.split(r, ro, ri, rows, TailStrategy::ShiftInwards)
            .split(c, co, ci, tile_.across, TailStrategy::ShiftInwards)
            .reorder(ri, ci, co, ro)
            .vectorize(ri, vec_)
            .unroll(ri)
            .unroll(ci);
        const auto in_registers = [&](Stage stage) { stage.vectorize(r, vec_).unroll(r).unroll(c); };
        const auto bounded = [&](Func sums) { sums.bound_extent(r, rows).bound_extent(c, tile_.across); };
        bounded(sum_);
        sum_.compute_at(of, co);
        in_registers(sum_);
        if (in_parts()) {
            in_registers(sum_.update().reorder(r, c, all_parts_));
            bounded(part_);
            part_.compute_at(sum_, all_parts_);
            in_registers(part_);
        }
        in_registers(products().reorder(r, c, products_.x, products_.y).unroll(products_.x));
    }

    Stage products() { return in_parts() ? part_.update() : sum_.update(); }

    // The result row by row, with zeros behind its channels.
    void rows_of(const std::function<Expr(const Expr &channel)> &value) {
        const int vec = dividing_vector(out_c_, k_.target.vector_lanes), behind = width(out_c_) - out_c_;
        const RDom real(0, out_c_, "real");
        y_(real, r) = finished_(value(real), {real, r});
        y_.update(0).reorder(real, r).vectorize(real, vec);
        if (behind > 0) {
            const RDom rest(out_c_, behind, "rest");
            y_(rest, r) = 0.0f;
            y_.update(1).reorder(rest, r).vectorize(rest, dividing_vector(behind, k_.target.vector_lanes));
        }
    }

    void rows_from_channels() {
        planes_(c, r) = whole(c);
        rows_of([&](const Expr &channel) { return planes_(channel, r); });
        tiles_of(planes_);
        planes_.compute_root().reorder_storage(r, c);
        store(planes_, int64_t{4} * rows_ * out_c_);
    }

    // Too few rows for a vector: lanes are channels of the result.
    void few_rows() {
        rows_of([&](const Expr &channel) { return whole(channel); });
        const int vec = dividing_vector(out_c_, k_.target.vector_lanes);
        sum_.compute_at(y_, r).bound(c, 0, out_c_).store_in(MemoryType::Stack).reorder_storage(c, r);
        const auto in_vectors = [&](Stage stage) { stage.vectorize(c, vec).unroll(c); };
        in_vectors(Stage(sum_).reorder(c, r));
        if (in_parts()) {
            in_vectors(sum_.update().reorder(c, all_parts_, r));
            part_.bound(c, 0, out_c_).compute_at(sum_, all_parts_);
            in_vectors(Stage(part_).reorder(c, r));
        }
        in_vectors(products().reorder(c, products_.x, products_.y, r));
    }

    KernelBuilder &k_;
    const contract::NarrowConv::Arguments<contract::Names> a_ = contract::names_of<contract::NarrowConv>();
    const int taps_, dilation_, in_c_, out_c_, rows_, ring_, again_;
    const bool biased_;
    int vec_ = 1;         // rows
    RegisterTile tile_{}; // vectors of rows, channels
    ImageParam x_, w_, bias_;
    Expr position_;
    Shape channels_; // of the result and its operands: those that are there
    KernelBuilder::Epilogue finished_;
    Var n{"n"}, i{"i"}, c{"c"}, r{"r"}, ro{"ro"}, ri{"ri"}, co{"co"}, ci{"ci"};
    int taps_of_part_ = 1; // of a sum
    Var part_number_{"part_number"};
    RDom new_rows_, repeated_, products_, all_parts_;
    Func past_{"past"}, part_{"part"}, sum_{"sum"}, planes_{"planes"}, y_{"y"};
};

void narrow_conv_on_cpu(KernelBuilder &k, const contract::NarrowConv &params) {
    NarrowConv(k, params).build();
}

const Kernel<contract::NarrowConv> narrow_conv{narrow_conv_on_cpu};

} // namespace

} // namespace longwave::schedules
