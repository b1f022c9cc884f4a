#include "compiler/ops/support/sums.h"

// A copy for CPUs with wider vectors, chosen when the program is loaded: too early for a sanitizer.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&     \
    !defined(__SANITIZE_THREAD__)
#define LW_ALSO_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define LW_ALSO_AVX2
#endif

namespace longwave::ir {

namespace {

using Four = double __attribute__((vector_size(32)));
using FourAnywhere = double __attribute__((vector_size(32), aligned(8), may_alias)); // in memory

constexpr size_t lanes = 4;
static_assert(sums_together == 4 * lanes);

const FourAnywhere *fours(const double *x) { return reinterpret_cast<const FourAnywhere *>(x); }
FourAnywhere *fours(double *x) { return reinterpret_cast<FourAnywhere *>(x); }

} // namespace

LW_ALSO_AVX2 void add_products(const double *weights, const double *x, size_t n, double *sums) {
    FourAnywhere *const out = fours(sums);
    Four a = out[0], b = out[1], c = out[2], d = out[3];
    for (size_t i = 0; i < n; i++) {
        const FourAnywhere *const row = fours(x + i * sums_together);
        const double weight = weights[i];
        a += weight * row[0];
        b += weight * row[1];
        c += weight * row[2];
        d += weight * row[3];
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

LW_ALSO_AVX2 void add_scaled(const double *k, double x, size_t n, double *y) {
    size_t j = 0;
    for (; j + lanes <= n; j += lanes) *fours(y + j) += *fours(k + j) * x;
    for (; j < n; j++) y[j] += k[j] * x;
}

} // namespace longwave::ir
