// The file: its parts with their sizes and hashes.
#include "formats/artifact/geometry.h"
#include "tools/cli/model/description.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>

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

// Why the compiled model computes what the model folder says: exact rewrites with the error of
// their re-run, and the golden vectors with their limits.

namespace {

std::string rows_of(const flatbuffers::Vector<flatbuffers::Offset<fb::GoldenTensor>> *tensors) {
    std::string text;
    if (!tensors) return text;
    for (const auto *tensor : *tensors) {
        text += (text.empty() ? "" : ", ") + format("%u × %u", tensor->rows(), tensor->width());
        if (tensor->stored()) text += format(" (%u rows stored)", tensor->stored());
    }
    return text;
}

std::string lag_words(const ReportValue &report, const fb::Entry &entry) {
    const ReportValue lags = report_of(report, entry)["lags"];
    return lags ? format("0 to %g of %g", lags["exercised"].number(), lags["longest"].number()) : "";
}

std::string golden_vectors(const ReportValue &report, const fb::Plan &plan) {
    if (!plan.golden() || plan.golden()->size() == 0)
        return "<p>The file has no golden vectors: it was compiled with --no-golden.</p>\n";
    Table table({"entry", "input rows", "output rows", ">limit", ">lags exercised"});
    const uint32_t vectors = plan.golden()->size();
    for (uint32_t i = 0; i < std::min<uint32_t>(vectors, most_rows); i++) {
        const fb::Golden &golden = *plan.golden()->Get(i);
        const fb::Entry &entry = *plan.entries()->Get(golden.entry());
        table.row({escaped(entry_name(entry)), escaped(rows_of(golden.inputs())),
                   escaped(rows_of(golden.outputs())), format("%.1e", golden.error_limit()),
                   escaped(lag_words(report, entry))});
    }
    return "<p>Golden vectors are inputs with the outputs of a float64 reference. <code>longwave "
           "verify</code> "
           "recomputes them on any machine. The limit is relative to the peak of an output.</p>\n" +
           table.html() + more(vectors > most_rows ? vectors - most_rows : 0);
}

} // namespace

std::string proof_section(const ReportValue &report, const ReportValue &certificates, const fb::Plan &plan) {
    Table table({"pass", "layer", "claim", ">error", ">bound"});
    const auto list = certificates.list();
    for (size_t i = 0; i < std::min(list.size(), most_rows); i++)
        table.row({escaped(list[i]["pass"].text()), code(list[i]["layer"].text()),
                   escaped(list[i]["what"].text()), format("%.1e", list[i]["error"].number()),
                   format("%.0e", list[i]["bound"].number())});
    std::string out = "<h3>Certificates</h3>\n";
    if (table.empty()) out += "<p>No pass rewrote this model.</p>\n";
    else
        out += "<p>Each exact rewrite ran again on numbers. The error is relative to the peak.</p>\n" +
               table.html() + more(list.size() > most_rows ? list.size() - most_rows : 0);
    out += "<h3>Golden vectors</h3>\n" + golden_vectors(report, plan);
    if (const ReportValue precision = report["precision"])
        out += "<p>" +
               escaped(format("Rounding to float32 changes an output by %.1e of its peak.",
                              precision["rounding"].number())) +
               "</p>\n";
    return out;
}

} // namespace longwave::cli
