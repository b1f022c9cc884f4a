// Long convolution of whole sequences, causal or two-sided (the spectrum decides), by a right-angle
// transform, the product with the stored spectrum, the way back and the epilogue.
//
// long_conv_fused: all of it in one dispatch, in shared memory. It moves u once and y once (8 bytes
// per sample and copy), the spectrum (8 bytes per point), and the operands of the epilogue.
//
// Longer transforms in three dispatches (the four steps of Bailey 1990, whose transposition is that
// columns are read where they lie; the order of the spectrum is the one-dispatch form's and the
// CPU's). As a matrix whose rows lie one after another, of `points` rows and length/points columns:
// long_conv_columns takes the first levels, those of every column, long_conv_rows the others, whose
// blocks are the rows, the product and its levels back, long_conv_columns_back the columns back and
// the epilogue. Between them points go through memory: 32 more bytes per sample with one copy.
// Circular convolutions of as many rows as points, too: with a kernel made in the run (`adaptive`)
// its columns are those of a second long_conv_columns, and long_conv_rows has both transforms in
// shared memory; `circular` adds what comes round.
//
// Rows of u and y have their channels innermost and memory is read in sectors of 32 bytes: a
// workgroup takes as many channels, up to 8, as fit into shared memory beside each other. With 8
// every sector is used whole by one workgroup. With fewer its neighbours along the grid use the
// rest, which the second cache hands to them if they run at the same time: at length 2,048 in 16
// KiB a sector is asked for 8 times. So long_conv_fused prefers rows that lie channel by channel
// there: a workgroup then takes one channel, and its threads read neighbouring rows. Of a single
// channel neighbouring columns go together instead.
#include "schedules/contract/kernels/long_conv_gpu.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/transforms/gpu_butterflies.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int bytes_of_fused_point = 8;

class LongConv {
public:
    enum class Part { whole, columns, rows, back };
    struct Sizes {
        int length, points, rows, copies, channels; // points: of a column
        bool adaptive = false, circular = false;
        float scale = 0;
    };
    struct Names { // of what the part has
        contract::Names::Input in;
        contract::Names::Input made = {};
        contract::Names::Weight spectrum = {};
        contract::Names::Weight twiddles;
        contract::Names::Output out;
    };
    LongConv(KernelBuilder &k, Part part, const Sizes &s)
        : k_(k), part_(part), length_(s.length), points_of_column_(s.points), rows_(s.rows),
          copies_(s.copies), channels_(s.channels), row_(static_cast<int>(pad(extent(channels_)))),
          tile_(std::min(row_, 16)), tiles_(row_ / tile_), adaptive_(s.adaptive), circular_(s.circular),
          by_channel_(part == Part::whole && k.asks_channel_major()), scale_(s.scale),
          transform_(RightAngle(length_, Float(32), [this](const Expr &i) {
                         return Expr(twiddles_(i));
                     }).with_order(by_channel_ ? TwiddleOrder::by_factor : TwiddleOrder::by_block)) {
        k.params.require(!right_angle_radices(extent(length_)).empty(),
                         "'length' must be a product of 2, 3 and 5");
        k.params.require(rows_ <= length_, "'rows' must not exceed length");
        const int levels = static_cast<int>(transform_.radices().size());
        int split = 0;
        while (split < levels && transform_.blocks(split) < points_of_column_) split++;
        k.params.require(transform_.blocks(split) == points_of_column_ &&
                             (split < levels || part == Part::whole),
                         "'points' must be a product of the first radices of length, not of all");
        first_ = part == Part::rows ? split : 0;
        last_ = part == Part::rows ? levels : split;
        size_ = part == Part::rows ? length_ / points_of_column_ : points_of_column_;
        count_ = length_ / size_;
        const int bytes_of_point = adaptive_ ? 2 * bytes_of_fused_point : bytes_of_fused_point;
        k.params.require(int64_t{size_} * bytes_of_point <= k.target.shared_bytes,
                         std::string(part == Part::whole ? "'length'" : "'points', and length by points,") +
                             " is at most " + std::to_string(k.target.shared_bytes / bytes_of_point) +
                             " on " + k.target.name);
        k.params.require(!circular_ || rows_ == length_, "'circular' is for as many rows as points");
        k.params.require(int64_t{2} * tile_ * tiles_ * length_ * copies_ < int64_t{1} << 31,
                         "the points of all channels must be less than 2^31 numbers");
        k.params.require(part == Part::whole || rows_ * transform_.radices()[0] >= length_,
                         "'rows' must reach the second part of the first butterflies");
        across_ = row_ == 1 && (part == Part::columns || part == Part::back);
        wide_ =
            by_channel_ ? 1 : lanes_together(k, across_ ? count_ : tile_, int64_t{size_} * bytes_of_point);
        threads_ = by_channel_ ? threads_of_channel(k, size_) : loop_threads(k.target) / wide_;
        const auto radices = transform_.radices().begin();
        places_ = SharedPlaces(size_, wide_,
                               SharedPlaces::passes(size_, {radices + first_, radices + last_}, threads_),
                               k.target.shared_bytes / (bytes_of_point * wide_));
    }

    void build(const Names &a) {
        const auto points = [&](int copies) { return dense({tile_, 2, length_, copies, tiles_}); };
        const Shape y_shape = dense({row_, copies_, rows_});
        if (reads_rows()) in_ = k_.input(a.in, dense({row_, rows_}));
        else in_ = k_.input(a.in, points(part_ == Part::rows ? 1 : copies_));
        if (adaptive_) made_in_ = k_.input(a.made, points(1));
        if (by_channel_) spectrum_ = k_.weight(a.spectrum, dense({length_, 2, copies_, row_}));
        else if (part_ == Part::whole || part_ == Part::rows)
            spectrum_ = k_.weight(a.spectrum, points(copies_));
        twiddles_ = k_.weight(a.twiddles, dense({2 * (length_ - 1)}));
        if (writes_rows()) epilogue_ = k_.epilogue(y_shape, channels_);

        // THE ALGORITHM A pass for each level. The last level forward, the product and the first
        // level back are one.
        std::vector<std::pair<int, Step>> passes;
        const bool product = spectrum_.defined();
        for (int level = first_; part_ != Part::back && level < last_; level++)
            passes.emplace_back(level, product && level == last_ - 1 ? Step::middle : Step::forward);
        for (int level = last_ - 1 - product; part_ != Part::columns && level >= first_; level--)
            passes.emplace_back(level, Step::inverse);
        for (Func *f : {&points_, &made_, &out_}) (*f)(lane_, part_of_, p_, other_, m_, g_) = undef<float>();
        for (int level = first_; adaptive_ && level < last_; level++)
            pass(made_, made_in_, level, Step::forward, level == first_, false);
        for (size_t i = 0; i < passes.size(); i++)
            pass(points_, in_, passes[i].first, passes[i].second, i == 0, i + 1 == passes.size());

        // THE SCHEDULE
        if (passes.size() > 1) share(points_, LoopLevel(out_, block_), wide_, places_.count());
        if (adaptive_) share(made_, LoopLevel(out_, block_), wide_, places_.count());
        const int row = by_channel_     ? 1
                        : writes_rows() ? copies_ * row_
                                        : 2 * tile_, // of a position
            column = by_channel_ ? rows_ : 1;        // of a channel
        Dim lane = {extent(tile_), column}, other = {extent(count_), row * step_of_transform()};
        if (across_) std::swap(lane, other);
        const Dim part = writes_rows() ? Dim{1, 0} : Dim{2, tile_},
                  position = {extent(size_), row * step_of_position()},
                  copy = {extent(copies_), writes_rows() ? row_ * column : 2 * tile_ * length_},
                  tile = {extent(tiles_), writes_rows() ? tile_ * column : 2 * tile_ * length_ * copies_};
        k_.outputs(out_, {k_.result(a.out, {lane, part, position, other, copy, tile},
                                    writes_rows() ? y_shape : points(copies_))});
        if (part_ == Part::whole && row_ > 1 && rows_ % sector_channels == 0)
            k_.allow_channel_major_with_operands({a.in.text, a.out.text}, sectors_of_rows(wide_));
    }

private:
    enum class Step { forward, middle, inverse };

    bool reads_rows() const { return part_ == Part::whole || part_ == Part::columns; }
    bool writes_rows() const { return part_ == Part::whole || part_ == Part::back; }
    // From a position of a workgroup's transform to the next, and from a transform to the next.
    int step_of_position() const { return part_ == Part::rows ? 1 : count_; }
    int step_of_transform() const { return part_ == Part::rows ? size_ : 1; }
    Expr channel() const { return across_ ? Expr(other_) : Expr(lane_); } // of a tile
    Expr which() const { return across_ ? Expr(lane_) : Expr(other_); }   // of the transforms
    Expr place(const Expr &at) const {
        return count_ == 1 ? at : at * step_of_position() + which() * step_of_transform();
    }
    Expr channel_of_all() const { return tiles_ == 1 ? channel() : channel() + g_ * tile_; }

    // Over `points` in shared memory; the first one reads `from`, and the last one writes the
    // output.
    void pass(Func &points, const ImageParam &from, int level, Step step, bool reads, bool writes) {
        const int radix = transform_.radices()[static_cast<size_t>(level)],
                  before = transform_.blocks(level) / transform_.blocks(first_),
                  apart = size_ / before / radix;
        const bool ends = writes && writes_rows();
        const Butterflies b(size_, before, radix, threads_, ends ? std::min(apart, rows_) : 0);
        const Expr block = part_ == Part::rows ? which() * before + b.block : b.block;
        const std::vector<Expr> places = b.places(places_);
        std::vector<Complex> x;
        for (int i = 0; i < radix; i++)
            x.push_back(reads ? sample(from, b.at[static_cast<size_t>(i)], i * apart)
                              : read_buffer(points, {other_, m_, g_})(places[static_cast<size_t>(i)]));
        if (step != Step::inverse) transform_.forward(x, level, block);
        for (size_t i = 0; step == Step::middle && i < x.size(); i++) x[i] = x[i] * kernel(b.at[i]);
        if (step != Step::forward) transform_.inverse(x, level, block);
        if (!writes) return b.store(points, places_, x, wide_);
        if (ends) write_rows(b, apart, x);
        else define_points(out_, b.at, x);
        Var of_block("of_block"), grid("grid");
        Stage last = out_.update();
        last.allow_race_conditions()
            .split(lane_, block_, of_block, wide_)
            .fuse(m_, g_, grid)
            .reorder(b.d.x, of_block, b.d.y, block_, other_, grid)
            .gpu_blocks(block_, other_, grid);
        threads_over(last, of_block, b.d.y, wide_);
    }

    // `least`: the first position that the point of a butterfly can have. What lies behind the rows
    // is zero.
    Complex sample(const ImageParam &from, const Expr &at, int least) const {
        if (!reads_rows()) return complex_at(from, at, part_ == Part::rows ? Expr(0) : Expr(m_));
        if (least * step_of_position() >= rows_) return {};
        const Expr row = place(at);
        return {select(row < rows_, from(channel_of_all(), min(row, rows_ - 1)), 0.0f), Expr()};
    }
    Complex complex_at(const ImageParam &from, const Expr &at, const Expr &copy) const {
        return {from(channel(), 0, place(at), copy, g_), from(channel(), 1, place(at), copy, g_)};
    }
    Complex kernel(const Expr &at) const {
        if (by_channel_) {
            const Expr bin = last_digit_first(at, length_, transform_.radices().back());
            return {spectrum_(bin, 0, m_, channel_of_all()), spectrum_(bin, 1, m_, channel_of_all())};
        }
        const Complex fixed = complex_at(spectrum_, at, m_);
        if (!adaptive_) return fixed;
        const Complex made = read_buffer(made_, {other_, m_, g_})(places_(at));
        return {fixed.re + scale_ * made.re, fixed.im + scale_ * made.im};
    }
    // What lies `rows` further on is in the imaginary part, where there are as many rows as points.
    void write_rows(const Butterflies &b, int apart, const std::vector<Complex> &all) {
        std::vector<Complex> x = all;
        for (size_t i = 0; circular_ && i < x.size(); i++) x[i].re = x[i].re + x[i].im;
        std::vector<Expr> at = b.at, rows;
        drop_outside(rows_, apart * step_of_position(), place(b.offset), at, x);
        for (const Expr &p : at) rows.push_back(place(p));
        out_(lane_, 0, scatter(at), other_, m_, g_) =
            epilogue_(gather(real_parts(x)), {channel_of_all(), m_, gather(rows)});
    }

    KernelBuilder &k_;
    const Part part_;
    const int length_, points_of_column_, rows_, copies_, channels_, row_, tile_, tiles_;
    int first_ = 0, last_ = 0; // levels
    int size_ = 0, count_ = 1; // points of a workgroup's transform, and how many of these a channel has
    bool across_ = false;      // lanes are neighbouring columns of one channel, not channels
    int wide_ = 1;             // lanes of a workgroup
    int threads_ = 1;          // of a lane
    SharedPlaces places_;
    const bool adaptive_, circular_;
    // u and y lie [channel][row], the spectrum [channel][copy][part][bin] (last_digit_first)
    const bool by_channel_;
    const float scale_; // of the kernel made in the run
    RightAngle transform_;
    ImageParam in_, made_in_, spectrum_, twiddles_;
    KernelBuilder::Epilogue epilogue_;
    // channel of a tile and transform, either of which may be the lanes; copy, tile
    Var lane_{"lane"}, part_of_{"part"}, p_{"p"}, other_{"other"}, m_{"m"}, g_{"g"}, block_{"block"};
    Func points_{"shared"}, made_{"shared_made"}, out_{"y"};
};

void build_long_conv_fused(KernelBuilder &k, const contract::LongConvFused &p) {
    const auto a = contract::names_of<contract::LongConvFused>();
    LongConv(k, LongConv::Part::whole, {p.length, p.length, p.rows, p.copies, p.channels})
        .build({.in = a.u, .spectrum = a.spectrum, .twiddles = a.twiddles, .out = a.y});
}

void build_long_conv_columns(KernelBuilder &k, const contract::LongConvColumns &p) {
    const auto a = contract::names_of<contract::LongConvColumns>();
    LongConv(k, LongConv::Part::columns, {p.length, p.points, p.rows, 1, p.channels})
        .build({.in = a.u, .twiddles = a.twiddles, .out = a.points_out});
}

void build_long_conv_rows(KernelBuilder &k, const contract::LongConvRows &p) {
    const auto a = contract::names_of<contract::LongConvRows>();
    LongConv(k, LongConv::Part::rows,
             {p.length, p.points, p.length, p.copies, p.channels, p.adaptive, false, p.scale})
        .build({.in = a.points,
                .made = a.made,
                .spectrum = a.spectrum,
                .twiddles = a.twiddles,
                .out = a.points_out});
}

void build_long_conv_columns_back(KernelBuilder &k, const contract::LongConvColumnsBack &p) {
    const auto a = contract::names_of<contract::LongConvColumnsBack>();
    LongConv(k, LongConv::Part::back, {p.length, p.points, p.rows, p.copies, p.channels, false, p.circular})
        .build({.in = a.points, .twiddles = a.twiddles, .out = a.y});
}

const GpuSchedule<contract::LongConvFused> long_conv_fused{build_long_conv_fused, Fp16::inputs_and_outputs};
const GpuSchedule<contract::LongConvColumns> long_conv_columns{build_long_conv_columns,
                                                               Fp16::inputs_and_outputs};
const GpuSchedule<contract::LongConvRows> long_conv_rows{build_long_conv_rows, Fp16::inputs_and_outputs};
const GpuSchedule<contract::LongConvColumnsBack> long_conv_columns_back{build_long_conv_columns_back,
                                                                        Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
