// Means, sums and maxima over time: of a whole sequence (mean_run), of everything so far
// (mean_stream), of the last rows (mean_window).
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/pooling.h"
#include "schedules/gpu/channel_threads.h"
#include "schedules/gpu/float64_words.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"

namespace longwave::schedules {

using namespace Halide;

static void build_mean_run(KernelBuilder &k, const contract::MeanRun &p) {
    const auto a = contract::names_of<contract::MeanRun>();
    const int channels = p.channels, rows = p.rows;
    const std::string &mode = p.mode.value;
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, 1});
    ImageParam x = k.input(a.x, dense({width, rows}));
    Expr length = k.scalar(a.length, rows);

    // THE ALGORITHM Sums in float64: a mean of thousands of rows keeps float32 accuracy, and a run
    // equals a stream.
    Var c("c"), r("r");
    Func sum("sum"), y("y");
    Expr value;
    if (mode == "mean" || mode == "sum") {
        RDom valid(0, length, "valid");
        sum(c) = cast<double>(0);
        sum(c) += cast<double>(x(c, unsafe_promise_clamped(valid, 0, rows - 1)));
        value = cast<float>(mode == "mean" ? sum(c) / cast<double>(max(length, 1)) : sum(c));
    } else if (mode == "max") {
        RDom valid(0, length, "valid");
        sum(c) = -3.4e38f;
        sum(c) = max(sum(c), x(c, unsafe_promise_clamped(valid, 0, rows - 1)));
        value = select(length > 0, sum(c), 0.0f);
    } else {
        value = select(length > 0, x(c, mode == "last" ? max(length - 1, 0) : Expr(0)), 0.0f);
    }
    y(c, r) = k.epilogue(value, {c, r}, y_shape, channels);

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(width / vec, 4);
    Var co("co"), ci("ci");
    y.split(c, co, ci, block).vectorize(ci, vec).unroll(ci);
    if (sum.defined()) {
        sum.compute_at(y, co).vectorize(c, vec).unroll(c);
        sum.update().reorder(c, sum.rvars()[0]).vectorize(c, vec).unroll(c);
    }
    k.output(y, a.y, y_shape);
}

// A workgroup for 16 channels: 16 threads each take every sixteenth row, in sums that carry what
// they lose.
static void build_mean_run_on_gpu(KernelBuilder &k, const contract::MeanRun &p) {
    constexpr int slices = 16;
    const auto a = contract::names_of<contract::MeanRun>();
    const int channels = p.channels, rows = p.rows;
    const std::string &mode = p.mode.value;
    const int width = static_cast<int>(pad(channels)), tile = std::min(width, 16);
    const bool adds = mode == "mean" || mode == "sum", largest = mode == "max";
    const Shape y_shape = dense({width, 1});
    ImageParam x = k.input(a.x, dense({width, rows}));
    Expr length = k.scalar(a.length, rows);

    // THE ALGORITHM
    Var c("c"), r("r"), s("s");
    RDom t(0, (rows + slices - 1) / slices, "t"), all(0, slices, "all");
    Func own("own"), begun("begun"), sum("sum"), y("y");
    const float nothing = largest ? -3.4e38f : 0.0f;
    const Expr row = t * slices + s, term = select(row < length, x(c, min(row, rows - 1)), nothing);
    sum(c) = nothing;
    if (largest) {
        own(c, s) = nothing;
        own(c, s) = max(own(c, s), term);
        begun(c, s) = own(c, s);
        sum(c) = max(sum(c), begun(c, all));
    } else {
        own(c, s) = Tuple(0.0f, 0.0f);
        const Expr high = own(c, s)[0], next = high + term, part = next - high;
        own(c, s) = Tuple(next, own(c, s)[1] + ((high - (next - part)) + (term - part)));
        begun(c, s) = own(c, s)[0] + own(c, s)[1];
        sum(c) += begun(c, all);
    }
    Expr value = select(length > 0, x(c, mode == "last" ? max(length - 1, 0) : Expr(0)), 0.0f);
    if (adds) value = mode == "mean" ? sum(c) / cast<float>(max(length, 1)) : Expr(sum(c));
    const Expr most = sum(c);
    if (largest) value = select(most > -3.3e38f, most, 0.0f); // no rows: 0
    y(c, r) = k.epilogue(value, {c, r}, y_shape, channels);

    // THE SCHEDULE
    k.exact_sums = true;
    Var block("block"), lane("lane");
    y.split(c, block, lane, tile).reorder(lane, r, block).gpu_blocks(block).gpu_threads(lane);
    if (adds || largest) {
        begun.compute_at(y, block)
            .store_in(MemoryType::GPUShared)
            .bound_extent(s, slices)
            .bound_extent(c, tile);
        begun.reorder(c, s).gpu_threads(c, s);
        own.compute_at(begun, c).store_in(MemoryType::Register);
        sum.compute_at(y, lane).store_in(MemoryType::Register);
    }
    k.output(y, a.y, y_shape);
}

namespace {

struct MeanStream {
    const contract::MeanStream::Arguments<contract::Names> a = contract::names_of<contract::MeanStream>();
    int rows, width, channels;
    bool mean, largest;
    Shape shape, sums;
    ImageParam x;

    MeanStream(KernelBuilder &k, const contract::MeanStream &p)
        : rows(p.rows), width(static_cast<int>(pad(extent(p.channels)))), channels(p.channels),
          mean(p.mode.is<"mean">()), largest(p.mode.is<"max">()), shape(dense({width, rows})),
          sums{{extent(width), 1}, {extent(rows), 0}}, x(k.input(a.x, shape)) {}
    // What follows on `before`; `row` is the number of rows with this one.
    Expr next(const Expr &before, const Expr &value, const Expr &row) const {
        if (!largest) return before + value;
        return select(row < cast<double>(1.5f), value, max(before, value));
    }
};

// Both elements of y go along the rows together: y is written row by row, sums (which does not
// depend on r) is what is there after each row.
void mean_stream_on_cpu(KernelBuilder &k, const contract::MeanStream &p) {
    const MeanStream m(k, p);
    RowCount count(k, m.rows, p.counts, m.a.count_so_far, m.a.count);

    // THE ALGORITHM
    Var c("c"), r("r"), co("co"), ci("ci");
    Func y("y");
    RDom t(0, m.rows, "t");
    y(c, r) = Tuple(undef<float>(), undef<double>());
    const Expr row = count.now() + cast<double>(t + 1 - m.rows),
               so_far = m.next(y(c, t)[1], cast<double>(m.x(c, t)), row);
    y(c, t) = Tuple(cast<float>(m.mean ? so_far / row : so_far), so_far);
    // The epilogue by itself, on what is stored: its functions would hide the read of the sums from
    // Halide.
    if (k.has_epilogue())
        y(c, r) = Tuple(k.epilogue(y(c, r)[0], {c, r}, m.shape, m.channels), undef<double>());

    // THE SCHEDULE
    const int vec = dividing_vector(m.width, k.target.vector_lanes);
    y.update(0).split(c, co, ci, vec).reorder(ci, t, co).vectorize(ci);
    if (k.has_epilogue()) y.update(1).vectorize(c, vec);
    k.outputs(y, {k.result(m.a.y, m.shape), k.updated(m.a.sums, m.sums)});
    count.output();
}

// A thread for each channel, which keeps its sum in registers.
void mean_stream_on_gpu(KernelBuilder &k, const contract::MeanStream &params) {
    const MeanStream m(k, params);
    const RowCount count(k, m.rows, params.counts, m.a.count_so_far, m.a.count);
    const KernelBuilder::Epilogue finish = k.epilogue(m.shape, m.channels);
    Var c("c"), r("r");
    Func outputs("outputs");
    outputs(c, r) = Tuple(0.0f, undef<uint32_t>()); // the types: the kernel below computes the values
    k.outputs(outputs, {k.result(m.a.y, m.shape), k.updated_words(m.a.sums, m.sums)});
    k.exact_sums = true;
    k.written = [&k, m, finish] {
        const uint32_t width = extent(m.width), rows = extent(m.rows);
        gpu::Program p = gpu::channel_program("mean_stream", width);
        const gpu::Memory x = p.buffer("x", 1, gpu::Access::read),
                          count_so_far = p.float64_buffer("count_so_far", gpu::Access::read);
        const WrittenEpilogue finished = declare_epilogue(p, k, finish, m.shape);
        const gpu::Memory y = p.buffer("y", 1, gpu::Access::write),
                          sums = p.float64_buffer("sums", gpu::Access::both);
        gpu::each_channel(p, width, [&](gpu::Uint channel) {
            const gpu::TwoRegisters kept = gpu::keep(gpu::read_float64(p.load_words(sums, channel)));
            const gpu::WordPair before =
                gpu::moved_back(gpu::read_count(p.load_words(count_so_far, p.u32(0))), rows);
            p.loop(rows, [&](gpu::Uint row) {
                const gpu::WordPair number = gpu::moved_on(before, row + 1);
                const gpu::TwoFloats so_far = gpu::get(p, kept);
                const gpu::Float value = p.load(x, row * width + channel);
                gpu::TwoFloats sum;
                if (m.largest) {
                    const gpu::Bool first = gpu::count_is_below(number, 2);
                    sum = {gpu::select(first, value, max(so_far.high, value)), p.f32(0)};
                } else {
                    const gpu::TwoFloats next = gpu::two_sum(so_far.high, value);
                    sum = gpu::rounded(gpu::quick_two_sum(next.high, next.low + so_far.low));
                }
                gpu::set(kept, sum);
                const gpu::Float result = m.mean ? sum.high / gpu::count_as_float(number) : sum.high;
                p.store(y, row * width + channel, finished(result, {channel, row}));
            });
            p.store_words(sums, channel, gpu::write_float64(gpu::get(p, kept)));
        });
        return p;
    };
}

struct MeanWindow {
    const contract::MeanWindow::Arguments<contract::Names> a = contract::names_of<contract::MeanWindow>();
    int channels, rows, ring, frames, width;
    Shape shape;
    ImageParam x;
    Expr position;
    Var c{"c"}, r{"r"};

    MeanWindow(KernelBuilder &k, const contract::MeanWindow &p)
        : channels(p.channels), rows(p.rows), ring(p.ring), frames(p.frames),
          width(static_cast<int>(pad(extent(channels)))), shape(dense({width, rows})) {
        k.params.require(ring >= rows + frames - 1, "'ring' must hold rows + frames - 1 rows");
        x = k.input(a.x, dense({width, ring}));
        position = k.scalar(a.position, ring - rows);
    }
    // Rows from before the beginning are zero in the ring; only the divisor has to know how many
    // there were.
    Expr divisor(const RowCount &count, bool gpu = false) const {
        if (!gpu) return cast<float>(min(cast<double>(frames), count.now() + cast<double>(r + 1 - rows)));
        const WordPair number = moved_back(count.words(), rows - 1 - r);
        return cast<float>(select(count_is_below(number, frames), cast<int>(number.low), frames));
    }
};

void mean_window_on_cpu(KernelBuilder &k, const contract::MeanWindow &p) {
    const MeanWindow m(k, p);
    RowCount count(k, m.rows, p.counts, m.a.count_so_far, m.a.count);

    // THE ALGORITHM
    const Var c = m.c, r = m.r;
    Func sum("sum"), y("y");
    RDom t(0, m.frames, "t");
    sum(c, r) = 0.0f;
    sum(c, r) += m.x(c, wrapped(m.position + r - t, m.ring));
    y(c, r) = k.epilogue(sum(c, r) / m.divisor(count), {c, r}, m.shape, m.channels);

    // THE SCHEDULE
    const int vec = dividing_vector(m.width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(m.width / vec, 4);
    Var co("co"), ci("ci");
    y.split(c, co, ci, block).reorder(ci, co, r).vectorize(ci, vec).unroll(ci);
    sum.compute_at(y, co).vectorize(c, vec).unroll(c);
    sum.update().reorder(c, t).vectorize(c, vec).unroll(c);
    k.output(y, m.a.y, m.shape);
    count.output();
}

// A workgroup for 16 channels of a row, 16 threads for each channel: each takes every sixteenth row
// of the window.
void mean_window_on_gpu(KernelBuilder &k, const contract::MeanWindow &p) {
    constexpr int slices = 16;
    const MeanWindow m(k, p);
    const RowCount count(k, m.rows, p.counts, m.a.count_so_far, m.a.count);
    const int tile = std::min(m.width, 16);

    // THE ALGORITHM
    const Var c = m.c, r = m.r, s("s");
    Func own("own"), begun("begun"), sum("sum"), y("y");
    RDom t(0, (m.frames + slices - 1) / slices, "t"), all(0, slices, "all");
    const Expr age = t * slices + s, row = m.x(c, wrapped(m.position + r - min(age, m.frames - 1), m.ring));
    own(c, s, r) = 0.0f;
    own(c, s, r) += select(age < m.frames, row, 0.0f);
    begun(c, s, r) = own(c, s, r);
    sum(c, r) = 0.0f;
    sum(c, r) += begun(c, all, r);
    y(c, r) = k.epilogue(sum(c, r) / m.divisor(count, true), {c, r}, m.shape, m.channels);

    // THE SCHEDULE
    Var block("block"), lane("lane");
    y.split(c, block, lane, tile).reorder(lane, block, r).gpu_blocks(block, r).gpu_threads(lane);
    begun.compute_at(y, block).store_in(MemoryType::GPUShared).bound_extent(s, slices).bound_extent(c, tile);
    begun.reorder(c, s).gpu_threads(c, s);
    own.compute_at(begun, c).store_in(MemoryType::Register);
    sum.compute_at(y, lane).store_in(MemoryType::Register);
    k.output(y, m.a.y, m.shape);
}

} // namespace

static const Kernel<contract::MeanRun> mean_run{build_mean_run, build_mean_run_on_gpu,
                                                Fp16::inputs_and_outputs};
static const Kernel<contract::MeanStream> mean_stream{mean_stream_on_cpu, mean_stream_on_gpu, Fp16::none};
static const Kernel<contract::MeanWindow> mean_window{mean_window_on_cpu, mean_window_on_gpu, Fp16::none};

} // namespace longwave::schedules
