// Counts of rows in memory for GPUs that compute in float32 and int32 alone, as expressions of Halide: a
// float64 as two words. Kernels that are written out have the same and more (gpu/float64_words.h).
#pragma once
#include <Halide.h>

namespace longwave::schedules {

struct WordPair {
    Halide::Expr low, high; // uint32
};

// A whole number from 0 to 2^53, from the words of its float64.
WordPair read_count(const WordPair &float64);
WordPair moved_on(const WordPair &count, const Halide::Expr &rows); // + rows ≥ 0
WordPair moved_back(const WordPair &count,
                    const Halide::Expr &rows); // − rows, which are no more than there are
// count modulo `period` ≤ 2^24.
Halide::Expr count_modulo(const WordPair &count, int period);
Halide::Expr count_is_below(const WordPair &count, const Halide::Expr &limit); // of an int32 limit

} // namespace longwave::schedules
