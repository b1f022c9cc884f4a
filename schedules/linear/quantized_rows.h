// Activations as integers: each row in whole steps, so many of its largest magnitude, the same for
// all outputs.
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

class QuantizedRows {
public:
    // `most_steps`: of the largest magnitude of a row; a float that is whole and at most 32,767.
    QuantizedRows(const Product &product, const Halide::Expr &most_steps);

    Halide::Expr steps(const Halide::Expr &input, const Halide::Expr &row) const { return steps_(input, row); } // int16
    // The same as two digits (int8): 256 · digit 1 + digit 0.
    Halide::Expr digit(const Halide::Expr &which, const Halide::Expr &input, const Halide::Expr &row) const {
        return digits_(input, which, row);
    }
    // What a step stands for. Not finite where the row is not.
    Halide::Expr unit(const Halide::Expr &row) const { return unit_(row); }

    // All rows, before anything else.
    void schedule(int lanes, bool digits = false);

private:
    const Product &p_;
    int vec_;
    Halide::Var i{"i"}, d{"d"}, l{"l"}, r{"r"};
    Halide::Func peaks_{"peaks"}, peak_{"peak"}, unit_{"unit"}, inverse_{"inverse"}, steps_{"steps"}, digits_{"digits"};
};

} // namespace longwave::schedules
