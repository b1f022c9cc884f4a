// exponential_scan: sums of decaying exponentials, y_t = Σ_r c_r Σ_{τ ≤ t} λ_r^{t−τ} x_τ for each channel:
// over the rows of a sequence, or along one axis of an image whose rows come line by line. Its state, the
// inner sums, is float64: λ near 1 would add up the rounding of 1/(1 − λ) rows.
#include "schedules/attention/gpu_positions.h"
#include "schedules/attention/row_count.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct ExponentialScan {
    int channels, modes, rows;
    int stride,
        length; // rows from one position of the axis to the next, and positions of it; 0: it never ends
    int width;
    Shape shape;
    ImageParam x, lambda, scale;
    std::optional<RowCount> count;

    explicit ExponentialScan(KernelBuilder &k)
        : channels(k.params.integer("channels", 1, 1 << 20)), modes(k.params.integer("modes", 1, 1 << 12)),
          rows(k.params.integer("rows", 1, 1 << 20)), stride(k.params.integer_or("stride", 1, 1, 1 << 20)),
          length(k.params.integer_or("length", 0, 0, 1 << 24)),
          width(static_cast<int>(pad(extent(channels)))), shape(dense({width, rows})) {
        k.params.require(stride == 1 || length, "a 'stride' needs the 'length' of the axis");
        k.params.require(int64_t{stride} * std::max(length, 1) <= 1 << 24, "the image is too large");
        x = k.input("x", shape);
        if (length) count.emplace(k, rows);
        lambda = k.weight("lambda", dense({width, modes}), Float(64));
        scale = k.weight("c", dense({width, modes}), Float(64));
        k.no_epilogue();
    }
    int period() const { return stride * std::max(length, 1); }
};

void exponential_scan_on_cpu(KernelBuilder &k) {
    ExponentialScan p(k);
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
        k.outputs(
            y, {{"y", {{extent(width), 1}, {extent(modes), 0}, {extent(rows), width}}},
                {"sums", {{extent(width), 1}, {extent(modes), width}, {extent(rows), 0}}, ArgKind::inout}});
    } else {
        // A sum for each mode and each of the lines that lie side by side; a call meets each of them once.
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
        k.output(y, p.shape);
        k.in_place(sums, dense({width, modes, stride}));
    }
    if (length) {
        line.compute_root();
        store(line, int64_t{4} * rows);
        p.count->output();
    }
}

// A thread for each channel and each of the lines that lie side by side, which goes through modes and rows. Sums and
// result are one definition, as two would be two dispatches.
void exponential_scan_on_gpu(KernelBuilder &k) {
    const ExponentialScan p(k);
    const int beside = std::min(p.stride, p.rows);

    // THE ALGORITHM
    Var c("c"), m("m"), l("l"), r("r");
    Func y("y");
    RDom t(0, p.modes, 0, (p.rows + beside - 1) / beside, 0, beside, "t");
    const Expr row = t.y * beside + t.z;
    if (p.rows % beside) t.where(row < p.rows);
    Expr line = 0, kept = p.lambda(c, t.x);
    if (p.length) { // at the first position of an axis nothing is left from before
        const Expr number = rows_modulo(p.count->now() + cast<double>(row - p.rows), p.period());
        line = p.stride > 1 ? clamp(number % p.stride, 0, p.stride - 1) : Expr(0);
        kept = select(number < p.stride, cast<double>(0), kept);
    }
    y(c, m, l, r) = Tuple(undef<float>(), undef<double>());
    const Expr now = y(c, t.x, line, row)[1] * kept + cast<double>(p.x(c, row)),
               so_far = select(t.x == 0, 0.0f, y(c, t.x, line, row)[0]);
    y(c, t.x, line, row) = Tuple(so_far + cast<float>(p.scale(c, t.x) * now), now);

    // THE SCHEDULE
    Var block("block"), lane("lane");
    Stage update = y.update();
    update.allow_race_conditions().split(c, block, lane, std::min(p.width, 64), TailStrategy::GuardWithIf);
    update.reorder(t.x, t.y, lane, block, t.z).gpu_blocks(block, t.z).gpu_threads(lane);
    const Shape on_y = {{extent(p.width), 1},
                        {extent(p.modes), 0},
                        {extent(p.stride), 0},
                        {extent(p.rows), p.width}},
                sums = dense({p.width, p.modes, p.stride}),
                on_sums = {sums[0], sums[1], sums[2], {extent(p.rows), 0}};
    const bool alone = p.stride == 1; // the arguments as they are on a CPU
    k.outputs(y, {{"y", on_y, ArgKind::output, alone ? Shape{on_y[0], on_y[1], on_y[3]} : p.shape},
                  {"sums", on_sums, ArgKind::inout, alone ? Shape{sums[0], sums[1], on_sums[3]} : sums}});
}

const Kernel exponential_scan{"exponential_scan", exponential_scan_on_cpu, exponential_scan_on_gpu,
                              Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
