// linear_attention and decaying_attention on a gpu: a thread for each column of a head's matrix, which goes through the
// rows of the call one after the other, any number of them, in one dispatch. The matrix stays where it lies, so that a
// workgroup needs no shared memory and state of any size fits.
//
// A row moves 16 bytes an element of the matrix, in two floats there and back, and 8 of o, which stay in the first
// cache. Threads of a workgroup are the lanes of a tile of values: what they read lies side by side, and keys, queries
// and weights are the same for all of them.
#include "schedules/attention/matrix_state.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int most_rows = 1 << 20;

// What is added to an element of the matrix, given what it holds.
using Increment = std::function<Expr(const Expr &row, const Expr &time, const Expr &now)>;

// All three elements are one definition, as two would be two dispatches: o is S stepped through, row of S by row of S.
void scan(KernelBuilder &k, MatrixState &a, const Increment &increment) {
    // THE ALGORITHM
    Func y("scan");
    const Var c = a.c, i = a.i, t = a.t, s = a.s, h = a.h;
    RDom r(0, a.state_rows, 0, a.rows, "r");
    y(c, i, t, s, h) = Tuple(undef<float>(), undef<float>(), undef<float>());
    const Expr high = y(c, r.x, r.y, s, h)[0], low = y(c, r.x, r.y, s, h)[1], o = y(c, r.x, r.y, s, h)[2];
    const Expr p = increment(r.x, r.y, high) + low, sum = strict_float(high + p);
    // The sum again, in plain sight (matrix_state.h).
    y(c, r.x, r.y, s, h) = Tuple(sum, strict_float(p - strict_float(sum - high)),
                                 select(r.x == 0, 0.0f, o) + a.q(r.x, r.y, a.head()) * (high + p));

    // THE SCHEDULE
    k.exact_sums = true;
    y.update().reorder(r.x, r.y, c, s, h).gpu_blocks(s, h).gpu_threads(c);
    const Shape state = a.state_shape();
    Shape in_time = state, o_shape = a.row_shape({extent(a.rows), a.rows > 1 ? a.width : 0});
    in_time.insert(in_time.begin() + 2, Dim{extent(a.rows), 0});
    Shape o_in_time = o_shape;
    o_in_time.insert(o_in_time.begin() + 1, Dim{extent(a.state_rows), 0});
    if (a.rows == 1) o_shape[1] = {extent(a.state_rows), 0}; // as the step of a CPU has it
    k.outputs(y, {{"S_high", in_time, ArgKind::inout, state},
                  {"S_low", in_time, ArgKind::inout, state},
                  {"o", o_in_time, ArgKind::output, o_shape}});
}

void linear_scan(KernelBuilder &k, int rows) {
    MatrixState a(k, rows);
    scan(k, a, [&](const Expr &row, const Expr &time, const Expr &) {
        return a.key(row, time, a.head()) * a.v(a.c, time, a.s, a.h);
    });
}

// By differences: k v − w C, never (1 − w) C + k v.
void decaying_scan(KernelBuilder &k, int rows) {
    const int turns = k.params.integer_or("turns", 1, 1, 2);
    MatrixState a(k, rows, "w", turns);
    const ImageParam key = turns > 1 ? a.keys("k", a.state_rows) : a.key;
    scan(k, a, [&](const Expr &row, const Expr &time, const Expr &now) {
        const Expr w = a.key(turns > 1 ? row % a.dk : row, time, a.head()), v = a.v(a.c, time, a.s, a.h);
        return turns > 1 ? key(row, time, a.head()) * v - w * now : w * (v - now);
    });
}

void linear_attention_step_on_gpu(KernelBuilder &k) { linear_scan(k, 1); }
void linear_attention_chunk_on_gpu(KernelBuilder &k) {
    linear_scan(k, k.params.integer("rows", 2, most_rows));
}
void decaying_attention_step_on_gpu(KernelBuilder &k) { decaying_scan(k, 1); }
void decaying_attention_chunk_on_gpu(KernelBuilder &k) {
    decaying_scan(k, k.params.integer("rows", 2, most_rows));
}

const GpuSchedule linear_step{"linear_attention_step", linear_attention_step_on_gpu, Fp16::inputs},
    linear_chunk{"linear_attention_chunk", linear_attention_chunk_on_gpu, Fp16::inputs},
    decaying_step{"decaying_attention_step", decaying_attention_step_on_gpu, Fp16::outputs},
    decaying_chunk{"decaying_attention_chunk", decaying_attention_chunk_on_gpu, Fp16::outputs};

} // namespace

} // namespace longwave::schedules
