// sequence_softmax: e^{k_t} / Σ_τ e^{k_τ} over all rows of a sequence, for each channel.
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

static void build_sequence_softmax(KernelBuilder &k, const contract::SequenceSoftmax &params) {
    const auto a = contract::names_of<contract::SequenceSoftmax>();
    const int channels = params.channels, rows = params.rows;
    const int width = static_cast<int>(pad(channels));
    const Shape shape = dense({width, rows});
    ImageParam x = k.input(a.k, shape);
    k.no_epilogue();
    const Expr length = k.scalar(a.length, rows);

    // THE ALGORITHM
    // The largest key is taken out first, and sums are float64. Rows behind the end weigh nothing.
    Var c("c"), r("r"), co("co"), ci("ci");
    Func peak("peak"), sum("sum"), y("y");
    RDom valid(0, length, "valid"), again(0, length, "again");
    const auto weight = [&](const Expr &row) { return exp(max(x(c, row) - peak(c), -87.0f)); };
    peak(c) = -3.0e38f;
    peak(c) = max(peak(c), x(c, unsafe_promise_clamped(valid, 0, rows - 1)));
    sum(c) = cast<double>(0);
    sum(c) += cast<double>(weight(unsafe_promise_clamped(again, 0, rows - 1)));
    const Expr inside = r < length, value = weight(r) * cast<float>(1 / max(sum(c), cast<double>(1)));
    y(c, r) = select(channels == width ? inside : inside && c < channels, value, 0.0f);

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(width / vec, 4);
    y.split(c, co, ci, block).reorder(ci, r, co).vectorize(ci, vec).unroll(ci);
    for (Func f : {peak, sum}) {
        f.compute_at(y, co).vectorize(c, vec).unroll(c);
        f.update().reorder(c, f.rvars()[0]).vectorize(c, vec).unroll(c);
    }
    k.output(y, a.y, shape);
}

// A workgroup for 16 channels; 16 threads each take every sixteenth row, twice: for the largest
// key, then for the sum, whose parts carry what they lose.
static void build_sequence_softmax_on_gpu(KernelBuilder &k, const contract::SequenceSoftmax &params) {
    constexpr int slices = 16;
    const auto a = contract::names_of<contract::SequenceSoftmax>();
    const int channels = params.channels, rows = params.rows;
    const int width = static_cast<int>(pad(channels)), tile = std::min(width, 16);
    const Shape shape = dense({width, rows});
    ImageParam x = k.input(a.k, shape);
    k.no_epilogue();
    const Expr length = k.scalar(a.length, rows);

    // THE ALGORITHM
    Var c("c"), r("r"), s("s");
    const int iterations = (rows + slices - 1) / slices;
    RDom t(0, iterations, "t"), again(0, iterations, "again"), all(0, slices, "all");
    Func highest("highest"), peaks("peaks"), peak("peak"), own("own"), begun("begun"), sum("sum"), y("y");
    const auto key = [&](const Expr &row) { return x(c, min(row, rows - 1)); };
    const auto weight = [&](const Expr &row) { return exp(max(key(row) - peak(c), -87.0f)); };
    highest(s, c) = -3.0e38f;
    highest(s, c) = max(highest(s, c), select(t * slices + s < length, key(t * slices + s), -3.0e38f));
    peaks(s, c) = highest(s, c);
    peak(c) = -3.0e38f;
    peak(c) = max(peak(c), peaks(all, c));
    own(s, c) = Tuple(0.0f, 0.0f);
    const Expr row = again * slices + s, term = select(row < length, weight(row), 0.0f), high = own(s, c)[0],
               next = high + term, part = next - high;
    own(s, c) = Tuple(next, own(s, c)[1] + ((high - (next - part)) + (term - part)));
    begun(s, c) = own(s, c)[0] + own(s, c)[1];
    sum(c) = 0.0f;
    sum(c) += begun(all, c);
    const Expr inside = r < length, value = weight(r) / max(sum(c), 1.0f);
    y(c, r) = select(channels == width ? inside : inside && c < channels, value, 0.0f);

    // THE SCHEDULE
    k.exact_sums = true;
    Var block("block"), lane("lane"), slice("slice"), iteration("iteration");
    y.split(c, block, lane, tile).split(r, iteration, slice, slices, TailStrategy::GuardWithIf);
    y.reorder(iteration, lane, slice, block).gpu_blocks(block).gpu_threads(lane, slice);
    for (Func shared : {peaks, begun}) {
        shared.compute_at(y, block)
            .store_in(MemoryType::GPUShared)
            .bound_extent(s, slices)
            .bound_extent(c, tile);
        shared.reorder(c, s).gpu_threads(c, s);
    }
    highest.compute_at(peaks, c).store_in(MemoryType::Register);
    own.compute_at(begun, c).store_in(MemoryType::Register);
    for (Func whole : {peak, sum}) {
        whole.compute_at(y, block).store_in(MemoryType::GPUShared).bound_extent(c, tile).gpu_threads(c);
        whole.update().reorder(all, c).gpu_threads(c);
    }
    k.output(y, a.y, shape);
}

static const Kernel<contract::SequenceSoftmax> sequence_softmax{build_sequence_softmax,
                                                                build_sequence_softmax_on_gpu, Fp16::outputs};

} // namespace longwave::schedules
