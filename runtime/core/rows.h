// Which rows of an output exist: the arithmetic of clocks and delays, apart from any memory.
//
// Firing f of an output happens in block b = f·period + phase and brings rows n = f·rows … f·rows +
// rows − 1 of its clock. When it fires, (b + 1)·block ticks are in; row r is exact once (r +
// 1)·den/num + delay ticks are. So the first `lead` rows that come out are start-up and are never
// shown:
//     lead = ⌈((period − 1 − phase)·block + delay)·num/den⌉
// and row n of the clock is row r = n − lead of the output. A finished sequence of t ticks has
// floor((t − t mod whole)·num/den) rows, as a whole run has: later ones would stand for input that never
// came. To bring out the last of them a finished stream runs on with zeros, which is what a whole sequence
// has behind its end.
//
// Where an artifact has several stream entries, an output fires in the last block of its period
// (phase = period − 1) and no later than its clock allows: when a row's ticks are in, it comes out,
// whichever entry ran. So period·block is the same number of ticks for all entries that are
// shorter, `lead` is the same for all, and rows are numbered alike.
#pragma once
#include "formats/artifact/schema.h"
#include "formats/base/checked.h"
#include <cstdint>

namespace longwave::runtime {

struct Rows {
    uint64_t period, phase, rows, lead, num, den, delay, whole;

    Rows(const fb::OutputPort &port, uint64_t block)
        : period(port.period()), phase(port.phase()), rows(port.rows()),
          lead(start_up((port.period() - 1 - port.phase()) * block + port.delay(), port.clock_num(),
                        port.clock_den())),
          num(port.clock_num()), den(port.clock_den()), delay(port.delay()), whole(port.whole()) {}

    // ⌊(ticks·num + add)/den⌋, exact although the product may need more than 64 bits: num, den and
    // add are below 2^32.
    static uint64_t scaled(uint64_t ticks, uint64_t num, uint64_t den, uint64_t add) {
        return ticks / den * num + (ticks % den * num + add) / den;
    }
    static uint64_t start_up(uint64_t ticks, uint64_t num, uint64_t den) {
        return scaled(ticks, num, den, den - 1);
    }
    bool fires(uint64_t block) const { return block % period == phase; }

    // Rows of a sequence of `ticks` ticks.
    uint64_t valid(uint64_t ticks) const { return scaled(ticks - ticks % whole, num, den, 0); }
    // Whether the rows of so many ticks can be numbered, with some to spare.
    bool countable(uint64_t ticks) const {
        uint64_t hops, all;
        return checked::mul(ticks / den, num, &hops) && checked::add(hops, ticks % den * num / den, &all) &&
               all >> 62 == 0;
    }
    // Blocks to run until the last of `valid` rows is out.
    uint64_t blocks_for(uint64_t valid_rows) const {
        return valid_rows == 0 ? 0 : (valid_rows - 1 + lead) / rows * period + phase + 1;
    }
    // Input ticks that row r needs.
    uint64_t end(uint64_t row) const {
        if (num == 1) return (row + 1) * den + delay; // most outputs: without a division
        return scaled(row + 1, den, num, num - 1) + delay;
    }
};

} // namespace longwave::runtime
