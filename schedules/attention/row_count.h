// How many rows a stream has had, for kernels whose result depends on it: a float64, exact up to
// 2^53 rows.
#pragma once
#include "schedules/halide/builder.h"
#include "schedules/halide/count_words.h"

namespace longwave::schedules {

// With the param `counts` 1 (the default) the state `count` [1]: the rows before this call's, and the
// call moves it on. With 0 the input `count_so_far` [1], which another kernel, `count_rows`, has moved
// on before this one: on a gpu a call is one dispatch, and no dispatch can write what all
// of its workgroups read.
class RowCount {
public:
    // Declares the input, where it is one, behind those before it.
    RowCount(KernelBuilder &k, int rows, bool counts, const contract::Names::Input &so_far,
             contract::Names::State count)
        : k_(k), moves_(counts), name_(std::move(count)) {
        using namespace Halide;
        k.params.require(!moves_ || k.target.kind != targets::Kind::gpu,
                         "'counts' must be 0 on a gpu, where 'count_rows' moves the count on");
        if (moves_) {
            count_(Var()) = undef<double>();
            count_(0) += cast<double>(rows);
        } else if (k.target.kind == targets::Kind::gpu) {
            given_ = k.input_words(so_far, dense({1}));
        } else {
            given_ = k.input(so_far, dense({1}), Float(64));
        }
    }
    // With this call's rows.
    Halide::Expr now() const { return moves_ ? Halide::Expr(count_(0)) : Halide::Expr(given_(0)); }
    // The same on a gpu, where it is not a float64.
    WordPair words() const { return read_count({given_(0, 0), given_(1, 0)}); }
    // The rows before this call's, at most `most`, on any device. `rows`: those of the call.
    Halide::Expr before(int rows, int most) const {
        using namespace Halide;
        if (k_.target.kind != targets::Kind::gpu)
            return cast<int>(min(now() - cast<double>(rows), cast<double>(most)));
        const WordPair number = moved_back(words(), rows);
        return select(count_is_below(number, most), cast<int>(number.low), most);
    }
    // Behind the other outputs.
    void output() {
        if (moves_) k_.in_place(count_, name_, dense({1}));
    }

private:
    KernelBuilder &k_;
    bool moves_;
    contract::Names::State name_;
    Halide::Func count_{"count"};
    Halide::ImageParam given_;
};

} // namespace longwave::schedules
