// The inner loops of the most expensive references, in float64. Each sum keeps the order of its
// definition and rounds every product and every addition. So golden vectors are the same bytes on
// every CPU.
#pragma once
#include <cstddef>

namespace longwave::ir {

inline constexpr size_t sums_together = 16;

// sums[t] += Σ_{i < n} weights[i] · x[i·sums_together + t], i from 0 on.
void add_products(const double *weights, const double *x, size_t n, double *sums);

// y[j] += k[j] · x, j < n
void add_scaled(const double *k, double x, size_t n, double *y);

} // namespace longwave::ir
