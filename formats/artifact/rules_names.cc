// V16: names and documents.
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/text.h"
#include "formats/base/characters.h"

namespace longwave::artifact {
namespace {

enum class Text { name, path_like, document };

// Walks over every text of a plan once.
class Names {
public:
    explicit Names(const Subject &s) : plan_(*s.plan), left_(s.header->plan_bytes) {}

    Broken check() {
        if (Broken b = text(plan_.name(), Text::name, "name of the plan: -, byte", 0)) return b;
        if (plan_.name()->size() == 0) return broken(16, "the plan has no name");
        if (Broken b = text(plan_.producer(), Text::path_like, "producer: -, byte", 0)) return b;
        if (Broken b = text(plan_.report(), Text::document, "report: -, byte", 0)) return b;
        if (Broken b = text(plan_.certificates(), Text::document, "certificates: -, byte", 0)) return b;
        if (Broken b = lists()) return b;
        if (plan_.decision())
            if (Broken b = text(plan_.decision()->output(), Text::name, "output of the decision: -, byte", 0))
                return b;
        const fb::Entry *first[3] = {}; // of each kind; the others are held against its outputs (V13)
        for (const fb::Entry *entry : *plan_.entries()) {
            if (Broken b = entry_texts(*entry)) return b;
            const uint32_t kind = static_cast<uint32_t>(entry->kind());
            if (kind >= 3 || first[kind]) continue;
            first[kind] = entry;
            if (Broken b = distinct_outputs(*entry)) return b;
        }
        return {};
    }

private:
    // Tables may share a string: what all of them say together may not be longer than the plan.
    Broken text(const flatbuffers::String *string, Text kind, const char *what, uint64_t index) {
        if (!string) return {};
        const uint8_t *p = reinterpret_cast<const uint8_t *>(string->c_str());
        const uint64_t size = string->size();
        if (size > left_) return broken(16, "texts are longer in sum than the plan");
        left_ -= size;
        if (kind != Text::document && size > cap::name) return broken(16, what, index, size);
        for (uint64_t i = 0; i < size;) {
            const Character c = character_at(p + i, size - i);
            const bool layout = kind == Text::document && (c.code == '\n' || c.code == '\t');
            const bool path =
                (kind == Text::name && c.code == '/') || (kind != Text::document && c.code == '\\');
            if (c.bytes == 0 || (is_control(c.code) && !layout) || path) return broken(16, what, index, i);
            i += c.bytes;
        }
        return {};
    }

    Broken lists() {
        for (uint32_t i = 0; i < plan_.inputs()->size(); ++i)
            if (Broken b =
                    text(plan_.inputs()->Get(i)->name(), Text::name, "name of an input: input, byte", i))
                return b;
        for (uint32_t i = 0; i < count(plan_.labels()); ++i)
            if (Broken b = text(plan_.labels()->Get(i), Text::name, "label: label, byte", i)) return b;
        for (uint32_t i = 0; i < plan_.variants()->size(); ++i)
            if (Broken b = text(plan_.variants()->Get(i)->target(), Text::name,
                                "target of a code variant: variant, byte", i))
                return b;
        for (uint32_t i = 0; i < plan_.kernels()->size(); ++i)
            if (Broken b = text(plan_.kernels()->Get(i)->spec(), Text::document,
                                "specification of a kernel: kernel, byte", i))
                return b;
        for (uint32_t i = 0; i < count(plan_.scalars()); ++i) {
            const fb::HostScalar &scalar = *plan_.scalars()->Get(i);
            if (Broken b = text(scalar.name(), Text::name, "name of a scalar of the host: scalar, byte", i))
                return b;
            if (Broken b =
                    text(scalar.unit(), Text::path_like, "unit of a scalar of the host: scalar, byte", i))
                return b;
            for (uint32_t j = 0; j < i; ++j)
                if (equal(*scalar.name(), *plan_.scalars()->Get(j)->name()))
                    return broken(16, "two scalars of the host have one name: scalars", i, j);
        }
        for (uint32_t i = 0; i < count(plan_.state()); ++i) {
            const fb::StateField &field = *plan_.state()->Get(i);
            if (Broken b =
                    text(field.layer(), Text::path_like, "layer of a field of the state: field, byte", i))
                return b;
            if (Broken b = text(field.name(), Text::name, "name of a field of the state: field, byte", i))
                return b;
        }
        return {};
    }

    Broken entry_texts(const fb::Entry &entry) {
        if (Broken b = text(entry.fixed(), Text::path_like, "layer that fixes a length: -, byte", 0))
            return b;
        for (uint32_t i = 0; i < count(entry.outputs()); ++i)
            if (Broken b =
                    text(entry.outputs()->Get(i)->name(), Text::name, "name of an output: port, byte", i))
                return b;
        for (const auto *steps : {entry.steps(), entry.rebuild()})
            for (uint32_t i = 0; i < count(steps); ++i)
                if (Broken b = text(steps->Get(i)->name(), Text::path_like, "name of a step: step, byte", i))
                    return b;
        return {};
    }

    static Broken distinct_outputs(const fb::Entry &entry) {
        for (uint32_t i = 0; i < count(entry.outputs()); ++i)
            for (uint32_t j = 0; j < i; ++j)
                if (equal(*entry.outputs()->Get(i)->name(), *entry.outputs()->Get(j)->name()))
                    return broken(16, "two outputs of an entry have one name: ports", i, j);
        return {};
    }

    const fb::Plan &plan_;
    uint64_t left_;
};

} // namespace

Broken v16_names(const Subject &s) { return Names(s).check(); }

} // namespace longwave::artifact
