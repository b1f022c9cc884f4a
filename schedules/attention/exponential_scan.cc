// exponential_scan: sums of decaying exponentials, y_t = Σ_r c_r Σ_{τ ≤ t} λ_r^{t−τ} x_τ for each
// channel: over the rows of a sequence, or along one axis of an image whose rows come line by line.
// Its state, the inner sums, is float64: λ near 1 would add up the rounding of 1/(1 − λ) rows.
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/positions.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/thread_program.h"

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
class ExponentialScanOnGpu {
public:
    ExponentialScanOnGpu(KernelBuilder &k, const contract::ExponentialScan &params)
        : s_(k, params), beside_(std::min(s_.stride, s_.rows)), lanes_(std::min(s_.width, 64)) {
        // THE ARGUMENTS
        Var c("c"), l("l"), r("r"), block("block"), lane("lane");
        Func y("y");
        RDom t(0, s_.rows, 0, beside_, "t");
        y(c, l, r) = Tuple(undef<float>(), undef<uint32_t>());
        y(c, t.y, t.x) = Tuple(0.0f, y(c, t.y, t.x)[1] + cast<uint32_t>(1));
        Stage update = y.update();
        update.allow_race_conditions().split(c, block, lane, lanes_, TailStrategy::GuardWithIf);
        update.reorder(t.x, lane, block, t.y).gpu_blocks(block, t.y).gpu_threads(lane);
        const Shape sums = dense({s_.width, s_.modes, s_.stride});
        const bool alone = s_.stride == 1; // the arguments as they are on a CPU
        const Shape y_alone{s_.shape[0], {extent(s_.modes), 0}, s_.shape[1]},
            sums_alone{sums[0], sums[1], {extent(s_.rows), 0}};
        // A program counts modes where the Func counts rows.
        KernelBuilder::Output of_sums = k.updated_words(s_.a.sums, {sums[0], sums[2], sums[1]});
        of_sums.argument = alone ? sums_alone : sums;
        k.outputs(y, {k.result(s_.a.y, {s_.shape[0], {extent(s_.stride), 0}, s_.shape[1]},
                               alone ? y_alone : s_.shape),
                      of_sums});
    }

    void run(ThreadProgram &p) const {
        const Expr channel = p.let(p.block_x * lanes_ + p.thread_x);
        p.when(channel < s_.width, [&] {
            Expr line = 0;
            if (s_.stride > 1) line = p.let(clamp(position(0, p.block_y) % s_.stride, 0, s_.stride - 1));
            const int full = s_.modes / together * together;
            if (full)
                p.loop(full / together,
                       [&](const Expr &n) { modes(p, channel, line, n * together, together); });
            if (full < s_.modes) modes(p, channel, line, full, s_.modes - full);
        });
    }

private:
    static constexpr int together = 4; // modes

    // Where a row stands on the axis, of `period` positions.
    Expr position(const Expr &iteration, const Expr &of_beside) const {
        const Expr row = iteration * beside_ + of_beside;
        return count_modulo(moved_on(moved_back(s_.count->words(), s_.rows), row), s_.period());
    }

    struct Mode {
        TwoFloats lambda, scale;
        ThreadProgram::TwoRegisters sum;
    };
    void modes(ThreadProgram &p, const Expr &channel, const Expr &line, const Expr &first, int count) const {
        std::vector<Mode> list;
        for (int m = 0; m < count; m++) {
            const Expr mode = first + m;
            const auto weight = [&](const ImageParam &from) { return p.read_words(from, {channel, mode}); };
            list.push_back({weight(s_.lambda), weight(s_.scale),
                            p.keep(p.read_words(s_.a.sums.text, {channel, line, mode}))});
        }
        const Expr iterations = (s_.rows - p.block_y + beside_ - 1) / beside_;
        p.loop(p.let(iterations), [&](const Expr &iteration) {
            const Expr row = p.let(iteration * beside_ + p.block_y), x = p.let(s_.x(channel, row));
            // At the first position of an axis nothing is left from before.
            Expr begins;
            if (s_.length) begins = p.let(position(iteration, p.block_y) < s_.stride);
            Expr y = 0.0f;
            if (constant_value(first) != 0)
                y = p.let(select(first == 0, y, p.read(s_.a.y.text, {channel, 0, row})));
            for (const Mode &mode : list) {
                const TwoFloats sum = moved(p, mode, begins, x);
                p.set(mode.sum, sum);
                y = p.let(y + (mode.scale.high * sum.high +
                               (mode.scale.high * sum.low + mode.scale.low * sum.high)));
            }
            p.write(s_.a.y.text, {channel, 0, row}, y);
        });
        for (int m = 0; m < count; m++)
            p.write_words(s_.a.sums.text, {channel, line, first + m},
                          p.get(list[static_cast<size_t>(m)].sum));
    }

    // λ · sum + x.
    static TwoFloats moved(ThreadProgram &p, const Mode &mode, const Expr &begins, const Expr &x) {
        const Name name = p.name();
        const TwoFloats sum = p.get(mode.sum), product = two_product(name, sum.high, mode.lambda.high);
        Expr kept = product.high,
             rest = p.let(product.low + (sum.high * mode.lambda.low + sum.low * mode.lambda.high));
        if (begins.defined())
            kept = p.let(select(begins, 0.0f, kept)), rest = p.let(select(begins, 0.0f, rest));
        const TwoFloats next = two_sum(name, kept, x);
        return rounded(name, quick_two_sum(name, next.high, p.let(next.low + rest)));
    }

    const ExponentialScan s_;
    const int beside_, lanes_; // lines that a call meets side by side; threads of a workgroup
};

void exponential_scan_on_gpu(KernelBuilder &k, const contract::ExponentialScan &params) {
    const auto scan = std::make_shared<ExponentialScanOnGpu>(k, params);
    k.exact_sums = true;
    k.program = [scan](ThreadProgram &p) { scan->run(p); };
}

const Kernel<contract::ExponentialScan> exponential_scan{exponential_scan_on_cpu, exponential_scan_on_gpu,
                                                         Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
