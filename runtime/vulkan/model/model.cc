#include "runtime/vulkan/model/model.h"
#include "formats/artifact/geometry.h"

namespace longwave::runtime::vulkan {
namespace {

using artifact::count;

constexpr uint64_t most_alignment = 256; // of minStorageBufferOffsetAlignment (Vulkan 1.1, table of limits)

// Widens the range by what the step reads of the space.
void include(const fb::Plan &plan, const fb::Step &step, fb::Space space, uint64_t *begin, uint64_t *end) {
    for (uint32_t a = 0; a < count(step.args()); ++a) {
        const fb::Place *place = step.args()->Get(a)->place();
        if (!place || place->space() != space) continue;
        uint64_t span = 0;
        (void)artifact::span_bytes(*plan.kernels()->Get(step.kernel())->args()->Get(a), &span); // V7
        const uint64_t last = place->offset() + span + uint64_t{place->slots() - 1} * place->slot_bytes();
        if (place->offset() < *begin) *begin = place->offset();
        if (last > *end) *end = last;
    }
}

} // namespace

Range range_read(const fb::Plan &plan, fb::Space space) {
    uint64_t begin = UINT64_MAX, end = 0;
    for (const fb::Entry *entry : *plan.entries())
        for (const auto *steps : {entry->steps(), entry->rebuild()})
            for (uint32_t i = 0; of_gpu(*entry) && i < count(steps); ++i)
                if (steps->Get(i)->kind() == fb::StepKind::call && !steps->Get(i)->cpu())
                    include(plan, *steps->Get(i), space, &begin, &end);
    if (end == 0) return {};
    begin -= begin % most_alignment;
    return {begin, end - begin};
}

lw_status fill_table(const Gpu &gpu, const Range &range, const uint8_t *space, const char *what,
                     DeviceTable *table) {
    table->begin = range.begin;
    if (lw_status status = table->memory.create(gpu, range.bytes, DeviceBuffer::Where::device, what))
        return status;
    return upload(gpu, space + range.begin, range.bytes, table->memory);
}

} // namespace longwave::runtime::vulkan
