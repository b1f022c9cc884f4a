#include "runtime/core/model.h"

namespace longwave::runtime {

bool runs(const lw_model &model, const fb::Entry &entry) {
    return planned_for(entry, fb::EntryKind::run, model.device->kind);
}

const fb::Entry *largest_run(const lw_model &model) {
    const fb::Entry *largest = nullptr;
    for (const fb::Entry *entry : *model.plan().entries())
        if (runs(model, *entry) && (!largest || entry->block() > largest->block())) largest = entry;
    return largest;
}

} // namespace longwave::runtime
