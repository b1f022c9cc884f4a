// Transfers between the CPU and the device of a mixed run: each buffer that one of them needs and
// the other wrote, before the device segment that needs it.
#pragma once
#include "compiler/plan/entry_plan.h"
#include <set>
#include <vector>

namespace longwave::compiler {

// Steps [first, last): the longest range that one device computes.
struct DeviceSegment {
    size_t first = 0, last = 0;
    bool cpu = false;
};
std::vector<DeviceSegment> device_segments(const std::vector<Step> &steps);

// Buffers of the entry's own arena that steps use, and those of them that the steps write.
struct Touched {
    std::vector<BufferId> all;
    std::set<BufferId> written;
    void add(const Step &step);
};

// Adds the transfers to a mixed run. Changes nothing when the CPU computes no step. Inputs and
// outputs lie in the CPU's arena. A transfer copies a complete buffer, once per write, and only
// where it is read. A step whose outputs are not known (Step::writes) counts as writing every
// buffer that it uses.
void add_transfers(EntryPlan &plan);

} // namespace longwave::compiler
