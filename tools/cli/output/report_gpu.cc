#include "tools/cli/output/report_gpu.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <vector>

namespace longwave::cli {
namespace {

// The device of each layer and the transfers: layers on the CPU only, or all layers if times were
// measured.
std::string placement(const ReportValue &placed) {
    if (!placed) return "";
    std::string lines;
    const ReportValue predicted = placed["predicted"];
    for (const ReportValue &layer : placed["layers"].list()) {
        const bool here = layer["device"].text() == "cpu";
        if (!here && !predicted) continue;
        lines += "          " + padded(layer["layer"].text(), 28) +
                 (here ? " on the CPU: " : " on the GPU: ") + layer["why"].text();
        if (!here)
            lines +=
                format(" (%.0f µs, on the CPU %.0f)", layer["gpu_us"].number(), layer["cpu_us"].number());
        lines += "\n";
    }
    lines +=
        format("          %g transfers and %s between them per run, %g submissions", placed["moves"].number(),
               bytes_text(placed["moved_bytes"].count()).c_str(), placed["submissions"].number());
    if (predicted)
        lines += format("; %.0f µs by the measured times, %.0f on the CPU alone", predicted["us"].number(),
                        predicted["cpu_us"].number());
    return lines + "\n";
}

// One line per algorithm with several dispatches on a GPU, with the layers that use it.
std::string dispatches(const ReportValue &report) {
    std::vector<std::pair<std::string, std::vector<std::string>>> lines; // words, layers
    for (const ReportValue &layer : report["layers"].list())
        for (const ReportValue &choice : layer["algorithms"].list()) {
            if (!choice.has("dispatches") || choice["dispatches"].number() < 2) continue;
            std::string words = choice["op"].text();
            if (const double taps = choice["taps"].number(); taps > 0) words += format(" K=%.0f", taps);
            words += " " + choice["algorithm"].text() +
                     format(", %.0f dispatches in ", choice["dispatches"].number()) + choice["entry"].text();
            if (const std::string next = choice["next_best"].text(); !next.empty())
                words += " (next best: " + next + ")";
            auto line =
                std::find_if(lines.begin(), lines.end(), [&](const auto &l) { return l.first == words; });
            if (line == lines.end()) line = lines.insert(line, {words, {}});
            line->second.push_back(layer["layer"].text());
        }
    std::string out;
    for (const auto &[words, layers] : lines) {
        out += "          " + layers.front();
        if (layers.size() > 1) out += format(" and %zu more", layers.size() - 1);
        out += ": " + words + "\n";
    }
    return out;
}

// What the choice of algorithms rests on. Older files do not say.
std::string costs(const ReportValue &gpu) {
    const ReportValue costs = gpu["costs"];
    if (!costs) return "";
    return "          costs: " +
           (costs.is_text() ? costs.text() : "measured on " + costs["measured"].text()) + "\n";
}

// Of each entry, of which a model may have many: the first ones.
std::string dispatches_of_entries(const ReportValue &gpu) {
    std::string line;
    size_t shown = 0;
    for (const ReportValue &one : gpu["dispatches"].list()) {
        if (++shown > 4) break;
        line += (line.empty() ? "" : ", ") + format("%g in ", one["count"].number()) + one["entry"].text();
    }
    return line.empty() ? "" : "          dispatches: " + line + (shown > 4 ? ", …" : "") + "\n";
}

} // namespace

std::string report_gpu(const ReportValue &report) {
    if (report["targets"].list().empty() || !report.has("gpu")) return "";
    const auto on_gpu = [&](const char *kind) {
        for (const ReportValue &entry : entries_of(report, kind))
            if (entry.has("gpu")) return true;
        return false;
    };
    const bool runs = on_gpu("run"), streams = on_gpu("stream");
    const ReportValue of = report["gpu"];
    if (!runs && !streams && of.has("no_runs")) return "gpu       " + of["no_runs"].text() + "\n";
    return "gpu       " + of["name"].text() + ": " +
           (runs && streams ? "offline runs and streams"
            : runs          ? "offline runs"
                            : "streams") +
           format(", %g kernels (", of["kernels"].number()) + bytes_text(of["bytes"].count()) +
           " of SPIR-V); not checked yet: run `longwave verify --device vulkan`\n" + costs(of) +
           dispatches_of_entries(of) + placement(of["placement"]) + dispatches(report);
}

} // namespace longwave::cli
