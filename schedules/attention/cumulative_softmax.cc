// cumulative_softmax: how much the newest row weighs among all so far, w_t = e^{k_t} / S_t with S_t
// = S_0 + Σ_{τ ≤ t} e^{k_τ}, for each channel. The state is z = log S in float64: log t would stand
// still in float32.
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/gpu/channel_threads.h"
#include "schedules/gpu/float64_words.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// A constant beside an expression of Halide, and beside a value of a kernel that is written out.
Expr number(const Expr &, float value) { return Expr(value); }
gpu::Float number(const gpu::Float &beside, float value) { return beside.program->f32(value); }

// log(1 + e) for e in [0, 1], exact for small e: 2 atanh(e / (2 + e)).
template <class Float> Float log_one_plus(const Float &e) {
    const auto constant = [&](float value) { return number(e, value); };
    const Float y = e / (constant(2.0f) + e), square = y * y;
    Float sum = constant(1.0f / 17);
    for (int n = 15; n >= 1; n -= 2) sum = sum * square + constant(1.0f / static_cast<float>(n));
    return constant(2.0f) * y * sum;
}

struct CumulativeSoftmax {
    const contract::CumulativeSoftmax::Arguments<contract::Names> a =
        contract::names_of<contract::CumulativeSoftmax>();
    int channels, rows, width;
    bool one, masked, logarithm; // S_0 is 1; some rows weigh nothing; log S_t in place of the weight
    Shape shape, state;
    ImageParam x, mask;
    std::optional<RowCount> count;

    CumulativeSoftmax(KernelBuilder &k, const contract::CumulativeSoftmax &p)
        : channels(p.channels), rows(p.rows), width(static_cast<int>(pad(extent(channels)))), one(p.start),
          masked(p.mask), logarithm(p.log), shape(dense({width, rows})),
          state({{extent(width), 1}, {extent(rows), 0}}) {
        x = k.input(a.k, shape);
        if (masked) mask = k.input(a.mask, dense({1, rows}));
        if (!one) count.emplace(k, rows, p.counts, a.count_so_far, a.count);
        k.no_epilogue();
    }
    Expr stays(const Expr &row) const { return mask(0, row) == 0.0f; }
};

// Every exponent is at most 0; what is below -80 is nothing. Of a difference key − z float32 keeps
// a part in 2^24 of itself: the rest goes in as a factor.
template <class Float> struct Weight {
    Float weight, more; // of the row; log(1 + e^−|difference|), what the larger of z and key grows by
    Weight(const Float &difference, const Float &rest_of_it) {
        const Float zero = number(difference, 0.0f), one = number(difference, 1.0f),
                    least = number(difference, -80.0f);
        const Float size = min(difference, -difference), rest = select(least < size, rest_of_it, zero),
                    factor = one + select(zero < difference, -rest, rest),
                    e = select(least < size, exp(max(size, least)) * factor, zero), part = one / (one + e);
        weight = select(zero < difference, part, e * part);
        more = log_one_plus(e);
    }
};

// Zeros are what a state begins with: for S_0 = 1 they are its logarithm, for S_0 = 0 the number of
// rows so far says that there is none.
constexpr float nothing = -1e30f;

void cumulative_softmax_on_cpu(KernelBuilder &k, const contract::CumulativeSoftmax &params) {
    CumulativeSoftmax s(k, params);

    // THE ALGORITHM
    Var c("c"), r("r");
    Func y("y");
    RDom t(0, s.rows, "t");
    y(c, r) = Tuple(undef<float>(), undef<double>());
    const Expr stored = y(c, t)[1];
    const Expr z = s.one ? stored
                         : select(s.count->now() + cast<double>(t - s.rows) < cast<double>(0.5f),
                                  cast<double>(nothing), stored);
    const Expr key = cast<double>(s.x(c, t)), difference = key - z, high = cast<float>(difference);
    const Weight<Expr> row(high, cast<float>(difference - cast<double>(high)));
    Expr weight = row.weight, next = max(z, key) + cast<double>(row.more);
    if (s.masked) {
        weight = select(s.stays(t), 0.0f, weight);
        next = select(s.stays(t), z, next);
    }
    if (s.logarithm) weight = cast<float>(next);
    if (s.channels != s.width) weight = select(c < s.channels, weight, 0.0f);
    y(c, t) = Tuple(weight, next);

    // THE SCHEDULE
    y.update().reorder(c, t).vectorize(c, dividing_vector(s.width, k.target.vector_lanes));
    k.outputs(y, {k.result(s.a.w, s.shape), k.updated(s.a.z, s.state)});
    if (s.count) s.count->output();
}

// A thread for each channel, which keeps z in registers: each row needs the row before.
void cumulative_softmax_on_gpu(KernelBuilder &k, const contract::CumulativeSoftmax &params) {
    const CumulativeSoftmax s(k, params);
    const Var c("c"), r("r");
    Func y("y");
    y(c, r) = Tuple(0.0f, undef<uint32_t>()); // the types: the kernel below computes the values
    k.outputs(y, {k.result(s.a.w, s.shape), k.updated_words(s.a.z, s.state)});
    k.exact_sums = true;
    k.written = [s] {
        const uint32_t width = extent(s.width), rows = extent(s.rows);
        gpu::Program p = gpu::channel_program("cumulative_softmax", width);
        const auto read = [&](const char *name) { return p.buffer(name, 1, gpu::Access::read); };
        gpu::Memory mask, count_so_far;
        const gpu::Memory x = read("k");
        if (s.masked) mask = read("mask");
        if (!s.one) count_so_far = p.float64_buffer("count_so_far", gpu::Access::read);
        const gpu::Memory w = p.buffer("w", 1, gpu::Access::write),
                          state = p.float64_buffer("z", gpu::Access::both);
        gpu::each_channel(p, width, [&](gpu::Uint channel) {
            gpu::TwoFloats start = gpu::read_float64(p.load_words(state, channel));
            if (!s.one) {
                const gpu::WordPair count = gpu::read_count(p.load_words(count_so_far, p.u32(0)));
                const gpu::Bool none = gpu::count_is_below(gpu::moved_back(count, rows), 1);
                start = gpu::select(none, {p.f32(nothing), p.f32(0)}, start);
            }
            const gpu::TwoRegisters kept = gpu::keep(start);
            p.loop(rows, [&](gpu::Uint row) {
                const gpu::TwoFloats z = gpu::get(p, kept);
                const gpu::Float key = p.load(x, row * width + channel);
                const gpu::TwoFloats apart = gpu::two_sum(key, -z.high),
                                     difference = gpu::quick_two_sum(apart.high, apart.low - z.low);
                const Weight<gpu::Float> of_row(difference.high, difference.low);
                const gpu::Bool larger = p.f32(0) < difference.high;
                const gpu::TwoFloats most = gpu::select(larger, {key, p.f32(0)}, z),
                                     sum = gpu::quick_two_sum(most.high, of_row.more);
                gpu::TwoFloats next = gpu::rounded(gpu::quick_two_sum(sum.high, sum.low + most.low));
                gpu::Float weight = of_row.weight;
                if (s.masked) {
                    const gpu::Bool stays = p.load(mask, row) == p.f32(0);
                    weight = gpu::select(stays, p.f32(0), weight);
                    next = gpu::select(stays, z, next);
                }
                if (s.logarithm) weight = next.high;
                if (s.channels != s.width)
                    weight = gpu::select(channel < extent(s.channels), weight, p.f32(0));
                gpu::set(kept, next);
                p.store(w, row * width + channel, weight);
            });
            p.store_words(state, channel, gpu::write_float64(gpu::get(p, kept)));
        });
        return p;
    };
}

const Kernel<contract::CumulativeSoftmax> cumulative_softmax{cumulative_softmax_on_cpu,
                                                             cumulative_softmax_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
