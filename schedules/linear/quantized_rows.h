// Activations as integers, the same for all outputs. Each row, or each group of neighbours in a
// row, is in whole steps. Its largest magnitude has a given number of them.
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

class QuantizedRows {
public:
    // `most_steps`: of the largest magnitude of a row or group; a float that is whole and at most
    // 32,767. `together`: inputs of a group; 0: a row is one group.
    QuantizedRows(const Product &product, const Halide::Expr &most_steps, int together = 0);

    // By input of a group. int16.
    Halide::Expr steps(const Halide::Expr &input, const Halide::Expr &row,
                       const Halide::Expr &group = 0) const {
        return steps_(input, group, row);
    }
    // The same as two digits (int8): 256 · digit 1 + digit 0. Digit 0 of at most 127 steps is all.
    Halide::Expr digit(const Halide::Expr &which, const Halide::Expr &input, const Halide::Expr &row,
                       const Halide::Expr &group = 0) const {
        return digits_(input, which, group, row);
    }
    // Of a digit, over all inputs of a row that is one group.
    Halide::Expr digit_sum(const Halide::Expr &which, const Halide::Expr &row) const {
        return digit_sum_(which, row);
    }
    // What a step stands for. Not finite where the row or group is not.
    Halide::Expr unit(const Halide::Expr &row, const Halide::Expr &group = 0) const {
        return unit_(group, row);
    }

    // All rows, before anything else. `digits`: how many of them are read; 0: whole steps are.
    // `sums`: whether digit_sum is read.
    void schedule(int natural, int digits = 0, bool sums = false);

private:
    int inputs_of_group() const { return together_ ? together_ : p_.inputs(); }

    const Product &p_;
    const int together_, groups_, vec_;
    Halide::Var i{"i"}, d{"d"}, l{"l"}, g{"g"}, r{"r"};
    Halide::Func peaks_{"peaks"}, peak_{"peak"}, unit_{"unit"}, inverse_{"inverse"}, steps_{"steps"},
        digits_{"digits"}, digit_sums_{"digit_sums"}, digit_sum_{"digit_sum"};
};

} // namespace longwave::schedules
