// circular_conv on a gpu: all of it in one dispatch, as long_conv_fused, whose tables it has too where
// rows lie channel by channel. With a kernel made in the run both transforms lie in shared memory, 16
// bytes a point, else 8.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/register_transform.h"
#include "schedules/contract/twiddles.h"
#include "schedules/gpu/long_conv.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"
#include "schedules/transforms/gpu_butterflies.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

class Circular {
public:
    Circular(KernelBuilder &k, const contract::CircularConv &p)
        : k_(k), length_(p.length), rows_(p.rows), channels_(p.channels), adaptive_(p.adaptive), all_(p.all),
          scale_(p.scale), by_channel_(k.asks_channel_major()),
          row_(static_cast<int>(pad(extent(channels_)))), tile_(std::min(row_, 16)),
          transform_(RightAngle(length_, Float(32), [this](const Expr &i) {
                         return Expr(twiddles_(i));
                     }).with_order(by_channel_ ? TwiddleOrder::by_factor : TwiddleOrder::by_block)) {
        k.params.require(rows_ <= length_, "'rows' must not exceed length");
        k.params.require(all_ || row_ == tile_, "more than 16 channels need 'all' on a gpu");
        const int bytes_of_point = adaptive_ ? 16 : 8;
        require_fits(k, "length", length_, bytes_of_point);
        wide_ = by_channel_ ? 1 : lanes_together(k, row_, int64_t{length_} * bytes_of_point);
        threads_ = loop_threads(k.target) / wide_;
        if (by_channel_ || adaptive_) threads_ = std::min(threads_, threads_of_channel(k, length_));
        places_ = SharedPlaces(length_, wide_, SharedPlaces::passes(length_, transform_.radices(), threads_),
                               k.target.shared_bytes / (bytes_of_point * wide_));
    }

    void build() {
        const Shape y_shape = dense({row_, rows_});
        u_ = k_.input(a_.u, y_shape);
        if (adaptive_) h_ = k_.input(a_.h, y_shape);
        fixed_ = k_.weight(a_.fixed, by_channel_ ? dense({length_, 2, row_})
                                     : all_      ? dense({tile_, 2, length_, row_ / tile_})
                                                 : dense({tile_, 2, length_}));
        twiddles_ = k_.weight(a_.twiddles, dense({2 * (length_ - 1)}));
        const KernelBuilder::Epilogue epilogue = k_.epilogue(y_shape, channels_);

        // THE ALGORITHM
        const int last = static_cast<int>(transform_.radices().size()) - 1;
        for (Func *f : {&made_, &points_}) (*f)(c_, part_, p_) = undef<float>();
        for (int level = 0; adaptive_ && level <= last; level++) pass(made_, h_, level, Step::forward);
        for (int level = 0; level < last; level++) pass(points_, u_, level, Step::forward);
        pass(points_, u_, last, Step::middle);
        for (int level = last - 1; level >= 0; level--) pass(points_, u_, level, Step::inverse);
        // What lies `rows` further on comes round: in the real part as far as the transform
        // reaches, then in the imaginary one.
        Var t("t");
        const auto point = [&](const Expr &at, int part) { return Expr(points_(c_, part, places_(at))); };
        const Expr behind = t + rows_;
        Expr round = point(t, 1);
        if (rows_ < length_)
            round = select(behind < length_, point(min(behind, length_ - 1), 0),
                           point(clamp(behind - length_, 0, length_ - 1), 1));
        Func y("y");
        y(c_, t) = epilogue(point(t, 0) + round, {c_, t});

        // THE SCHEDULE
        Var block("block"), channel("channel"), line("line"), of_line("of_line");
        y.split(c_, block, channel, wide_)
            .split(t, of_line, line, std::min(power_of_two_above(rows_), threads_), TailStrategy::GuardWithIf)
            .reorder(of_line, channel, line, block)
            .gpu_blocks(block);
        threads_over(y, channel, line, wide_);
        share(points_, LoopLevel(y, block), wide_, places_.count());
        if (adaptive_) share(made_, LoopLevel(y, block), wide_, places_.count());
        k_.output(y, a_.y, y_shape);
        if (!all_ || rows_ % sector_channels != 0) return;
        std::vector<std::string> together{a_.u.text, y.name()};
        if (adaptive_) together.emplace_back(a_.h.text);
        k_.allow_channel_major_with_operands(together, sectors_of_rows(wide_));
    }

private:
    enum class Step { forward, middle, inverse };

    void pass(Func &f, const ImageParam &from, int level, Step step) {
        const int radix = transform_.radices()[static_cast<size_t>(level)],
                  apart = length_ / transform_.blocks(level + 1);
        const Butterflies b(length_, transform_.blocks(level), radix, threads_);
        const std::vector<Expr> places = b.places(places_);
        std::vector<Complex> x;
        for (size_t i = 0; i < b.at.size(); i++)
            x.push_back(level == 0 && step != Step::inverse
                            ? Complex{sample(from, b.at[i], static_cast<int>(i) * apart), Expr()}
                            : read_buffer(f)(places[i]));
        if (step != Step::inverse) transform_.forward(x, level, b.block);
        for (size_t i = 0; step == Step::middle && i < x.size(); i++) x[i] = x[i] * kernel(b.at[i]);
        if (step != Step::forward) transform_.inverse(x, level, b.block);
        b.store(f, places_, x, wide_);
    }
    // `least`: the first position that the point of a butterfly can have. What lies behind the rows
    // is zero.
    Expr sample(const ImageParam &from, const Expr &position, int least) const {
        if (least >= rows_) return {};
        return select(position < rows_, from(c_, min(position, rows_ - 1)), 0.0f);
    }
    Complex kernel(const Expr &at) const {
        const auto still = [&](int part) -> Expr {
            if (by_channel_)
                return fixed_(last_digit_first(at, length_, transform_.radices().back()), part, c_);
            return all_ ? fixed_(c_ % tile_, part, at, c_ / tile_) : fixed_(c_, part, at);
        };
        if (!adaptive_) return {still(0), still(1)};
        const Expr there = places_(at);
        return {still(0) + scale_ * made_(c_, 0, there), still(1) + scale_ * made_(c_, 1, there)};
    }

    KernelBuilder &k_;
    const contract::CircularConv::Arguments<contract::Names> a_ =
        contract::names_of<contract::CircularConv>();
    const int length_, rows_, channels_;
    const bool adaptive_, all_;
    const float scale_;     // of the kernel made in the run
    const bool by_channel_; // u, h and y lie [channel][row]
    const int row_, tile_;
    int wide_ = 1;    // channels of a workgroup
    int threads_ = 1; // of a channel
    SharedPlaces places_;
    RightAngle transform_;
    ImageParam u_, h_, fixed_, twiddles_;
    Var c_{"c"}, part_{"part"}, p_{"p"};
    Func made_{"made"}, points_{"points"};
};

void circular_conv_on_gpu(KernelBuilder &k, const contract::CircularConv &p) { Circular(k, p).build(); }

const GpuSchedule<contract::CircularConv> circular_conv_of_gpu{circular_conv_on_gpu,
                                                               Fp16::inputs_and_outputs};

} // namespace

// circular_conv_registers: circular_conv in one dispatch, whose threads keep their points in registers
// (gpu/long_conv.h), and those of the kernel where the run makes it. This file declares the arguments
// and hands over the epilogue.

using namespace Halide;

static void build_circular_conv_registers(KernelBuilder &k, const contract::CircularConvRegisters &p) {
    const auto a = contract::names_of<contract::CircularConvRegisters>();
    const int length = p.length, channels = p.channels;
    const bool adaptive = p.adaptive;
    const float scale = p.scale;
    k.params.require(adaptive == (scale > 0), "'scale' is that of h, which 'adaptive' declares");
    const auto row = static_cast<int>(pad(extent(channels)));
    const bool channel_major = k.asks_channel_major();
    std::optional<RegisterForm> form =
        register_form(extent(length), channel_major ? 1 : extent(row), limits_of(k.target));
    k.params.require(form.has_value(),
                     "'length' must be 1, 3, 5 or 15 times a power of two, from 256 to 8192, that fits " +
                         k.target.name);
    if (k.variant(form->planes) == 1) form->planes = 1; // as in long_conv_registers

    const Shape shape = dense({row, length});
    k.input(a.u, shape);
    if (adaptive) k.input(a.h, shape);
    k.weight(a.fixed, dense({4, static_cast<int>(form->threads()),
                             static_cast<int>(form->slots(form->last_pass()) / 2),
                             row / static_cast<int>(form->lanes)}));
    k.weight(a.roots, dense({4, static_cast<int>(zeros_of_roots(form->radices)) + 1}));
    const KernelBuilder::Epilogue epilogue = k.epilogue(shape, channels);
    Var c("c"), t("t");
    Func y("y");
    y(c, t) = 0.0f; // the type: the kernel below computes the values
    k.output(y, a.y, shape);
    if (row > 1) {
        std::vector<std::string> together{a.u.text, y.name()};
        if (adaptive) together.emplace_back(a.h.text);
        k.allow_channel_major_with_operands(together, sectors_of_rows(static_cast<int>(form->lanes)));
    }

    k.written = [&k, form = *form, epilogue, shape, length, row, scale, channel_major] {
        const gpu::DeclareFinish finish = [&](gpu::Program &program) -> gpu::Finish {
            const WrittenEpilogue finished = declare_epilogue(program, k, epilogue, shape);
            return [finished](const gpu::Float &sum, const gpu::ResultPlace &at) {
                return finished(sum, {at.channel, at.row});
            };
        };
        return gpu::long_conv(form,
                              {.rows = extent(length),
                               .row = extent(row),
                               .channel_major = channel_major,
                               .circular = true,
                               .scale_of_h = scale},
                              finish);
    };
}

static const GpuSchedule<contract::CircularConvRegisters> circular_conv_registers{
    build_circular_conv_registers, Fp16::inputs_and_outputs};

} // namespace longwave::schedules
