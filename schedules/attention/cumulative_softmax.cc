// cumulative_softmax: how much the newest row weighs among all so far, w_t = e^{k_t} / S_t with S_t
// = S_0 + Σ_{τ ≤ t} e^{k_τ}, for each channel. The state is z = log S in float64: log t would stand
// still in float32.
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/thread_program.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// log(1 + e) for e in [0, 1], exact for small e: 2 atanh(e / (2 + e)).
Expr log_one_plus(const Expr &e) {
    const Expr y = e / (2.0f + e), square = y * y;
    Expr sum = 1.0f / 17;
    for (int n = 15; n >= 1; n -= 2) sum = sum * square + 1.0f / static_cast<float>(n);
    return 2.0f * y * sum;
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
struct Weight {
    Expr weight, more; // of the row; log(1 + e^−|difference|), what the larger of z and key grows by
    Weight(const Expr &difference, const Expr &rest_of_it) {
        const Expr size = min(difference, -difference), rest = select(size > -80.0f, rest_of_it, 0.0f);
        const Expr e = select(size > -80.0f,
                              exp(max(size, -80.0f)) * (1.0f + select(difference > 0.0f, -rest, rest)), 0.0f);
        const Expr part = 1.0f / (1.0f + e);
        weight = select(difference > 0.0f, part, e * part);
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
    const Weight row(high, cast<float>(difference - cast<double>(high)));
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
    const int lanes = std::min(s.width, 64);

    // THE ARGUMENTS
    const Var c("c"), r("r"), block("block"), lane("lane");
    Func y("y");
    RDom t(0, s.rows, "t");
    y(c, r) = Tuple(undef<float>(), undef<uint32_t>());
    y(c, t) = Tuple(0.0f, y(c, t)[1] + cast<uint32_t>(1));
    y.update().split(c, block, lane, lanes, TailStrategy::GuardWithIf);
    y.update().reorder(t, lane, block).gpu_blocks(block).gpu_threads(lane);
    k.outputs(y, {k.result(s.a.w, s.shape), k.updated_words(s.a.z, s.state)});

    // THE PROGRAM
    k.exact_sums = true;
    k.program = [=](ThreadProgram &p) {
        const Name name = p.name();
        const Expr channel = p.let(p.block_x * lanes + p.thread_x);
        p.when(channel < s.width, [&] {
            TwoFloats start = p.read_words(s.a.z.text, {channel, 0});
            if (!s.one) {
                const Expr none = p.let(count_is_below(moved_back(s.count->words(), s.rows), 1));
                start = {select(none, nothing, start.high), select(none, 0.0f, start.low)};
            }
            const auto kept = p.keep(start);
            p.loop(s.rows, [&](const Expr &row) {
                const TwoFloats z = p.get(kept);
                const Expr key = p.let(s.x(channel, row));
                const TwoFloats apart = two_sum(name, key, -z.high),
                                difference = quick_two_sum(name, apart.high, p.let(apart.low - z.low));
                const Weight of_row(difference.high, difference.low);
                const Expr larger = p.let(difference.high > 0.0f), more = p.let(of_row.more);
                const TwoFloats sum = quick_two_sum(name, p.let(select(larger, key, z.high)), more);
                TwoFloats next = rounded(
                    name, quick_two_sum(name, sum.high, p.let(sum.low + select(larger, 0.0f, z.low))));
                Expr weight = of_row.weight;
                if (s.masked) {
                    const Expr stays = p.let(s.stays(row));
                    weight = select(stays, 0.0f, weight);
                    next = {select(stays, z.high, next.high), select(stays, z.low, next.low)};
                }
                if (s.logarithm) weight = next.high;
                if (s.channels != s.width) weight = select(channel < s.channels, weight, 0.0f);
                p.set(kept, next);
                p.write(s.a.w.text, {channel, row}, weight);
            });
            p.write_words(s.a.z.text, {channel, 0}, p.get(kept));
        });
    };
}

const Kernel<contract::CumulativeSoftmax> cumulative_softmax{cumulative_softmax_on_cpu,
                                                             cumulative_softmax_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
