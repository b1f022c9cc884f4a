// The value of a step's scalars in one firing, the same on every device.
#pragma once
#include "runtime/core/device.h"
#include "runtime/core/rows.h"

namespace longwave::runtime {

inline int32_t evaluate(const fb::Scalar &scalar, uint64_t firing, uint32_t tile, const Extent &extent) {
    switch (scalar.kind()) {
    case fb::ScalarKind::constant: break;
    case fb::ScalarKind::slot: {
        const int64_t slot = static_cast<int64_t>((firing + scalar.add()) % scalar.modulus());
        return static_cast<int32_t>(slot * scalar.mul() + scalar.value() + int64_t{tile} * scalar.tile_mul());
    }
    case fb::ScalarKind::length:
    case fb::ScalarKind::rows: {
        uint64_t ticks = scalar.kind() == fb::ScalarKind::rows ? extent.rows : extent.lengths[scalar.add()];
        if (scalar.kind() == fb::ScalarKind::rows && scalar.add() > 1) ticks -= ticks % scalar.add();
        const int64_t rows =
            static_cast<int64_t>(ticks * static_cast<uint64_t>(scalar.mul()) / scalar.modulus()) -
            int64_t{tile} * scalar.tile_mul();
        return rows < 0 ? 0 : rows > scalar.value() ? scalar.value() : static_cast<int32_t>(rows);
    }
    case fb::ScalarKind::retired: return 0;
    }
    return scalar.value();
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
