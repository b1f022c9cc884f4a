// Float64 in memory for GPUs that compute in float32 and int32 alone. States and counts of rows are
// float64 on every device, so that a stream moves from one to another; a GPU takes them apart into
// two words each. The sums carry what they lose, so a driver must not contract them: the schedule sets
// KernelBuilder::exact_sums.
#pragma once
#include "schedules/gpu/program.h"

namespace longwave::gpu {

// A sum of two float32: high is the sum rounded, so |low| is at most half of its last place.
struct TwoFloats {
    Float high, low;
};

// Their sum exactly. `quick_two_sum` needs |a| ≥ |b| or a = 0.
TwoFloats two_sum(Float a, Float b);
TwoFloats quick_two_sum(Float a, Float b);
// a·b exactly, without a fused multiply-add, which not every driver has.
TwoFloats two_product(Float a, Float b);
TwoFloats select(Bool condition, const TwoFloats &a, const TwoFloats &b);

// The float64 to within 2^-48 of itself. What is below 2^-74 is zero; NaN and infinity stay.
TwoFloats read_float64(const WordPair &words);
// Rounds to 46 bits behind the first one, so that write_float64 and read_float64 give exactly this
// pair back: a state that goes through it after every row is the same however calls are cut.
TwoFloats rounded(const TwoFloats &value);
// Of a rounded value.
WordPair write_float64(const TwoFloats &value);

// Two registers that hold such a value.
struct TwoRegisters {
    Register high, low;
};
TwoRegisters keep(const TwoFloats &initial);
TwoFloats get(Program &program, const TwoRegisters &from);
void set(const TwoRegisters &to, const TwoFloats &value);

// A whole number from 0 to 2^53, as counts of rows are, and back.
WordPair read_count(const WordPair &float64);
WordPair write_count(const WordPair &count);
WordPair moved_on(const WordPair &count, Uint rows);
WordPair moved_back(const WordPair &count, uint32_t rows); // by no more than there are
Uint count_modulo(const WordPair &count, uint32_t period); // of at most 2^24
Bool count_is_below(const WordPair &count, uint32_t limit);
Float count_as_float(const WordPair &count);

} // namespace longwave::gpu
