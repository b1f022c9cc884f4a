// linear_attention and decaying_attention on a gpu: rows one after the other, any number of them,
// in one dispatch.
//
// A workgroup has the lanes of a tile of values, whose keys, queries and weights are the same for
// all of them, and for each lane several threads. A thread keeps its part of the lane's column of
// the matrix in registers for the whole call, in two floats an element. Some rows of time at once
// lie in shared memory, and so do the parts' sums of o.
#include "schedules/attention/matrix_state.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/gpu/float64_words.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/written_epilogue.h"

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

// Threads of a lane, and the rows of S that each of them keeps.
struct Parts {
    int count, rows;
};
// Two floats an element, and as much again for addresses, is a quarter of the registers.
int wanted_rows(const targets::Target &target) { return target.registers / 16; }
Parts parts_of(const MatrixState &a, const targets::Target &target) {
    constexpr int least_threads = 64;
    const int wanted = wanted_rows(target), most = std::max(1, loop_threads(target) / a.tile),
              want = std::max((a.state_rows + wanted - 1) / wanted, (least_threads + a.tile - 1) / a.tile),
              count = std::min({want, most, a.state_rows}), rows = (a.state_rows + count - 1) / count;
    return {(a.state_rows + rows - 1) / rows, rows};
}
bool fits_registers(const MatrixState &a, const targets::Target &target) {
    return a.one_head && parts_of(a, target).rows <= 2 * wanted_rows(target);
}

// The kernel that keeps S in registers. Rows of time that a workgroup has at once, of all operands and of
// the values, lie in shared memory behind the parts' sums of o.
class RegisterScan {
public:
    RegisterScan(const KernelBuilder &k, const MatrixState &a, const MatrixUpdate &update)
        : a_(a), update_(update), parts_(parts_of(a, k.target)), tile_(extent(a.tile)),
          threads_(extent(a.tile * parts_.count)), rows_(extent(a.rows)), state_rows_(extent(a.state_rows)),
          p_("attention_scan", {threads_, 1, 1}, {extent(a.tiles), extent(a.groups), 1}) {
        std::map<std::string, gpu::Memory> inputs;
        for (const ImageParam &buffer : k.buffers())
            inputs[buffer.name()] = p_.buffer(buffer.name(), 1, gpu::Access::read);
        high_ = p_.buffer(a.names.high.text, 1, gpu::Access::both);
        low_ = p_.buffer(a.names.low.text, 1, gpu::Access::both);
        o_ = p_.buffer(a.names.o.text, 1, gpu::Access::write);

        const auto add = [&](const ImageParam &from, int of_head) {
            operands_.push_back(
                {inputs.at(from.name()), extent(of_head), pad(extent(a.key_heads * of_head))});
        };
        add(a.q, a.state_rows);
        for (const ImageParam &key : update.keys) add(key, operands_.size() == 1 ? a.dk : a.state_rows);
        v_ = inputs.at(a.v.name());
        uint32_t floats = tile_ + threads_;
        for (const Operand &one : operands_) floats += one.rows;
        together_ = std::min(rows_, std::clamp(shared_floats / floats, 1u, 16u));
        uint32_t used = together_ * threads_;
        for (Operand &one : operands_) one.shared = used, used += together_ * one.rows;
        values_ = used;
        p_.shared(rows_ > 1 ? used + together_ * tile_ : together_ * threads_);
    }

    gpu::Program run() {
        thread_ = p_.thread(), head_ = p_.group(1);
        lane_ = thread_ & (tile_ - 1); // tiles are powers of two
        part_ = thread_ >> gpu::log2_of(tile_);
        of_row_ =
            (head_ * extent(a_.tiles) + p_.group(0)) * tile_; // where the tile begins in a row of v and o
        std::vector<Element> column;
        for (int n = 0; n < parts_.rows; n++) column.push_back(element(extent(n)));
        const uint32_t iterations = (rows_ + together_ - 1) / together_;
        p_.loop(iterations, [&](gpu::Uint iteration) {
            const gpu::Uint first = iteration * together_;
            const gpu::Uint left = p_.u32(rows_) - first;
            rows(column, first, rows_ % together_ ? min(left, together_) : p_.u32(together_));
        });
        for (const Element &one : column)
            guarded(one.inside, [&] {
                p_.store(high_, one.at, p_.get(one.value.high));
                p_.store(low_, one.at, p_.get(one.value.low));
            });
        return p_;
    }

private:
    static constexpr uint32_t shared_floats = 2048;
    struct Operand {
        gpu::Memory memory;
        uint32_t rows, stride; // of a head; from one row of time to the next
        uint32_t shared = 0;   // where it lies in shared memory
    };
    struct Element {
        gpu::Uint at;                    // in memory
        std::optional<gpu::Bool> inside; // none: there is such a row of S for every thread
        std::vector<gpu::Uint> rows;     // of each operand
        gpu::TwoRegisters value;
    };

    void guarded(const std::optional<gpu::Bool> &condition, const std::function<void()> &body) {
        if (condition) p_.when(*condition, body);
        else body();
    }
    // `below` of a value from 0 to `most`; none: it always is.
    std::optional<gpu::Bool> when_below(gpu::Uint value, uint32_t below, uint32_t most) {
        return most < below ? std::nullopt : std::optional(value < below);
    }

    Element element(uint32_t n) {
        const uint32_t kept = extent(parts_.rows), most = (extent(parts_.count) - 1) * kept + n;
        const gpu::Uint wanted = part_ * kept + n,
                        row = most < state_rows_ ? wanted : min(wanted, state_rows_ - 1),
                        tile = head_ * extent(a_.tiles) + p_.group(0);
        Element made{
            (tile * state_rows_ + row) * tile_ + lane_, when_below(wanted, state_rows_, most), {}, {}};
        for (const Operand &one : operands_)
            made.rows.push_back(one.rows < state_rows_ ? row % one.rows : row);
        made.value = gpu::keep({p_.load(high_, made.at), p_.load(low_, made.at)});
        return made;
    }

    gpu::Float operand(const Operand &of, gpu::Uint row, gpu::Uint time) {
        return p_.load(of.memory, time * of.stride + head_ * of.rows + row);
    }
    gpu::Float value(gpu::Uint lane, gpu::Uint time) {
        return p_.load(v_, time * extent(a_.width) + of_row_ + lane);
    }

    // Rows first … first + count − 1 of the call.
    void rows(const std::vector<Element> &column, gpu::Uint first, gpu::Uint count) {
        if (rows_ > 1) {
            stage(first);
            p_.barrier();
        }
        p_.loop(count, [&](gpu::Uint t) { row(column, first, t); });
        p_.barrier();
        write_o(first, count);
    }

    // All loads first, so that they are under way together.
    void stage(gpu::Uint first) {
        struct Store {
            gpu::Uint at;
            gpu::Float value;
            std::optional<gpu::Bool> inside;
        };
        std::vector<Store> stores;
        const auto take = [&](uint32_t to, uint32_t width, const auto &from) {
            for (uint32_t t = 0; t < together_; t++)
                for (uint32_t begin = 0; begin < width; begin += threads_) {
                    const gpu::Uint i = thread_ + begin, time = min(first + t, rows_ - 1);
                    const bool all = begin + threads_ <= width;
                    stores.push_back({i + (to + t * width), from(all ? i : min(i, width - 1), time),
                                      when_below(i, width, begin + threads_ - 1)});
                }
        };
        for (const Operand &one : operands_)
            take(one.shared, one.rows, [&](gpu::Uint i, gpu::Uint time) { return operand(one, i, time); });
        take(values_, tile_, [&](gpu::Uint lane, gpu::Uint time) { return value(lane, time); });
        for (const Store &one : stores) guarded(one.inside, [&] { p_.store_shared(one.at, one.value); });
    }

    void row(const std::vector<Element> &column, gpu::Uint first, gpu::Uint t) {
        const bool staged = rows_ > 1;
        const gpu::Float v = staged ? p_.load_shared(t * tile_ + lane_ + values_) : value(lane_, first + t);
        gpu::Float o = p_.f32(0);
        for (const Element &one : column) {
            std::vector<gpu::Float> of_row;
            for (size_t n = 0; n < operands_.size(); n++) {
                const Operand &from = operands_[n];
                of_row.push_back(staged ? p_.load_shared(t * from.rows + one.rows[n] + from.shared)
                                        : operand(from, one.rows[n], first + t));
            }
            const gpu::TwoFloats now = gpu::get(p_, one.value);
            const gpu::TwoFloats next =
                gpu::quick_two_sum(now.high, increment(now.high, v, of_row) + now.low);
            gpu::set(one.value, next);
            const gpu::Float term = of_row[0] * next.high;
            o = o + (one.inside ? gpu::select(*one.inside, term, p_.f32(0)) : term);
        }
        p_.store_shared(t * threads_ + thread_, o);
    }

    gpu::Float increment(gpu::Float now, gpu::Float v, const std::vector<gpu::Float> &of_row) {
        const Param<float> of_now("now"), of_v("v");
        ExpressionScope scope{.u32 = {}, .f32 = {{"now", now}, {"v", v}}, .read = {}};
        std::vector<Expr> keys;
        for (size_t n = 1; n < of_row.size(); n++) {
            const std::string name = "key_" + std::to_string(n);
            keys.emplace_back(Param<float>(name));
            scope.f32[name] = of_row[n];
        }
        return written_value(p_, update_.increment(of_now, of_v, keys), scope);
    }

    void write_o(gpu::Uint first, gpu::Uint count) {
        for (uint32_t begin = 0; begin < together_ * tile_; begin += threads_) {
            const gpu::Uint index = thread_ + begin, t = index >> gpu::log2_of(tile_),
                            lane = index & (tile_ - 1);
            p_.when(t < count, [&] {
                gpu::Float o = p_.f32(0);
                for (uint32_t part = 0; part < extent(parts_.count); part++)
                    o = o + p_.load_shared(t * threads_ + lane + part * tile_);
                p_.store(o_, (first + t) * extent(a_.width) + of_row_ + lane, o);
            });
        }
    }

    const MatrixState a_;
    const MatrixUpdate update_;
    const Parts parts_;
    const uint32_t tile_, threads_, rows_, state_rows_;
    uint32_t together_ = 1, values_ = 0; // rows of time; where the values lie in shared memory
    gpu::Program p_;
    std::vector<Operand> operands_; // queries, then keys
    gpu::Memory v_, high_, low_, o_;
    gpu::Uint thread_, lane_, part_, head_, of_row_;
};

void scan(KernelBuilder &k, const MatrixState &a, const MatrixUpdate &update) {
    k.exact_sums = true;
    if (!fits_registers(a, k.target)) return scan_in_memory(k, a, update);
    Func y("scan"); // the types: the kernel computes the values
    y(a.c, a.i, a.t, a.s, a.h) = Tuple(undef<float>(), undef<float>(), undef<float>());
    declare_outputs(k, a, y);
    k.written = [&k, a, update] { return RegisterScan(k, a, update).run(); };
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
