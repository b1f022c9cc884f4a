// The file: its parts with their sizes and hashes.
#include "formats/artifact/geometry.h"
#include "tools/cli/model/description.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"

namespace longwave::cli {
namespace {

std::string hex(const uint8_t *bytes, size_t n) {
    std::string text;
    for (size_t i = 0; i < n; i++) text += format("%02x", bytes[i]);
    return "<span class=\"mono hash\">" + text + "</span>";
}
std::string hex(const flatbuffers::Vector<uint8_t> *bytes) {
    return bytes ? hex(bytes->data(), bytes->size()) : "";
}

} // namespace

std::string file_section(const ArtifactFile &file, const std::string &signature) {
    const fb::Plan &plan = file.plan();
    const artifact::Header &header = file.view().header();
    std::vector<BarPart> parts{
        {static_cast<double>(header.plan_bytes), colour(0), "plan, " + bytes_text(header.plan_bytes)}};
    Table table({"part", ">bytes", "BLAKE2b-256"});
    table.row({"header and plan", std::to_string(header.plan_offset + header.plan_bytes),
               hex(header.root, sizeof header.root)});
    for (uint32_t i = 0; i < plan.segments()->size(); i++) {
        const uint64_t bytes = file.view().segment(i).size;
        parts.push_back(
            {static_cast<double>(bytes), colour(i + 1), part_name(plan, i) + ", " + bytes_text(bytes)});
        table.row({escaped(part_name(plan, i)), std::to_string(bytes), hex(plan.segments()->Get(i)->hash())});
    }
    Table identity({"identity", "hash"});
    for (const auto *variant : *plan.variants())
        if (artifact::detached(*variant))
            identity.row({escaped("code for " + variant->target()->str() + ", not in the file"),
                          hex(variant->image())});
    identity.row({"computation", hex(plan.computation())});
    identity.row({"layout of the state", hex(plan.layout())});
    if (plan.identity()) {
        identity.row({"model, for saved states", hex(plan.identity()->model())});
        identity.row({"weights, for saved states", hex(plan.identity()->weights())});
    }
    return stacked_bar(parts) + legend(parts) + "<p>" + escaped("Signature: " + signature) + ".</p>\n" +
           table.html() + identity.html();
}

} // namespace longwave::cli
