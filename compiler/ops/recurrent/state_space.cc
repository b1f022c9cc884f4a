// state_space: sums of decaying oscillations (S4D, S5), one row at a time. Per channel h, with N
// poles:
//     s_n[t] = e^{p_n} s_n[t−1] + x[t],   y[c,h,t] = Re Σ_n c[c,h,n] s_n[t] + D[c,h] Re x[t]
// p = Δ·A is the logarithm of the pole of one step, so that the recurrence is the exact
// exponential. One input {H} is real; two inputs are the real and the imaginary part of x, as S5
// needs them.
//
// A stream computes the recurrence. An offline run may compute a long convolution instead
// (as_convolution.cc).
#include "compiler/ops/recurrent/state_space.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/recurrent.h"
#include <algorithm>
#include <cmath>
#include <complex>

namespace longwave::ir {
namespace {

constexpr uint32_t most_poles = 1 << 12, most_copies = 1 << 10;

size_t parts(const Node &node) { return static_cast<size_t>(node.integer("complex")) + 1; } // of x

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t two, rules::flag(node, "complex"));
    LW_ASSIGN(const uint32_t copies, rules::integer(node, "channels", 1, most_copies));
    LW_TRY(rules::integer(node, "state", 32, 64).status());
    if (node.integer("state") != 32 && node.integer("state") != 64)
        return Status::input(
            fmt::format("attribute state expected 32 or 64, found {}", node.integer("state")));
    LW_TRY(rules::count(in, 4 + two));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    Type type = in[0];
    if (two) {
        LW_TRY(rules::timed(in[1]));
        LW_ASSIGN(type, rules::join(in[0], in[1]));
    }
    const Type &poles = in[1 + two], &c = in[2 + two], &d = in[3 + two];
    const uint32_t heads = in[0].dims[0];
    // The last extent 4: the part of the logarithm that float32 lost stands behind it.
    const bool rest = poles.dims.size() == 3 && poles.dims[2] == 4;
    LW_TRY(rules::operand(poles, "poles", {heads, 0, rest ? 4u : 2u}));
    if (poles.dims[1] > most_poles)
        return Status::input(
            fmt::format("expected at most {} poles a channel, found {}", most_poles, poles.dims[1]));
    LW_TRY(rules::operand(c, "c", {copies, heads, poles.dims[1], 2}));
    LW_TRY(rules::operand(d, "D", {copies, heads}));
    LW_TRY(rules::elements({copies, heads, 2, poles.dims[1]}, "the states of a row").status());
    if (copies > 1) type.dims = heads > 1 ? std::vector{copies, heads} : std::vector{copies};
    return type;
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    const uint32_t poles = in[parts(node)].dims[1], width = schedules::pad(in[0].dims[0]);
    const Elem elem = node.integer("state") == 64 ? Elem::f64 : Elem::f32;
    return {.carries = {{"real", elem, {poles, width}}, {"imaginary", elem, {poles, width}}}};
}

std::complex<double> logarithm(const Numbers &poles, size_t index, size_t last) {
    const size_t at = index * last;
    return last == 4 ? std::complex(poles[at] + poles[at + 2], poles[at + 1] + poles[at + 3])
                     : std::complex(poles[at], poles[at + 1]);
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const size_t first = parts(node), heads = in[0]->width;
    const Operand &poles = *in[first], &c = *in[first + 1], &d = *in[first + 2];
    const size_t n = context.types[first].dims[1], last = context.types[first].dims[2];
    for (size_t h = 0; h < heads; ++h) {
        std::vector<std::complex<double>> pole(n), state(n);
        for (size_t i = 0; i < n; ++i) pole[i] = std::exp(logarithm(poles.data, h * n + i, last));
        for (size_t t = 0; t < out.rows; ++t) {
            const std::complex<double> x(in[0]->row(t)[h], first == 2 ? in[1]->row(t)[h] : 0.0);
            for (size_t i = 0; i < n; ++i) state[i] = pole[i] * state[i] + x;
            for (size_t o = h; o < out.width; o += heads) {
                out.row(t)[o] = d.data[o] * x.real();
                for (size_t i = 0; i < n; ++i)
                    out.row(t)[o] += c.data[(o * n + i) * 2] * state[i].real() -
                                     c.data[(o * n + i) * 2 + 1] * state[i].imag();
            }
        }
    }
}

// One part of all poles, [poles][padded channels].
struct Poles {
    std::vector<double> real, imaginary;
    Poles(const Numbers &values, size_t heads, size_t n, size_t last, size_t width)
        : real(n * width, 0.0), imaginary(n * width, 0.0) {
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < n; ++i) {
                const std::complex<double> pole = std::exp(logarithm(values, h * n + i, last));
                real[i * width + h] = pole.real(), imaginary[i * width + h] = pole.imag();
            }
    }
};

// [computed copies][poles][padded channels] of one part of c [copies][channels][poles][2].
std::vector<float> packed_c(const Numbers &c, size_t copies, size_t heads, size_t n, size_t width,
                            size_t part, size_t computed) {
    std::vector<float> out(computed * n * width, 0.f);
    for (size_t k = 0; k < copies; ++k)
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < n; ++i)
                out[(k * n + i) * width + h] = static_cast<float>(c[((k * heads + h) * n + i) * 2 + part]);
    return out;
}

// ns of one state in one row: float64 states of 64 channels over 16,000 rows on an AMD EPYC, beside
// right_angle with its figure in costs.json.
constexpr double ns_of_a_state = 0.4;

StateSpace space_of(const PlanContext &context) {
    return {context.type(parts(context.node)), static_cast<uint32_t>(context.node.integer("channels"))};
}

Estimate estimate(const PlanContext &context) {
    const StateSpace space = space_of(context);
    return {.refused = {}, .cost = ns_of_a_state * space.poles * space.width / space.heads, .decisions = {}};
}

Status plan(KernelCall &call) {
    const StateSpace space = space_of(call.context);
    const size_t first = parts(call.node);
    if (growth(space, call.constant(first)) > 700)
        return Status::input("a pole is too large: its logarithm must have a real part of at most 700");
    call.one_call();
    const bool complex = first == 2;
    StateSpaceNumbers numbers(space, call.constant(first), call.constant(first + 1),
                              call.constant(first + 2));
    call.kernel<contract::StateSpace>(
        {.channels = space.heads,
         .copies = space.computed,
         .poles = space.poles,
         .rows = call.rows(),
         .complex = complex,
         .state = call.node.integer("state")},
        {.x = call.rows_of(0),
         .x_imaginary = complex ? Given::Input(call.rows_of(1)) : Given::Input(),
         .pole_real = call.packed("poles.real", std::move(numbers.pole_real)),
         .pole_imaginary = call.packed("poles.imaginary", std::move(numbers.pole_imaginary)),
         .c_real = call.packed("c.real", std::move(numbers.c_real)),
         .c_imaginary = call.packed("c.imaginary", std::move(numbers.c_imaginary)),
         .D = call.packed("D", std::move(numbers.direct)),
         .y = call.result_rows(),
         .real = call.state("real"),
         .imaginary = call.state("imaginary")});
    return Status::ok();
}

const Algorithm recurrence{
    .name = "recurrence", .offline = devices::all_kernels, .estimate = estimate, .plan = plan};
constexpr const Algorithm *algorithms[] = {&recurrence, &state_space_as_convolution};

} // namespace

StateSpace::StateSpace(const Type &of_poles, uint32_t results)
    : heads(of_poles.dims[0]), poles(of_poles.dims[1]), copies(results), last(of_poles.dims[2]),
      width(schedules::pad(heads)),
      // One run of copies, with its padding.
      computed(heads == 1 ? schedules::pad(copies) : copies) {}

double growth(const StateSpace &s, const Numbers &poles) {
    double most = -INFINITY;
    for (size_t i = 0; i < size_t{s.heads} * s.poles; ++i)
        most = std::max(most, logarithm(poles, i, s.last).real());
    return most;
}

StateSpaceNumbers::StateSpaceNumbers(const StateSpace &s, const Numbers &poles, const Numbers &c,
                                     const Numbers &d) {
    const Poles powers(poles, s.heads, s.poles, s.last, s.width);
    const auto part_of_c = [&](size_t part) {
        return Packed::f32({s.computed, s.poles, s.width},
                           packed_c(c, s.copies, s.heads, s.poles, s.width, part, s.computed));
    };
    std::vector<float> of_x(size_t{s.computed} * s.width, 0.f);
    for (size_t k = 0; k < s.copies; ++k)
        for (size_t h = 0; h < s.heads; ++h) of_x[k * s.width + h] = static_cast<float>(d[k * s.heads + h]);
    pole_real = Packed::f64({s.poles, s.width}, powers.real);
    pole_imaginary = Packed::f64({s.poles, s.width}, powers.imaginary);
    c_real = part_of_c(0);
    c_imaginary = part_of_c(1);
    direct = Packed::f32({s.computed, s.width}, of_x);
}

const OpDef op_state_space{
    .name = "state_space",
    .attributes = {{"channels", AttributeDef::Kind::integer},
                   {"complex", AttributeDef::Kind::integer},
                   {"state", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .begins_late = true,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
