// The value of a step's scalars in one firing, the same on every device.
#pragma once
#include "runtime/core/device.h"
#include "runtime/core/rows.h"

namespace longwave::runtime {

inline int32_t evaluate(const fb::Scalar &scalar, uint64_t firing, uint32_t tile, const Extent &extent) {
    using Kind = fb::ScalarKind;
    const Kind which = scalar.kind();
    const int32_t value = scalar.value();
    const auto mul = static_cast<uint32_t>(scalar.mul()); // of rows it is not negative
    const int64_t of_tile = int64_t{tile} * scalar.tile_mul();
    if (which == Kind::constant) return value;
    if (which == Kind::retired) return 0;
    if (which == Kind::slot) {
        const auto slot = static_cast<int64_t>((firing + scalar.add()) % scalar.modulus());
        return static_cast<int32_t>(slot * scalar.mul() + value + of_tile);
    }
    int64_t rows;
    if (which == Kind::filled) {
        const auto most = static_cast<uint32_t>(value);
        rows = static_cast<int64_t>((firing < most ? firing : most) * mul + scalar.add()) + of_tile;
    } else {
        uint64_t ticks = which == Kind::rows ? extent.rows : extent.lengths[scalar.add()];
        if (which == Kind::rows && scalar.add() > 1) ticks -= ticks % scalar.add();
        rows = static_cast<int64_t>(ticks * mul / scalar.modulus()) - of_tile;
    }
    return rows < 0 ? 0 : rows > value ? value : static_cast<int32_t>(rows);
}

// zero_tail: the first row after a sequence of `ticks` ticks, at most all rows of the step.
inline uint64_t first_cleared_row(const fb::Step &step, uint64_t ticks) {
    const uint64_t from = (ticks - ticks % step.whole()) * step.mul() / step.den();
    return from < step.rows() ? from : step.rows();
}

// zero_tail: which rows of a firing belong to a sequence of `ticks` ticks.
struct SequenceRows {
    uint64_t begin, end;
    SequenceRows(const fb::Step &step, uint64_t firing, uint64_t ticks) {
        const uint64_t first = firing * step.rows(), lead = step.lead();
        begin = within(step, lead, first);
        const uint64_t after =
            ticks == endless ? endless
                             : lead + Rows::scaled(ticks - ticks % step.whole(), step.mul(), step.den(), 0);
        end = within(step, after, first);
    }

private:
    static uint64_t within(const fb::Step &step, uint64_t row, uint64_t first) {
        const uint64_t at = row > first ? row - first : 0;
        return at < step.rows() ? at : step.rows();
    }
};

} // namespace longwave::runtime
