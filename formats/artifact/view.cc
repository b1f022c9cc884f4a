#include "formats/artifact/view.h"
#include "formats/artifact/text.h"

namespace longwave::artifact {

Bytes View::segment(uint32_t index) const {
    const fb::Segment &segment = *plan_->segments()->Get(index);
    return {file_ + segment.offset(), segment.size()};
}

static Bytes of_kind(const View &view, fb::SegmentKind kind) {
    const auto &segments = *view.plan().segments();
    for (uint32_t i = 0; i < segments.size(); ++i)
        if (segments.Get(i)->kind() == kind) return view.segment(i);
    return {};
}

Bytes View::weights() const { return of_kind(*this, fb::SegmentKind::weights); }
Bytes View::golden() const { return of_kind(*this, fb::SegmentKind::golden); }

const fb::Entry *View::entry(fb::EntryKind kind, uint32_t index) const {
    for (const fb::Entry *entry : *plan_->entries())
        if (entry->kind() == kind && index-- == 0) return entry;
    return nullptr;
}

uint32_t View::entries(fb::EntryKind kind) const {
    uint32_t n = 0;
    for (const fb::Entry *entry : *plan_->entries()) n += entry->kind() == kind;
    return n;
}

const fb::CodeVariant *View::variant(uint16_t machine, uint64_t features, const char *name) const {
    const fb::CodeVariant *best = nullptr;
    for (const fb::CodeVariant *variant : *plan_->variants()) {
        if (variant->machine() != machine || (variant->features() & ~features) != 0) continue;
        if (name && !equal(*variant->target(), name)) continue;
        if (!best || __builtin_popcountll(variant->features()) > __builtin_popcountll(best->features()))
            best = variant;
    }
    return best;
}

} // namespace longwave::artifact
