// The map of the stream state: what a stream remembers between two blocks, as it lies in memory.
#include "formats/artifact/geometry.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>
#include <map>

namespace longwave::cli {
namespace {

const char *words_of(fb::StateKind kind) {
    return kind == fb::StateKind::history ? "older rows"
           : kind == fb::StateKind::carry ? "carried values"
                                          : "spectra";
}

std::string shape_of(const fb::StateField &field) {
    std::string text;
    for (const uint32_t extent : *field.dims()) text += (text.empty() ? "" : " × ") + std::to_string(extent);
    return text + " " + name_of(artifact::elem_of(field.elem()));
}

} // namespace

std::string state_section(const fb::Plan &plan) {
    if (!plan.state() || plan.state()->size() == 0)
        return "<p>The model has no stream, so it has no state.</p>\n";
    std::vector<BarPart> parts;
    std::map<std::string, size_t> colours; // by layer
    Table table({"layer", "field", "holds", "shape", ">bytes", ">offset"});
    const uint32_t fields = plan.state()->size();
    for (uint32_t i = 0; i < std::min<uint32_t>(fields, most_rows); i++) {
        const fb::StateField &field = *plan.state()->Get(i);
        uint64_t bytes = 0;
        if (!artifact::field_bytes(field, &bytes)) continue; // the rules exclude it
        const std::string layer = field.layer()->str(), name = field.name()->str();
        const size_t number = colours.try_emplace(layer, colours.size()).first->second;
        parts.push_back({static_cast<double>(bytes), colour(number),
                         layer + " " + name + ", " + words_of(field.kind()) + ", " + bytes_text(bytes)});
        table.row({code(layer), code(name), words_of(field.kind()), escaped(shape_of(field)),
                   std::to_string(bytes), std::to_string(field.offset())});
    }
    return stacked_bar(parts) +
           "<div class=\"axis\"><span>byte 0</span><span>one color per layer</span><span>" +
           escaped(bytes_text(plan.state_bytes())) + "</span></div>\n" + table.html() +
           more(fields > most_rows ? fields - most_rows : 0);
}

} // namespace longwave::cli
