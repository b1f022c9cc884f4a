// The inner loops of the largest reference loops, in float64. Each sum is taken in the order of its
// definition, with every product and every addition rounded, whatever vectors the CPU has: golden
// vectors are the same bytes wherever they are made.
#pragma once
#include <cstddef>

namespace longwave::ir {

inline constexpr size_t sums_together = 16;

// sums[t] += Σ_{i < n} weights[i] · x[i·sums_together + t], i from 0 on.
void add_products(const double *weights, const double *x, size_t n, double *sums);

// y[j] += k[j] · x, j < n
void add_scaled(const double *k, double x, size_t n, double *y);

} // namespace longwave::ir
