// Float64 in memory for GPUs that compute in float32 and int32 alone. States and counts of rows are
// float64 on every device, so that a stream moves from one to another; a GPU takes them apart into
// two words each.
//
// Expressions only: whoever uses one twice names it (ThreadProgram::let) or leaves that to the
// lowering.
#pragma once
#include <Halide.h>
#include <functional>

namespace longwave::schedules {

struct WordPair {
    Halide::Expr low, high; // uint32
};

// A sum of two float32: high is the sum rounded, so |low| is at most half of its last place.
struct TwoFloats {
    Halide::Expr high, low;
};

using Name = std::function<Halide::Expr(const Halide::Expr &)>; // computes a value once

// Their sum exactly. `quick_two_sum` needs |a| ≥ |b| or a = 0.
TwoFloats two_sum(const Name &name, const Halide::Expr &a, const Halide::Expr &b);
TwoFloats quick_two_sum(const Name &name, const Halide::Expr &a, const Halide::Expr &b);
// a·b exactly, without a fused multiply-add, which not every driver has.
TwoFloats two_product(const Name &name, const Halide::Expr &a, const Halide::Expr &b);

// The float64 to within 2^-48 of itself. What is below 2^-74 is zero; NaN and infinity stay.
TwoFloats read_float64(const Name &name, const WordPair &words);
// Rounds to 46 bits behind the first one, so that write_float64 and read_float64 give exactly this
// pair back: a state that goes through it after every row is the same however calls are cut.
TwoFloats rounded(const Name &name, const TwoFloats &value);
// Of a rounded value.
WordPair write_float64(const Name &name, const TwoFloats &value);

// A whole number from 0 to 2^53, as counts of rows are, and back.
WordPair read_count(const WordPair &float64);
WordPair write_count(const Name &name, const WordPair &count);
WordPair moved_on(const WordPair &count, const Halide::Expr &rows); // + rows ≥ 0
WordPair moved_back(const WordPair &count,
                    const Halide::Expr &rows); // − rows, which are no more than there are
// count modulo `period` ≤ 2^24.
Halide::Expr count_modulo(const WordPair &count, int period);
Halide::Expr count_is_below(const WordPair &count, const Halide::Expr &limit); // of an int32 limit
Halide::Expr count_as_float(const WordPair &count);

} // namespace longwave::schedules
