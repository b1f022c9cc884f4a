// Divisions by constants, without the upper half of a 64-bit product that Halide takes for them:
// few graphics processors compute in 64 bits.
#pragma once
#include <Halide.h>

namespace longwave::schedules {

// A lowering pass: what divides an int32 by a constant that is not a power of two does it in int32
// and float32, exactly and rounding down, for every dividend.
class NarrowDivisions : public Halide::Internal::IRMutator {
    using Halide::Internal::IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Div *op) override;
    Halide::Expr visit(const Halide::Internal::Mod *op) override;
};

} // namespace longwave::schedules
