// Rows that a stream waits for, as input ticks.
#pragma once
#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <vector>

namespace longwave::ir {

// The least number of rows, at least `rows`, that come in whole input ticks: a value of several rows a tick
// cannot come a part of a tick late.
inline uint32_t in_whole_ticks(uint32_t rows, const Clock &clock) {
    while (uint64_t{rows} * clock.den % clock.num) ++rows;
    return rows;
}

// Of rows that come in whole ticks.
inline uint32_t ticks_of_rows(uint32_t rows, const Clock &clock) {
    return static_cast<uint32_t>(uint64_t{rows} * clock.den / clock.num);
}

// `inputs`: rows, and a kernel [out, in, time, frequency] with the newest row last, which reaches `ahead`
// rows after its own. Gives the kernel zeros behind its newest row, so that it reaches whole ticks, and says
// how many rows these are. Fault::input: the kernel is not a constant.
Expected<uint32_t> reach_whole_ticks(Builder &to, std::vector<ValueId> &inputs, uint32_t ahead);

} // namespace longwave::ir
