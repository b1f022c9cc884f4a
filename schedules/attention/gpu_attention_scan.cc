// linear_attention and decaying_attention on a gpu: rows one after the other, any number of them,
// in one dispatch.
//
// A workgroup has the lanes of a tile of values, whose keys, queries and weights are the same for
// all of them, and for each lane several threads. A thread keeps its part of the lane's column of
// the matrix in registers for the whole call, in two floats an element. Some rows of time at once
// lie in shared memory, and so do the parts' sums of o.
#include "schedules/attention/matrix_state.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/thread_program.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// The arguments of both forms.
void declare_outputs(KernelBuilder &k, const MatrixState &a, const Func &y) {
    const Shape state = a.state_shape();
    Shape in_time = state, o_shape = a.row_shape({extent(a.rows), a.rows > 1 ? a.width : 0});
    in_time.insert(in_time.begin() + 2, Dim{extent(a.rows), 0});
    Shape o_in_time = o_shape;
    o_in_time.insert(o_in_time.begin() + 1, Dim{extent(a.state_rows), 0});
    if (a.rows == 1) o_shape[1] = {extent(a.state_rows), 0}; // as the step of a CPU has it
    k.outputs(y, {k.updated(a.names.high, in_time, state), k.updated(a.names.low, in_time, state),
                  k.result(a.names.o, o_in_time, o_shape)});
}

// Matrices too large for registers, and lanes of a tile with different heads: a thread for each
// column, whose matrix stays where it lies. All three elements are one definition, as two would be
// two dispatches: o is S stepped through, row of S by row of S.
void scan_in_memory(KernelBuilder &k, const MatrixState &a, const MatrixUpdate &update) {
    // THE ALGORITHM
    Func y("scan");
    const Var c = a.c, i = a.i, t = a.t, s = a.s, h = a.h;
    RDom r(0, a.state_rows, 0, a.rows, "r");
    y(c, i, t, s, h) = Tuple(undef<float>(), undef<float>(), undef<float>());
    const Expr high = y(c, r.x, r.y, s, h)[0], low = y(c, r.x, r.y, s, h)[1], o = y(c, r.x, r.y, s, h)[2];
    std::vector<Expr> values;
    for (size_t n = 0; n < update.keys.size(); n++)
        values.push_back(update.keys[n](n == 0 && a.state_rows > a.dk ? r.x % a.dk : r.x, r.y, a.head()));
    const Expr p = update.increment(high, a.v(c, r.y, s, h), values) + low, sum = strict_float(high + p);
    // The sum again, in plain sight (matrix_state.h).
    y(c, r.x, r.y, s, h) = Tuple(sum, strict_float(p - strict_float(sum - high)),
                                 select(r.x == 0, 0.0f, o) + a.q(r.x, r.y, a.head()) * (high + p));

    // THE SCHEDULE
    y.update().reorder(r.x, r.y, c, s, h).gpu_blocks(s, h).gpu_threads(c);
    declare_outputs(k, a, y);
}

class RegisterScan {
public:
    // Threads of a lane, and the rows of S that each of them keeps.
    struct Parts {
        int count, rows;
    };
    // Two floats an element, and as much again for addresses, is a quarter of the registers.
    static int wanted_rows(const targets::Target &target) { return target.registers / 16; }
    static Parts parts_of(const MatrixState &a, const targets::Target &target) {
        constexpr int least_threads = 64;
        const int wanted = wanted_rows(target), most = std::max(1, loop_threads(target) / a.tile),
                  want =
                      std::max((a.state_rows + wanted - 1) / wanted, (least_threads + a.tile - 1) / a.tile),
                  count = std::min({want, most, a.state_rows}), rows = (a.state_rows + count - 1) / count;
        return {(a.state_rows + rows - 1) / rows, rows};
    }
    static bool fits(const MatrixState &a, const targets::Target &target) {
        return a.one_head && parts_of(a, target).rows <= 2 * wanted_rows(target);
    }

    RegisterScan(KernelBuilder &k, const MatrixState &a, const MatrixUpdate &update)
        : a_(a), parts_(parts_of(a, k.target)), threads_(a.tile * parts_.count), update_(update) {
        int floats = a.tile + threads_;
        operands_.push_back({a.q, a.state_rows});
        for (const ImageParam &key : update.keys)
            operands_.push_back({key, operands_.size() == 1 ? a.dk : a.state_rows});
        for (const Operand &one : operands_) floats += one.rows;
        together_ = std::min(a.rows, std::clamp(shared_floats / floats, 1, 16));

        Func y("scan"); // names the arguments, the workgroups and the threads
        RDom part(0, parts_.count, "part");
        y(a.c, a.i, a.t, a.s, a.h) = Tuple(undef<float>(), undef<float>(), undef<float>());
        const auto one = [&](int n) { return y(a.c, part, a.t, a.s, a.h)[n] + 1.0f; };
        y(a.c, part, a.t, a.s, a.h) = Tuple(one(0), one(1), 0.0f);
        y.update().reorder(a.t, a.c, part, a.s, a.h).gpu_blocks(a.s, a.h).gpu_threads(a.c, part);
        declare_outputs(k, a, y);
    }

    void run(ThreadProgram &p) {
        lane_ = p.thread_x, tile_ = p.block_x, head_ = p.block_y;
        thread_ = p.let(p.thread_y * a_.tile + p.thread_x);
        sums_ = p.shared(together_ * threads_);
        if (a_.rows > 1) {
            for (Operand &one : operands_) one.memory = p.shared(together_ * one.rows);
            values_ = p.shared(together_ * a_.tile);
        }
        std::vector<Element> column;
        for (int n = 0; n < parts_.rows; n++) column.push_back(element(p, n));
        const int iterations = (a_.rows + together_ - 1) / together_;
        if (iterations == 1) rows(p, column, 0, a_.rows);
        else
            p.loop(iterations, [&](const Expr &iteration) {
                const Expr first = p.let(iteration * together_);
                rows(p, column, first,
                     a_.rows % together_ ? p.let(min(together_, a_.rows - first)) : Expr(together_));
            });
        for (const Element &one : column) {
            const auto write = [&] {
                p.write(a_.names.high.text, {lane_, one.row, 0, tile_, head_}, p.get(one.value.high));
                p.write(a_.names.low.text, {lane_, one.row, 0, tile_, head_}, p.get(one.value.low));
            };
            if (one.inside.defined()) p.when(one.inside, write);
            else write();
        }
    }

private:
    static constexpr int shared_floats = 2048;
    struct Operand {
        ImageParam from;
        int rows; // of a head
        std::string memory = {};
    };
    struct Element {
        Expr row, inside;       // undefined: there is such a row of S for every thread
        std::vector<Expr> rows; // of each operand
        ThreadProgram::TwoRegisters value;
    };

    Element element(ThreadProgram &p, int n) const {
        const bool ragged = parts_.count * parts_.rows > a_.state_rows;
        const Expr wanted = p.thread_y * parts_.rows + n,
                   row = p.let(ragged ? min(wanted, a_.state_rows - 1) : wanted);
        Element made{row, ragged ? p.let(wanted < a_.state_rows) : Expr(), {}, {}};
        for (const Operand &one : operands_)
            made.rows.push_back(one.rows < a_.state_rows ? p.let(row % one.rows) : row);
        const Expr high = p.read(a_.names.high.text, {lane_, row, 0, tile_, head_}),
                   low = p.read(a_.names.low.text, {lane_, row, 0, tile_, head_});
        made.value = p.keep(TwoFloats{high, low});
        return made;
    }

    // Rows first … first + count − 1 of the call.
    void rows(ThreadProgram &p, const std::vector<Element> &column, const Expr &first,
              const Expr &count) const {
        if (a_.rows > 1) {
            stage(p, first);
            p.barrier();
        }
        p.loop(count, [&](const Expr &t) { row(p, column, first, t); });
        p.barrier();
        write_o(p, first, count);
    }

    // All loads first, so that they are under way together.
    void stage(ThreadProgram &p, const Expr &first) const {
        struct Store {
            std::string memory;
            Expr index, value, inside;
        };
        std::vector<Store> stores;
        const auto take = [&](const std::string &memory, int width,
                              const std::function<Expr(const Expr &, const Expr &)> &from) {
            for (int t = 0; t < together_; t++)
                for (int begin = 0; begin < width; begin += threads_) {
                    const Expr i = thread_ + begin, time = min(first + t, a_.rows - 1);
                    stores.push_back(
                        {memory, t * width + i, p.let(from(min(i, width - 1), time)), i < width});
                }
        };
        for (const Operand &one : operands_)
            take(one.memory, one.rows,
                 [&](const Expr &i, const Expr &time) { return one.from(i, time, head_); });
        take(values_, a_.tile,
             [&](const Expr &lane, const Expr &time) { return a_.v(lane, time, tile_, head_); });
        for (const Store &one : stores)
            p.when(one.inside, [&] { p.write_shared(one.memory, one.index, one.value); });
    }

    void row(ThreadProgram &p, const std::vector<Element> &column, const Expr &first, const Expr &t) const {
        const bool staged = a_.rows > 1;
        const Expr v = staged ? p.read_shared(values_, t * a_.tile + lane_)
                              : p.let(a_.v(lane_, first + t, tile_, head_));
        Expr o = 0.0f;
        for (const Element &one : column) {
            std::vector<Expr> of_row;
            for (size_t n = 0; n < operands_.size(); n++) {
                const Operand &from = operands_[n];
                of_row.push_back(staged ? p.read_shared(from.memory, t * from.rows + one.rows[n])
                                        : p.let(from.from(one.rows[n], first + t, head_)));
            }
            const TwoFloats now = p.get(one.value);
            const Expr more =
                p.let(p.let(update_.increment(now.high, v, {of_row.begin() + 1, of_row.end()})) + now.low);
            const TwoFloats next = quick_two_sum(p.name(), now.high, more);
            p.set(one.value, next);
            const Expr term = of_row[0] * next.high;
            o = p.let(o + (one.inside.defined() ? select(one.inside, term, 0.0f) : term));
        }
        p.write_shared(sums_, t * threads_ + thread_, o);
    }

    void write_o(ThreadProgram &p, const Expr &first, const Expr &count) const {
        for (int begin = 0; begin < together_ * a_.tile; begin += threads_) {
            const Expr index = p.let(thread_ + begin), t = p.let(index / a_.tile),
                       lane = p.let(index % a_.tile);
            p.when(t < count, [&] {
                Expr o = 0.0f;
                for (int part = 0; part < parts_.count; part++)
                    o = p.let(o + p.read_shared(sums_, t * threads_ + part * a_.tile + lane));
                p.write(a_.names.o.text, {lane, 0, first + t, tile_, head_}, o);
            });
        }
    }

    const MatrixState a_;
    const Parts parts_;
    const int threads_;
    int together_ = 1; // rows of time
    const MatrixUpdate update_;
    std::vector<Operand> operands_; // queries, then keys
    std::string sums_, values_;     // in shared memory: parts of o, values
    Expr lane_, tile_, head_, thread_;
};

void scan(KernelBuilder &k, const MatrixState &a, const MatrixUpdate &update) {
    k.exact_sums = true;
    if (!RegisterScan::fits(a, k.target)) return scan_in_memory(k, a, update);
    const auto program = std::make_shared<RegisterScan>(k, a, update);
    k.program = [program](ThreadProgram &p) { program->run(p); };
}

template <class K> void linear_scan(KernelBuilder &k, const K &params) {
    const MatrixState a(k, params);
    scan(k, a, outer_product(a));
}

template <class K> void decaying_scan(KernelBuilder &k, const K &params) {
    MatrixState a(k, params);
    if (params.parts == 1) return scan(k, a, decaying(a));
    scan(k, a, decaying(a, a.keys(contract::names_of<K>().k, a.state_rows)));
}

const GpuSchedule<contract::LinearAttentionStep> linear_step{linear_scan, Fp16::inputs};
const GpuSchedule<contract::LinearAttentionChunk> linear_chunk{linear_scan, Fp16::inputs};
const GpuSchedule<contract::DecayingAttentionStep> decaying_step{decaying_scan, Fp16::outputs};
const GpuSchedule<contract::DecayingAttentionChunk> decaying_chunk{decaying_scan, Fp16::outputs};

} // namespace

} // namespace longwave::schedules
