// Read access to a verified artifact. verify() fills a View in: whoever holds one may follow every
// index, offset and size in it without checking.
#pragma once
#include "formats/artifact/header.h"
#include "formats/artifact/schema.h"
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

struct Bytes {
    const uint8_t *data = nullptr;
    uint64_t size = 0;
};

class View {
public:
    View() = default; // empty: `if (view)` is false

    // Bytes that the program contains (static_model.h): they were verified when they were made.
    // `weights`: where those are, if not in the file.
    static View of_program(const uint8_t *file, const uint8_t *weights = nullptr);

    explicit operator bool() const { return plan_ != nullptr; }
    const Header &header() const { return *header_; }
    const fb::Plan &plan() const { return *plan_; }

    Bytes segment(uint32_t index) const;
    Bytes weights() const; // empty when the plan has none
    Bytes golden() const;  // empty when the plan has none

    // The i-th entry of its kind, in the plan's order, or null when there are not so many. Stream 0
    // is the default one.
    const fb::Entry *prepare() const { return entry(fb::EntryKind::prepare, 0); }
    const fb::Entry *stream(uint32_t i = 0) const { return entry(fb::EntryKind::stream, i); }
    const fb::Entry *run(uint32_t i = 0) const { return entry(fb::EntryKind::run, i); }
    uint32_t streams() const { return entries(fb::EntryKind::stream); }
    uint32_t runs() const { return entries(fb::EntryKind::run); }

    // The variant this CPU should run: of those whose features it has, the one that needs most.
    // With a name: that variant, if it may run here. Null when there is none.
    const fb::CodeVariant *variant(uint16_t machine, uint64_t features, const char *name = nullptr) const;

private:
    friend class Verifier;
    const fb::Entry *entry(fb::EntryKind kind, uint32_t index) const;
    uint32_t entries(fb::EntryKind kind) const;

    const Header *header_ = nullptr;
    const fb::Plan *plan_ = nullptr;
    const uint8_t *file_ = nullptr, *weights_ = nullptr;
};

} // namespace longwave::artifact
