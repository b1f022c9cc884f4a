// long_conv_direct: causal convolution over a ring by its definition; the cheapest form of short
// kernels.
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include <bit>

namespace longwave::schedules {

using namespace Halide;

namespace {

// Sums are taken of chunks of at most 256 taps, so that rounding does not grow with the kernel: a
// chunk is `steps` times `parts` taps. The `rest` fills no chunk and is added tap by tap.
struct Chunks {
    int count, parts, steps, length, rest;

    Chunks(int taps, int rows) {
        count = (taps + 255) / 256;
        parts = count > 1 ? 4 : rows >= 4 ? divisor_at_most(taps, 4) : std::min(taps, 4);
        steps = taps / (parts * count);
        length = parts * steps;
        rest = taps - count * length;
    }
};

class Direct {
public:
    Direct(KernelBuilder &k, const contract::LongConvDirect &p)
        : k_(k), channels_(p.channels), copies_(p.copies), taps_(p.taps), rows_(p.rows), ring_(p.ring),
          width_(static_cast<int>(pad(channels_))), vec_(dividing_vector(width_, k.target.vector_lanes)),
          chunks_(taps_, rows_), y_shape_(dense({width_, copies_, rows_})) {
        k.params.require(ring_ >= rows_ + taps_ - 1, "'ring' must hold rows + taps - 1 rows");
        u_ = k.input(a_.u, dense({width_, ring_}));
        kernel_ = k.weight(a_.k, dense({width_, copies_, taps_}));
        position_ = k.scalar(a_.position, ring_ - rows_);
        last_ = RDom(chunks_.count * chunks_.length, std::max(chunks_.rest, 1), "last");
    }

    void on_cpu() {
        if (rows_ >= 4) many_rows();
        else few_rows();
        k_.output(y_, a_.y, y_shape_);
    }
    void on_gpu() {
        over_threads();
        k_.output(y_, a_.y, y_shape_);
    }

private:
    void many_rows();
    void few_rows();
    void copies_are_lanes(const RDom &q, const RDom &i);
    void over_threads();

    KernelBuilder &k_;
    const contract::LongConvDirect::Arguments<contract::Names> a_ =
        contract::names_of<contract::LongConvDirect>();
    const int channels_, copies_, taps_, rows_, ring_, width_, vec_;
    const Chunks chunks_;
    const Shape y_shape_;
    ImageParam u_, kernel_;
    Expr position_;
    RDom last_;
    Var c{"c"}, m{"m"}, r{"r"}, p{"p"}, n{"n"}, g{"g"}, co{"co"}, ci{"ci"}, ro{"ro"}, ri{"ri"};
    Func sum_{"sum"}, total_{"total"}, y_{"y"};
};

void Direct::many_rows() {
    // THE ALGORITHM: on a copy without the wrap.
    Func line("line");
    line(c, n) = u_(c, wrapped(position_ + n - (taps_ - 1), ring_));
    const auto product = [&](const Expr &lag) { return kernel_(c, m, lag) * line(c, r - lag + (taps_ - 1)); };
    RDom t(0, chunks_.parts, 0, chunks_.steps, "t"), q(0, chunks_.count, "q");
    sum_(c, m, r, g) = 0.0f;
    sum_(c, m, r, g) += product(g * chunks_.length + t.y * chunks_.parts + t.x);
    const bool several = chunks_.count > 1;
    if (several) {
        total_(c, m, r) = 0.0f;
        total_(c, m, r) += sum_(c, m, r, q);
        if (chunks_.rest > 0) total_(c, m, r) += product(last_);
    }
    y_(c, m, r) = k_.epilogue(several ? total_(c, m, r) : sum_(c, m, r, 0), {c, m, r}, y_shape_, channels_);

    // THE SCHEDULE: a register tile of `block` rows by `parts` taps shares what it reads.
    const int block = std::min(rows_, k_.target.vector_registers == 32 ? 8 : 4), length = taps_ - 1 + rows_;
    y_.split(c, co, ci, vec_)
        .split(r, ro, ri, block, TailStrategy::ShiftInwards)
        .reorder(ci, ri, ro, m, co)
        .vectorize(ci)
        .unroll(ri);
    if (several) {
        total_.compute_at(y_, ro).bound_extent(c, vec_).bound_extent(r, block).vectorize(c).unroll(r);
        total_.update(0).reorder(c, r, m, q).vectorize(c).unroll(r);
        if (chunks_.rest > 0) total_.update(1).reorder(c, r, m, last_).vectorize(c).unroll(r);
        sum_.compute_at(total_, q);
    } else {
        sum_.compute_at(y_, ro);
    }
    sum_.bound_extent(c, vec_).bound_extent(r, block).vectorize(c).unroll(r);
    sum_.update().reorder(c, r, t.x, m, t.y).vectorize(c).unroll(r).unroll(t.x);
    line.compute_at(y_, co).bound_extent(n, length).bound_extent(c, vec_).vectorize(c);
    store(line, int64_t{4} * vec_ * length);
}

void Direct::few_rows() {
    // THE ALGORITHM: the parts of a chunk run side by side. Where the rows begin in the ring is
    // computed once for all channels.
    Func begin("begin");
    begin(n) = wrapped(position_ + n - (taps_ - 1), ring_) * width_;
    const auto product = [&](const Expr &lag) {
        const Expr row = unsafe_promise_clamped(begin(r - lag + (taps_ - 1)), 0, (ring_ - 1) * width_);
        return kernel_(c, m, lag) * u_(c + row, 0);
    };
    RDom i(0, chunks_.steps, "i"), q(0, chunks_.parts, 0, chunks_.count, "q");
    sum_(c, p, m, r, g) = 0.0f;
    sum_(c, p, m, r, g) += product(g * chunks_.length + i * chunks_.parts + p);
    total_(c, m, r) = 0.0f;
    total_(c, m, r) += sum_(c, q.x, m, r, q.y);
    if (chunks_.rest > 0) total_(c, m, r) += product(last_);
    y_(c, m, r) = k_.epilogue(total_(c, m, r), {c, m, r}, y_shape_, channels_);

    const int places = taps_ - 1 + rows_;
    begin.compute_root().bound_extent(n, places).vectorize(n,
                                                           dividing_vector(places, k_.target.vector_lanes));
    store(begin, int64_t{4} * places);
    if (width_ == 1 && copies_ > 1) return copies_are_lanes(q, i);

    // THE SCHEDULE: as many vectors side by side as have registers for the sums of all parts. They
    // share where a tap lies in the ring.
    const int vectors = std::max(1, (k_.target.vector_registers - 4) / chunks_.parts),
              block = vec_ * divisor_at_most(width_ / vec_, vectors);
    y_.split(c, co, ci, block).reorder(ci, co, m, r).vectorize(ci, vec_).unroll(ci);
    total_.compute_at(y_, co).bound_extent(c, block).vectorize(c, vec_).unroll(c);
    total_.update(0).reorder(c, m, r, q.x, q.y).vectorize(c, vec_).unroll(c).unroll(q.x);
    if (chunks_.rest > 0) total_.update(1).reorder(c, m, r, last_).vectorize(c, vec_).unroll(c);
    sum_.compute_at(total_, q.y).bound_extent(c, block).vectorize(c, vec_).unroll(c).unroll(p);
    sum_.update().reorder(c, p, m, r, i).vectorize(c, vec_).unroll(c).unroll(p);
}

// THE SCHEDULE of few rows of one channel, whose copies fill the vectors.
void Direct::copies_are_lanes(const RDom &q, const RDom &i) {
    const int vec = std::min(k_.target.vector_lanes, static_cast<int>(std::bit_floor(extent(copies_))));
    Var mo("mo"), mi("mi");
    y_.split(m, mo, mi, vec, TailStrategy::ShiftInwards).reorder(mi, c, mo, r).vectorize(mi);
    total_.compute_at(y_, mo).bound_extent(m, vec).vectorize(m);
    total_.update(0).reorder(m, c, r, q.x, q.y).vectorize(m).unroll(q.x);
    if (chunks_.rest > 0) total_.update(1).reorder(m, c, r, last_).vectorize(m);
    sum_.compute_at(total_, q.y).bound_extent(m, vec).reorder_storage(m, p, c, r, g).vectorize(m).unroll(p);
    sum_.update().reorder(m, p, c, r, i).vectorize(m).unroll(p);
}

// Many sums have a thread each. Few are cut into slices of the taps, 16 threads for a sum, 16
// channels side by side.
void Direct::over_threads() {
    // THE ALGORITHM
    const int slices = taps_ >= 32 && int64_t{width_} * copies_ * rows_ <= 1 << 16 ? 16 : 1, most = 256,
              of_slice = (taps_ + slices - 1) / slices, parts = (of_slice + most - 1) / most;
    Var s("s");
    Func begun("begun");
    RDom i(0, std::min(of_slice, most), "i"), q(0, parts, "q"), all(0, slices, "all");
    const Expr lag = (g * most + i) * slices + s, inside = min(lag, taps_ - 1),
               product = kernel_(c, m, inside) * u_(c, wrapped(position_ + r - inside, ring_));
    sum_(c, s, m, r, g) = 0.0f;
    sum_(c, s, m, r, g) += select(lag < taps_, product, 0.0f);
    begun(c, s, m, r) = 0.0f;
    begun(c, s, m, r) += sum_(c, s, m, r, q);
    total_(c, m, r) = 0.0f;
    total_(c, m, r) += begun(c, all, m, r);
    y_(c, m, r) =
        k_.epilogue(slices > 1 ? total_(c, m, r) : begun(c, 0, m, r), {c, m, r}, y_shape_, channels_);

    // THE SCHEDULE
    if (slices == 1) {
        const Spread loops = spread(y_, {c, m, r}, {width_, copies_, rows_});
        begun.compute_at(y_, loops.thread.var).store_in(MemoryType::Register);
        sum_.compute_at(begun, q).store_in(MemoryType::Register);
        return;
    }
    const int tile = std::min(width_, 16);
    y_.split(c, co, ci, tile).reorder(ci, co, m, r).gpu_blocks(co, m, r).gpu_threads(ci);
    total_.compute_at(y_, ci).store_in(MemoryType::Register);
    begun.in(total_).compute_at(y_, co).store_in(MemoryType::GPUShared);
    begun.in(total_).bound_extent(s, slices).bound_extent(c, tile).reorder(c, s, m, r).gpu_threads(c, s);
    begun.compute_at(begun.in(total_), c).store_in(MemoryType::Register);
    sum_.compute_at(begun, q).store_in(MemoryType::Register);
}

void long_conv_direct_on_cpu(KernelBuilder &k, const contract::LongConvDirect &p) { Direct(k, p).on_cpu(); }
void long_conv_direct_on_gpu(KernelBuilder &k, const contract::LongConvDirect &p) { Direct(k, p).on_gpu(); }

} // namespace

static const Kernel<contract::LongConvDirect> long_conv_direct{
    long_conv_direct_on_cpu, long_conv_direct_on_gpu, Fp16::inputs_and_outputs};

} // namespace longwave::schedules
