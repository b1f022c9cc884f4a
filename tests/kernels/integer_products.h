// What the tests of linear kernels that multiply integers share: shapes, weights that storing does
// not change, rows, and the cases that hold for every format of weights.
#pragma once
#include "schedules/contract/panels.h"
#include "tests/kernels/check.h"

namespace longwave::test {

struct LinearShape {
    int in, out, rows;
    bool bias = false, glu = false;
};

using WeightMatrix = std::vector<std::vector<double>>; // rows of values, then those of gates

struct IntegerProducts {
    const char *weights; // in a specification: "int8"
    schedules::WeightFormat format;
    // Random whole steps of the scales of the format: storing them changes nothing.
    WeightMatrix (*random)(const LinearShape &s, uint32_t seed);
    int (*sums)(int in);     // float32 sums that make an output, for the limit of exact()
    double float32_rounding; // of an output of any rows, relative to the sum of its terms
    const char *activations = "int16";
    int steps = 1 << 13; // of exact(): a power of two, so that whole steps are float32 numbers
    int most_steps = schedules::most_activation_steps;
    int together = 0; // inputs that have a unit of their own; 0: a row has one

    std::string spec_of(const LinearShape &s) const;
    schedules::PackedPanels packed(const LinearShape &s, const WeightMatrix &matrix) const;
    // Weights, scales and the number of steps of an activation.
    void put(Kernel &k, const LinearShape &s, const WeightMatrix &matrix, int of_activations) const;

    // Rows of whole steps against float64 sums.
    Case exact(const LinearShape &s) const;
    // The largest sums: all activations at their peak. `tolerance`: relative L2 error.
    Case largest(const LinearShape &s, const WeightMatrix &matrix, int of_activations,
                 double tolerance) const;
    // Any rows: each output within half a step of each activation, plus what float32 rounds.
    Case within_half_a_step(const LinearShape &s, const std::vector<int> &steps_of_activations) const;
    // A row has the same bits whatever rows are computed beside it.
    void check_bits_of_a_row() const;
    // Zeros, tiny numbers, and rows that are not finite.
    void check_edges() const;
};

template <class X> double dot(const WeightMatrix &matrix, int output, const X &x) {
    const std::vector<double> &row = matrix[static_cast<size_t>(output)];
    double sum = 0;
    for (size_t i = 0; i < row.size(); i++) sum += row[i] * x(static_cast<int>(i));
    return sum;
}

// No GPU has such a kernel; kernels_gpu_refusal checks what it says.
void run_on_cpus(const std::vector<Case> &cases);

} // namespace longwave::test
