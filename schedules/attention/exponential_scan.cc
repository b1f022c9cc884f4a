// exponential_scan: sums of decaying exponentials, y_t = Σ_r c_r Σ_{τ ≤ t} λ_r^{t−τ} x_τ for each
// channel: over the rows of a sequence, or along one axis of an image whose rows come line by line.
// Its state, the inner sums, is float64: λ near 1 would add up the rounding of 1/(1 − λ) rows.
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/positions.h"
#include "schedules/gpu/channel_threads.h"
#include "schedules/gpu/float64_words.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct ExponentialScan {
    const contract::ExponentialScan::Arguments<contract::Names> a =
        contract::names_of<contract::ExponentialScan>();
    int channels, modes, rows;
    int stride,
        length; // rows from one position of the axis to the next, and positions of it; 0: it never ends
    int width;
    Shape shape;
    ImageParam x, lambda, scale;
    std::optional<RowCount> count;

    ExponentialScan(KernelBuilder &k, const contract::ExponentialScan &p)
        : channels(p.channels), modes(p.modes), rows(p.rows), stride(p.stride), length(p.length),
          width(static_cast<int>(pad(extent(channels)))), shape(dense({width, rows})) {
        k.params.require(stride == 1 || length, "a 'stride' needs the 'length' of the axis");
        k.params.require(int64_t{stride} * std::max(length, 1) <= 1 << 24, "the image is too large");
        x = k.input(a.x, shape);
        if (length) count.emplace(k, rows, p.counts, a.count_so_far, a.count);
        const Shape weights = dense({width, modes});
        const bool words = k.target.kind == targets::Kind::gpu;
        lambda = words ? k.weight_words(a.lambda, weights) : k.weight(a.lambda, weights, Float(64));
        scale = words ? k.weight_words(a.c, weights) : k.weight(a.c, weights, Float(64));
        k.no_epilogue();
    }
    int period() const { return stride * std::max(length, 1); }
};

void exponential_scan_on_cpu(KernelBuilder &k, const contract::ExponentialScan &params) {
    ExponentialScan p(k, params);
    k.params.require(p.stride == 1 || p.rows <= p.stride, "'rows' must be at most 'stride'");
    const int modes = p.modes, rows = p.rows, stride = p.stride, length = p.length, width = p.width;
    const ImageParam &x = p.x, &lambda = p.lambda, &scale = p.scale;

    // THE ALGORITHM
    Var c("c"), m("m"), r("r"), l("l");
    Func line("line"), y("y");
    // At the first position of an axis nothing is left from before.
    line(r) = length ? cast<int32_t>((cast<int64_t>(p.count->now()) + r - rows) % cast<int64_t>(p.period()))
                     : Expr(0);
    const auto kept = [&](const Expr &mode, const Expr &row) {
        return length ? select(line(row) < stride, cast<double>(0), lambda(c, mode)) : lambda(c, mode);
    };
    const int vec = dividing_vector(width, std::max(1, k.target.vector_lanes / 2));
    if (stride == 1) {
        // One sum a mode: both elements go along modes and rows together.
        RDom t(0, modes, 0, rows, "t");
        y(c, m, r) = Tuple(undef<float>(), undef<double>());
        y(c, 0, r) = Tuple(0.0f, undef<double>());
        const Expr now = y(c, t.x, t.y)[1] * kept(t.x, t.y) + cast<double>(x(c, t.y));
        y(c, t.x, t.y) = Tuple(y(c, t.x, t.y)[0] + cast<float>(scale(c, t.x) * now), now);

        // THE SCHEDULE
        Var co("co"), ci("ci");
        y.update(0).vectorize(c, vec);
        y.update(1).split(c, co, ci, vec).reorder(ci, t.x, t.y, co).vectorize(ci);
        k.outputs(y, {k.result(p.a.y, {{extent(width), 1}, {extent(modes), 0}, {extent(rows), width}}),
                      k.updated(p.a.sums, {{extent(width), 1}, {extent(modes), width}, {extent(rows), 0}})});
    } else {
        // A sum for each mode and each of the lines that lie side by side; a call meets each of
        // them once.
        Func sums("sums");
        RDom t(0, modes, 0, rows, "t"), u(0, modes, "u");
        const auto beside = [&](const Expr &row) { return clamp(line(row) % stride, 0, stride - 1); };
        sums(c, m, l) = undef<double>();
        sums(c, t.x, beside(t.y)) = sums(c, t.x, beside(t.y)) * kept(t.x, t.y) + cast<double>(x(c, t.y));
        Func total("total");
        total(c, r) = cast<double>(0);
        total(c, r) += scale(c, u) * sums(c, u, beside(r));
        y(c, r) = cast<float>(total(c, r));

        // THE SCHEDULE
        sums.update().reorder(c, t.x, t.y).vectorize(c, vec);
        y.vectorize(c, vec);
        total.compute_at(y, c);
        total.update();
        k.output(y, p.a.y, p.shape);
        k.in_place(sums, p.a.sums, dense({width, modes, stride}));
    }
    if (length) {
        line.compute_root();
        store(line, int64_t{4} * rows);
        p.count->output();
    }
}

// A thread for each channel and each of the lines that lie side by side. It goes through the rows
// once for every few modes, whose sums it keeps in registers.
class WrittenScan {
public:
    explicit WrittenScan(const ExponentialScan &s)
        : width_(extent(s.width)), modes_(extent(s.modes)), rows_(extent(s.rows)), stride_(extent(s.stride)),
          period_(extent(s.period())), axis_ends_(s.length > 0), beside_(std::min(stride_, rows_)),
          p_(gpu::channel_program("exponential_scan", width_, beside_)) {
        x_ = p_.buffer("x", 1, gpu::Access::read);
        if (axis_ends_) count_so_far_ = p_.float64_buffer("count_so_far", gpu::Access::read);
        lambda_ = p_.float64_buffer("lambda", gpu::Access::read);
        scale_ = p_.float64_buffer("c", gpu::Access::read);
        y_ = p_.buffer("y", 1, modes_ > together ? gpu::Access::both : gpu::Access::write);
        sums_ = p_.float64_buffer("sums", gpu::Access::both);
    }

    gpu::Program run() {
        gpu::each_channel(p_, width_, [&](gpu::Uint channel) {
            gpu::Uint first_sum = channel;
            if (axis_ends_) {
                const gpu::WordPair count = gpu::read_count(p_.load_words(count_so_far_, p_.u32(0)));
                before_ = gpu::moved_back(count, rows_);
            }
            if (stride_ > 1)
                first_sum = position(p_.u32(0)) % stride_ * (width_ * modes_) + channel; // of its line
            const uint32_t full = modes_ / together;
            if (full) p_.loop(full, [&](gpu::Uint n) { modes(channel, first_sum, n * together, together); });
            if (modes_ % together) modes(channel, first_sum, p_.u32(full * together), modes_ % together);
        });
        return p_;
    }

private:
    static constexpr uint32_t together = 4; // modes

    struct Mode {
        gpu::TwoFloats lambda, scale;
        gpu::TwoRegisters sum;
    };

    gpu::Uint row(gpu::Uint iteration) { return iteration * beside_ + p_.group(1); }
    // Where a row stands on the axis, of `period_` positions.
    gpu::Uint position(gpu::Uint iteration) {
        return gpu::count_modulo(gpu::moved_on(before_, row(iteration)), period_);
    }

    void modes(gpu::Uint channel, gpu::Uint first_sum, gpu::Uint first, uint32_t count) {
        std::vector<Mode> list;
        const auto at = [&](gpu::Uint base, uint32_t m) { return (first + m) * width_ + base; };
        for (uint32_t m = 0; m < count; m++) {
            const auto read = [&](gpu::Memory from, gpu::Uint base) {
                return gpu::read_float64(p_.load_words(from, at(base, m)));
            };
            list.push_back(
                {read(lambda_, channel), read(scale_, channel), gpu::keep(read(sums_, first_sum))});
        }
        gpu::Uint iterations = p_.u32(rows_ / beside_);
        if (rows_ % beside_)
            iterations = iterations + gpu::select(p_.group(1) < rows_ % beside_, p_.u32(1), p_.u32(0));
        p_.loop(iterations, [&](gpu::Uint iteration) {
            const gpu::Uint element = row(iteration) * width_ + channel;
            const gpu::Float x = p_.load(x_, element), zero = p_.f32(0);
            // At the first position of an axis nothing is left from before.
            const std::optional<gpu::Bool> begins =
                axis_ends_ ? std::optional(position(iteration) < stride_) : std::nullopt;
            gpu::Float y = modes_ > together ? gpu::select(first < 1, zero, p_.load(y_, element)) : zero;
            for (const Mode &mode : list) {
                const gpu::TwoFloats sum = moved(mode, begins, x);
                gpu::set(mode.sum, sum);
                y = y +
                    (mode.scale.high * sum.high + (mode.scale.high * sum.low + mode.scale.low * sum.high));
            }
            p_.store(y_, element, y);
        });
        for (uint32_t m = 0; m < count; m++)
            p_.store_words(sums_, at(first_sum, m), gpu::write_float64(gpu::get(p_, list[m].sum)));
    }

    // λ · sum + x.
    gpu::TwoFloats moved(const Mode &mode, const std::optional<gpu::Bool> &begins, gpu::Float x) {
        const gpu::TwoFloats sum = gpu::get(p_, mode.sum),
                             product = gpu::two_product(sum.high, mode.lambda.high);
        gpu::TwoFloats kept{product.high,
                            product.low + (sum.high * mode.lambda.low + sum.low * mode.lambda.high)};
        if (begins) kept = gpu::select(*begins, {p_.f32(0), p_.f32(0)}, kept);
        const gpu::TwoFloats next = gpu::two_sum(kept.high, x);
        return gpu::rounded(gpu::quick_two_sum(next.high, next.low + kept.low));
    }

    const uint32_t width_, modes_, rows_, stride_, period_;
    const bool axis_ends_;
    const uint32_t beside_; // lines that a call meets side by side
    gpu::Program p_;
    gpu::Memory x_, count_so_far_, lambda_, scale_, y_, sums_;
    gpu::WordPair before_; // the rows before the call, where the axis ends
};

void exponential_scan_on_gpu(KernelBuilder &k, const contract::ExponentialScan &params) {
    const ExponentialScan s(k, params);
    // The types, and the arguments as they are on a CPU: the kernel below computes the values.
    const Var c("c"), m("m"), l("l"), r("r");
    Func y("y"), sums("sums");
    y(c, r) = 0.0f;
    sums(c, m, l) = undef<uint32_t>();
    const Shape y_alone{s.shape[0], {extent(s.modes), 0}, s.shape[1]};
    const Shape all = dense({s.width, s.modes, s.stride}), alone{all[0], all[1], {extent(s.rows), 0}};
    const bool one_line = s.stride == 1;
    k.outputs(y, {k.result(s.a.y, s.shape, one_line ? y_alone : s.shape)});
    k.outputs(sums, {k.updated_words(s.a.sums, one_line ? alone : all)});
    k.exact_sums = true;
    k.written = [s] { return WrittenScan(s).run(); };
}

const Kernel<contract::ExponentialScan> exponential_scan{exponential_scan_on_cpu, exponential_scan_on_gpu,
                                                         Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
