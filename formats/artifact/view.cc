#include "formats/artifact/view.h"
#include "formats/artifact/text.h"

namespace longwave::artifact {

View View::of_program(const uint8_t *file, const uint8_t *weights) {
    View view;
    view.header_ = reinterpret_cast<const Header *>(file);
    view.plan_ = fb::GetPlan(file + view.header_->plan_offset);
    view.file_ = file;
    view.weights_ = weights;
    return view;
}

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

Bytes View::weights() const {
    const Bytes in_file = of_kind(*this, fb::SegmentKind::weights);
    return weights_ ? Bytes{weights_, in_file.size} : in_file;
}
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

// A loop: what compilers call for this is not in every program.
static uint32_t bits_of(uint64_t set) {
    uint32_t n = 0;
    for (; set; set &= set - 1) ++n;
    return n;
}

const fb::CodeVariant *View::variant(uint16_t machine, uint64_t features, const char *name) const {
    const fb::CodeVariant *best = nullptr;
    for (const fb::CodeVariant *variant : *plan_->variants()) {
        if (variant->machine() != machine || (variant->features() & ~features) != 0) continue;
        if (name && !equal(*variant->target(), name)) continue;
        if (!best || bits_of(variant->features()) > bits_of(best->features())) best = variant;
    }
    return best;
}

} // namespace longwave::artifact
