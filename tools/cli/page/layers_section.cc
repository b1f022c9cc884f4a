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

// The graph of layers: one line per layer in the order of computation, edges at the left. An edge
// between neighbours is straight. Others pass on tracks of their own.

namespace {

constexpr double line_height = 46, track_width = 13;
constexpr size_t most_tracks = 9;

struct GraphLine {
    std::string name, what, rate;
    std::vector<std::string> from;
    bool end = false; // an input or output of the model
};

// "50 rows per s", or per tick where the input has no sample rate.
std::string rate_words(const ReportValue &of, double sample_rate) {
    const ReportValue rows = of["rows"];
    if (!rows) return "";
    const double num = rows["num"].number(), den = std::max(1.0, rows["den"].number());
    std::string words;
    if (num == 0) words = "one row per sequence";
    else if (sample_rate > 0) words = format("%.6g rows/s", sample_rate * num / den);
    else words = num == den ? "a row per tick" : format("%g rows per %g ticks", num, den);
    words += format(" × %g", of["width"].number());
    if (const double delay = of["delay"].number(); delay > 0) words += format(" · delay %g ticks", delay);
    return words;
}

std::vector<GraphLine> lines_of(const ReportValue &report) {
    std::vector<GraphLine> lines;
    double sample_rate = 0;
    for (const ReportValue &input : report["inputs"].list()) {
        sample_rate = std::max(sample_rate, input["sample_rate"].number());
        GraphLine line{input["name"].text(), "input, " + input["kind"].text(), "", {}, true};
        if (const double rate = input["sample_rate"].number(); rate > 0) line.rate = format("%g Hz", rate);
        lines.push_back(line);
    }
    for (const ReportValue &layer : report["layers"].list()) {
        GraphLine line{layer["layer"].text(), "", rate_words(layer, sample_rate), {}, false};
        for (const ReportValue &op : layer["ops"].list())
            line.what += (line.what.empty() ? "" : ", ") + op.text();
        for (const ReportValue &from : layer["from"].list()) line.from.push_back(from.text());
        lines.push_back(line);
    }
    for (const ReportValue &output : report["outputs"].list())
        lines.push_back({output["name"].text(),
                         "output",
                         rate_words(output, sample_rate),
                         {output["layer"].text()},
                         true});
    return lines;
}

struct Edge {
    size_t from, to, track; // track 0: straight
};

std::vector<Edge> edges_of(const std::vector<GraphLine> &lines) {
    std::map<std::string, size_t> at;
    std::vector<Edge> edges;
    for (size_t i = 0; i < lines.size(); i++) {
        for (const std::string &name : lines[i].from)
            if (const auto it = at.find(name); it != at.end()) edges.push_back({it->second, i, 0});
        // An output may be named as a layer.
        if (!lines[i].end || lines[i].from.empty()) at[lines[i].name] = i;
    }
    // The shortest edges lie next to the lines; an edge takes the first track that is free.
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge &a, const Edge &b) { return a.to - a.from < b.to - b.from; });
    std::vector<std::vector<Edge>> tracks;
    for (Edge &edge : edges) {
        if (edge.to == edge.from + 1) continue;
        size_t t = 0;
        const auto crosses = [&](const Edge &other) { return edge.from < other.to && other.from < edge.to; };
        while (t < tracks.size() && std::any_of(tracks[t].begin(), tracks[t].end(), crosses)) t++;
        if (t == tracks.size()) tracks.emplace_back();
        tracks[t].push_back(edge);
        edge.track = std::min(t + 1, most_tracks);
    }
    return edges;
}

std::string drawn(const std::vector<GraphLine> &lines, const std::vector<Edge> &edges) {
    size_t tracks = 0;
    for (const Edge &edge : edges) tracks = std::max(tracks, edge.track);
    const double x = 8 + track_width * static_cast<double>(tracks),
                 height = line_height * static_cast<double>(lines.size());
    const auto y = [](size_t line) { return line_height * (static_cast<double>(line) + 0.5); };
    std::string svg = "<svg width=\"" + css_number(x + 8) + "\" height=\"" + css_number(height) +
                      "\" role=\"img\" aria-label=\"Edges between layers\">\n";
    for (const Edge &edge : edges) {
        const double from = y(edge.from), to = y(edge.to),
                     side = x - track_width * static_cast<double>(edge.track);
        std::string path = "M" + css_number(x) + " " + css_number(from);
        if (edge.track == 0) path += "V" + css_number(to);
        else
            path += "C" + css_number(side) + " " + css_number(from) + " " + css_number(side) + " " +
                    css_number(from + 8) + " " + css_number(side) + " " + css_number(from + line_height / 2) +
                    "V" + css_number(to - line_height / 2) + "C" + css_number(side) + " " +
                    css_number(to - 8) + " " + css_number(side) + " " + css_number(to) + " " + css_number(x) +
                    " " + css_number(to);
        svg += "<path class=\"edge" + std::string(edge.track ? " jump" : "") + "\" d=\"" + path + "\"/>\n";
    }
    for (size_t i = 0; i < lines.size(); i++)
        svg += "<circle class=\"dot " + std::string(lines[i].end ? "c3" : "c1") + "\" cx=\"" + css_number(x) +
               "\" cy=\"" + css_number(y(i)) + "\" r=\"5\"/>\n";
    return svg + "</svg>\n";
}

} // namespace

std::string graph_section(const ReportValue &report) {
    std::vector<GraphLine> lines = lines_of(report);
    const size_t left_out = lines.size() > most_rows ? lines.size() - most_rows : 0;
    lines.resize(lines.size() - left_out);
    std::string list = "<ol>\n";
    for (const GraphLine &line : lines)
        list += "<li><span><b>" + escaped(line.name) + "</b><em>" + escaped(line.what) +
                "</em></span><small>" + escaped(line.rate) + "</small></li>\n";
    return "<div class=\"graph\">\n" + drawn(lines, edges_of(lines)) + list + "</ol>\n</div>\n" +
           more(left_out);
}

} // namespace longwave::cli
