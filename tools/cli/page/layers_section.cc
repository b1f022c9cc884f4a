// What became of each layer: its ops after all passes, the algorithms, the kernels.
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace longwave::cli {
namespace {

// "partitioned in stream 320, right_angle in run"; entries with the same algorithm share a name.
std::string algorithms(const ReportValue &layer) {
    std::vector<std::string> names;
    std::map<std::string, std::vector<std::string>> entries;
    for (const ReportValue &choice : layer["algorithms"].list()) {
        const std::string name = choice["algorithm"].text(), entry = choice["entry"].text();
        if (!entries.count(name)) names.push_back(name);
        auto &list = entries[name];
        if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
    }
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : "<br/>") + code(name) + " <small>" +
                escaped(fmt::format("{}", fmt::join(entries[name], ", "))) + "</small>";
    return text;
}

// Kernels by entry; entries with the same kernels share a line.
std::string kernels(const ReportValue &layer) {
    std::vector<std::string> lists;
    std::map<std::string, std::vector<std::string>> entries;
    for (const ReportValue &item : layer["kernels"].list()) {
        std::vector<std::string> names;
        for (const ReportValue &name : item["names"].list()) names.push_back(name.text());
        const std::string list = fmt::format("{}", fmt::join(names, ", "));
        if (!entries.count(list)) lists.push_back(list);
        entries[list].push_back(item["entry"].text());
    }
    std::string text;
    for (const std::string &list : lists)
        text += (text.empty() ? "" : "<br/>") + code(list) + " <small>" +
                escaped(fmt::format("{}", fmt::join(entries[list], ", "))) + "</small>";
    return text.empty() ? "<small>fused into another layer's kernels</small>" : text;
}

// What exact passes did, by layer.
std::map<std::string, std::string> rewrites_of(const ReportValue &report) {
    std::map<std::string, std::string> found;
    for (const ReportValue &certificate : report["fusion"].list()) {
        std::string &text = found[certificate["layer"].text()];
        text += (text.empty() ? "" : "<br/>") + escaped(certificate["pass"].text()) + " <small>" +
                escaped(certificate["what"].text()) + "</small>";
    }
    return found;
}

} // namespace

std::string layers_section(const ReportValue &report) {
    Table table({"layer", "ops after all passes", "rewritten by", "algorithm", "kernels"});
    std::map<std::string, std::string> rewrites = rewrites_of(report);
    const auto layers = report["layers"].list();
    for (size_t i = 0; i < std::min(layers.size(), most_rows); i++) {
        const std::string name = layers[i]["layer"].text();
        std::vector<std::string> ops;
        for (const ReportValue &op : layers[i]["ops"].list()) ops.push_back(op.text());
        table.row({code(name), escaped(fmt::format("{}", fmt::join(ops, ", "))), rewrites[name],
                   algorithms(layers[i]), kernels(layers[i])});
        rewrites.erase(name);
    }
    // Layers that a pass removed: only its certificate names them.
    size_t gone = 0;
    for (const auto &[name, text] : rewrites)
        if (!text.empty() && gone++ < most_rows)
            table.row({code(name), "<small>none left</small>", text, "", ""});
    return table.html() + more(layers.size() > most_rows ? layers.size() - most_rows : 0);
}

} // namespace longwave::cli
