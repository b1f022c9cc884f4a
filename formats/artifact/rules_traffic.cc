// V14, second half: what the steps of a block move, in bytes. What a kernel computes is its own
// affair, but how often it is called over how much memory is the plan's, and a plan of few bytes
// must not make a block, or opening, take seconds.
#include "formats/artifact/rules.h"
#include "formats/artifact/spans.h"
#include <algorithm>

namespace longwave::artifact {
namespace {

// What one call reads and writes of an argument: its elements, or the bytes they lie in where a
// stride of 0 has many of them in one place.
uint64_t argument_bytes(const fb::KernelArg &arg) {
    uint64_t elements = 1, span = 0; // V7: at most 2^38 elements
    for (uint32_t d = 0; d < count(arg.dims()); ++d) elements *= arg.dims()->Get(d)->extent();
    return span_bytes(arg, &span) ? std::min(span, elements * bytes_of(elem_of(arg.elem()))) : 0;
}

uint64_t call_bytes(const fb::Kernel &kernel) {
    uint64_t bytes = 0; // V6, V7: at most 64 arguments of 2^41 bytes
    for (const fb::KernelArg *arg : *kernel.args())
        if (arg->kind() != fb::ArgKind::scalar) bytes += argument_bytes(*arg);
    return std::max(bytes, cap::call);
}

using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::Step>>;

// Everything the steps of a list may touch. Prepare works for what it leaves behind: its arena does
// not count.
uint64_t memory_of(const fb::Plan &plan, const fb::Entry &entry) {
    uint64_t bytes = plan.weights_bytes() + plan.derived_bytes(); // V7: each at most 2^40
    if (entry.kind() == fb::EntryKind::prepare) return bytes;
    if (entry.kind() == fb::EntryKind::stream) bytes += plan.state_bytes();
    return bytes + entry.cache_bytes() + entry.arena_bytes();
}

// All steps as if they fired in one block; those of a rebuild once, for each block that it runs
// again.
Broken traffic_of(const fb::Plan &plan, const fb::Entry &entry, const Steps *steps) {
    uint64_t moved = 0;
    for (uint32_t i = 0; i < count(steps); ++i) {
        const fb::Step &step = *steps->Get(i);
        uint64_t bytes = step.kind() == fb::StepKind::call ? call_bytes(*plan.kernels()->Get(step.kernel()))
                                                           : cleared_bytes(step);
        if (!checked::mul(bytes, step.tiles(), &bytes) || !checked::add(moved, bytes, &moved))
            return broken(14, "bytes that steps move overflow: step", i);
    }
    const uint64_t memories = entry.kind() == fb::EntryKind::prepare
                                  ? cap::prepare_memories
                                  : cap::moved_memories + uint64_t{entry.block()};
    uint64_t limit = 0; // V6, V7: at most 2^43 times 2^24 + 32
    if (!checked::mul(memory_of(plan, entry), memories, &limit) ||
        !checked::add(limit, cap::step_moves * count(steps), &limit))
        limit = ~uint64_t{0};
    if (moved > limit)
        return broken(14, "steps move more in a block than is in proportion to its memory: bytes, limit",
                      moved, limit);
    return {};
}

} // namespace

Broken v14_traffic(const Subject &s) {
    for (const fb::Entry *entry : *s.plan->entries())
        for (const Steps *steps : {entry->steps(), entry->rebuild()})
            if (Broken b = traffic_of(*s.plan, *entry, steps)) return b;
    return {};
}

} // namespace longwave::artifact
