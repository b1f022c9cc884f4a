// SGConv's multi-scale kernels in index form (Li et al. 2022), in float64. Shared by the references
// of sgconv_kernel and expand_scales.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::ir {

// Scale i stretches its kernel_dim weights by s_i and begins at offset o_i. The scales follow each
// other in mode `cat` and all begin at 0 in mode `sum`.
struct MultiScale {
    uint32_t kernel_dim = 1, num_scales = 1, init_scale = 0;
    bool sum = false, nearest = false;

    uint64_t stretch(uint32_t i) const { return uint64_t{1} << (init_scale + (sum ? i : i > 0 ? i - 1 : 0)); }
    uint64_t offset(uint32_t i) const {
        return sum || i == 0 ? 0 : uint64_t{kernel_dim} << (i - 1 + init_scale);
    }
    uint64_t taps() const { return uint64_t{kernel_dim} << (num_scales - 1 + init_scale); } // K
};

// Whether int8 numbers of so many kernels of so many channels fill words of four. Both sides of one
// kernel of one channel do not.
constexpr bool fills_words(uint32_t kernels, uint32_t channels) { return channels > 1 || kernels > 2; }

// Parses a mode string such as "cat_randn_nearest_trunc". The words of the initialisation (randn,
// cos, decay, fixed) have no effect here.
struct KernelMode {
    bool cat = false, sum = false, nearest = false, learnable = false, trunc = false, expand = false;
    static KernelMode parse(const std::string &mode);
    bool resizes() const { return trunc || expand; }
};

// Adds gain × scale i of weights w[kernel_dim] to k[taps]; taps beyond the end are cut.
void add_scale(const MultiScale &scales, uint32_t i, const double *w, double gain, double *k, size_t taps);

// Resamples n values to `size`, as torch does with align_corners = False.
std::vector<double> resize(const std::vector<double> &values, size_t size, bool nearest);

// The L2 norm of each full kernel, [C',H]: the value of kernel_norm after the first forward pass.
// For weights that never ran (kernel_norm_initialized is 0). lists[i] is [C',H,kernel_dim]; growth
// and decay are [H], as in sgconv_kernel.
std::vector<double> first_forward_norm(const MultiScale &scales, bool learnable,
                                       const std::vector<std::vector<double>> &lists,
                                       const std::vector<double> &growth, const std::vector<double> &decay);

} // namespace longwave::ir
