// The sixteen phases of a sequence in the lanes: u_v[p] = u[16·p + v]. A level of a right-angle
// transform (twiddles.h) has the same twiddles for all values of a block, so the outer levels of a
// transform of 16·M points are those of M rows whose lanes are the phases, as if they were
// channels. What is left of block q is a polynomial of sixteen coefficients, one a lane, mod (z^16
// − c_q): two levels of four across the lanes.
//
// Four blocks, a group, go through these together: 64 values with three digits of four each, those
// of the phase v = 4·k + w and the block r. Butterflies run over the digit that counts registers; a
// store that interleaves four registers puts the next one there:
//     r | k w  →  k | w r  →  w | r k'  =  j' | r k'      (register | lane, of a value 16·register + lane)
// The spectrum lies as the last form has it: group after group, 16·j' + 4·r + k'.
#pragma once
#include "schedules/contract/twiddles.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

class Polyphase {
public:
    static constexpr int phases = 16, values = 4 * phases; // of a group
    using Values = std::function<Complex(const Halide::Expr &value)>;

    // `rows` is the transform of M rows; its last level is one of four. `table` reads a value of
    // polyphase_twiddles(16·M).
    // `vectors`: false where the CPU has none of the type.
    Polyphase(RightAngle rows, Halide::Type type, std::function<Halide::Expr(const Halide::Expr &)> table,
              bool vectors = true);

    // Where a step computes: its Func has the arguments (value, g, rest…), or (value, part, g,
    // rest…).
    struct Group {
        Halide::Var g;
        Halide::Expr index; // of the group in the whole transform
        std::vector<Halide::Var> rest;
    };
    struct Step {
        Halide::Func f;
        bool parts = false; // a dimension of it; else pairs
        // What it has for a group of its own arguments, or at other ones, g first.
        Values values(std::vector<Halide::Expr> at = {}) const;
    };
    // There: the blocks as the last level of the rows leaves them (row r of a lane v), then the two
    // levels.
    using Blocks = std::function<std::vector<Complex>(const Halide::Expr &phase)>;
    Step interleaved(const Group &group, const Blocks &blocks) const; // 4·v + r
    Step halfway(const Group &group, const Values &interleaved) const;
    Step spectrum(const Group &group, const Values &halfway) const;
    // And back. Behind the last level a transposition has row r of a lane at 16·r + v.
    Step product(const Group &group, const Values &halfway, const Values &kernel) const;
    Step product_of(const Group &group, const Values &spectrum, const Values &kernel) const;
    Step phases_of(const Group &group, const Values &transposed) const;
    // Undoes what a store that interleaves does. By itself, in registers: as a part of the next
    // step Halide would compute that with four times the lanes, and drop three of them.
    Step transposed(const Group &group, const Values &interleaved) const;

private:
    struct Registers {
        std::vector<Complex> x;
        std::vector<Halide::Expr> at;
    };
    Step step(const char *name, const Group &group, bool parts,
              const std::function<Registers(const Halide::Expr &lane)> &body) const;
    RightAngle inner(const Group &group, int level, const Halide::Expr &lane) const;

    RightAngle rows_;
    int last_, groups_; // level of the rows
    Halide::Type type_;
    bool vectors_;
    std::function<Halide::Expr(const Halide::Expr &)> table_;
};

} // namespace longwave::schedules
