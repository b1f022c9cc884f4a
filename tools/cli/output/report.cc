#include "tools/cli/output/report.h"
#include "tools/cli/output/report_gpu.h"
#include "tools/cli/output/report_layers.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <vector>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

std::string input_words(const ReportValue &input) {
    const std::string kind = input["kind"].text();
    if (const double rate = input["sample_rate"].number(); rate > 0)
        return kind + format(" %g kHz", rate / 1000);
    if (const double vocabulary = input["vocabulary"].number(); vocabulary > 0)
        return kind + format(" of %g", vocabulary);
    return kind + format(" x %g", std::max(1.0, input["width"].number()));
}

// "kws12   audio 16 kHz -> 12 classes · 165 k parameters"
std::string model_words(const ReportValue &report) {
    std::string line = report["name"].text() + "  ";
    for (const ReportValue &input : report["inputs"].list()) line += " " + input_words(input);
    const double labels = report["labels"].number();
    const auto outputs = report["outputs"].list();
    if (labels > 0) line += format(" → %g classes", labels);
    else if (!outputs.empty()) line += format(" → %g values", outputs.front()["width"].number());
    return line + " · " + count_text(report["parameters"].count()) + " parameters";
}

// " · causal · delay 0, block 10 ms"
std::string stream_words(const ReportValue &report) {
    const auto streams = entries_of(report, "stream");
    if (streams.empty())
        return report["causal"].truth(true) ? " · offline runs\n" : " · offline runs only (looks ahead)\n";
    const ReportValue &stream = streams.front();
    std::string line = report["causal"].truth(true) ? " · causal" : " · looks ahead";
    if (stream.has("window"))
        return line + format(" · window %g, hop %g, delay %g\n", stream["window"].number(),
                             stream["block"].number(), stream["delay"].number());
    line += format(" · delay %g, ", stream["delay"].number());
    if (stream.has("block_ms")) return line + format("block %g ms\n", stream["block_ms"].number());
    return line + format("block %g\n", stream["block"].number());
}

std::string fusion(const ReportValue &report) {
    const auto list = report["fusion"].list();
    if (list.empty()) return "";
    double worst = 0;
    std::vector<std::pair<std::string, size_t>> counts;
    for (const ReportValue &certificate : list) {
        worst = std::max(worst, certificate["error"].number());
        const std::string pass = certificate["pass"].text();
        const auto it =
            std::find_if(counts.begin(), counts.end(), [&](const auto &c) { return c.first == pass; });
        if (it == counts.end()) counts.emplace_back(pass, 1);
        else it->second++;
    }
    std::string line = "fused     ";
    for (size_t i = 0; i < counts.size(); i++)
        line += format("%s%zu by %s", i ? ", " : "", counts[i].second, counts[i].first.c_str());
    return line + format(" · largest error %.1e (certificates in the file)\n", worst);
}

std::string precision(const ReportValue &report) {
    const ReportValue precision = report["precision"];
    if (!precision) return "";
    return format("precision rounding changes an output by %.1e of its peak; limit of golden vectors %.1e\n",
                  precision["rounding"].number(), precision["limit"].number());
}

// "lags      0 to 15999 in run, stream 64 against float64 · recurrent layers over 16128 ticks": what golden
// vectors exercise, and where they leave lags out.
std::string lags(const ReportValue &report) {
    std::vector<std::pair<std::string, std::string>> lines; // words, entries
    double ticks = 0;
    for (const ReportValue &entry : report["entries"].list()) {
        const ReportValue found = entry["lags"];
        if (!found) continue;
        const double exercised = found["exercised"].number(), longest = found["longest"].number();
        std::string words = format("0 to %g", exercised);
        if (exercised < longest) words += format(" of %g ONLY", longest);
        ticks = ticks == 0 ? found["ticks"].number() : std::min(ticks, found["ticks"].number());
        if (lines.empty() || lines.back().first != words) lines.emplace_back(words, "");
        else lines.back().second += ", ";
        lines.back().second += entry["name"].text();
    }
    std::string out;
    for (const auto &[words, entries] : lines) {
        out += out.empty() ? "lags      " : "          ";
        out += words + " against float64 in " + entries + "\n";
    }
    if (out.empty() || !report["look_back"]["recurrent"].truth(false)) return out;
    return out + format("          layers that remember every row: over at least %g ticks\n", ticks);
}

// Tensors that offline runs on a GPU store as float16: the error, and the bytes moved.
std::string storage(const ReportValue &report) {
    std::string out;
    for (const ReportValue &entry : entries_of(report, "run")) {
        const ReportValue stored = entry["storage"];
        if (!stored) continue;
        out += out.empty() ? "storage   " : "          ";
        out += entry["name"].text() +
               format(": float16 in %g of %g buffers, ", stored["float16"].number(),
                      stored["float16"].number() + stored["float32"].number()) +
               bytes_text(static_cast<uint64_t>(entry["moved_bytes"].number())) + " moved, with float32 " +
               bytes_text(static_cast<uint64_t>(stored["moved_bytes_of_float32"].number())) + "\n";
    }
    const ReportValue halves = report["precision"]["float16"];
    if (out.empty() || !halves) return out;
    return out +
           format(
               "          float16 alone moves an output by %.1e of its peak; golden vectors may by %.1e "
               "there\n"
               "          inputs, outputs, weights and spectra are float32 there, and so is every stream\n",
               halves["rounding"].number(), halves["limit"].number());
}

// Weights in fewer bytes: a line for each product and each kernel of taps, and one for each output.
std::string stored_weights(const ReportValue &report) {
    const ReportValue stored = report["stored_weights"];
    const auto list = stored["layers"].list();
    if (list.empty()) return "";
    std::string out = format("weights   %zu tensor%s in fewer bytes; %s error (L2, largest):\n", list.size(),
                             list.size() == 1 ? "" : "s", list.size() == 1 ? "its" : "their");
    for (const ReportValue &layer : list)
        out += "          " + padded(layer["layer"].text(), 28) +
               format(" %-5s %.1e  %.1e%s\n", layer["format"].text().c_str(), layer["error"].number(),
                      layer["largest"].number(), layer["taps"].truth(false) ? "  taps" : "");
    for (const ReportValue &output : stored["outputs"].list())
        out += format("          output %s differs by %.1e of its peak from float32 weights\n",
                      output["name"].text().c_str(), output["change"].number());
    return out;
}

std::string no_stream(const ReportValue &report) {
    std::string why = report["no_stream"].lines();
    if (why.empty()) return "";
    for (size_t at = 0; (at = why.find('\n', at)) != std::string::npos; at += 11)
        why.replace(at, 1, "\n          ");
    return "no stream " + why + "\n";
}

std::string memory(const ReportValue &report) {
    if (entries_of(report, "stream").empty()) return "";
    return "memory    weights " + bytes_text(report["weights_bytes"].count()) + ", tables prepared at open " +
           bytes_text(report["derived_bytes"].count()) + ", state " +
           bytes_text(report["state_bytes"].count()) + " per stream\n";
}

// One line per stream entry: block, delay, cost of a block, and cost of taking over a stream from
// another entry.
std::string entries(const ReportValue &report) {
    std::string out;
    for (const ReportValue &entry : entries_of(report, "stream")) {
        out += out.empty() ? "entries   " : "          ";
        if (entry.has("window"))
            out += format("window %g, hop %g", entry["window"].number(), entry["block"].number());
        else out += format("block %g", entry["block"].number());
        if (entry.has("gpu")) out += " on a GPU";
        if (entry.has("block_ms")) out += format(" (%g ms)", entry["block_ms"].number());
        out += format(", delay %g: %.4g calls and %s moved per block", entry["delay"].number(),
                      entry["calls"].number(),
                      bytes_text(static_cast<uint64_t>(entry["moved_bytes"].number())).c_str());
        if (const ReportValue change = entry["switch"])
            out += format(", caches %s, filled in %.4g calls (about %.3g blocks) after a switch",
                          bytes_text(entry["cache_bytes"].count()).c_str(), change["calls"].number(),
                          change["blocks"].number());
        out += "\n";
        if (const ReportValue predicted = entry["predicted"]; predicted.has("remark"))
            out += "          " + predicted["remark"].text() + "\n";
    }
    return out;
}

std::string unused(const ReportValue &report) {
    const auto list = report["unused_weights"].list();
    if (list.empty()) return "";
    std::string out = format("unused    %zu weights that no layer reads:", list.size());
    for (size_t i = 0; i < std::min<size_t>(list.size(), 4); i++) out += " " + list[i].text();
    return out + (list.size() > 4 ? " ...\n" : "\n");
}

std::string targets(const ReportValue &report) {
    const auto list = report["targets"].list();
    if (list.empty()) return "";
    std::string out = "targets  ";
    for (const ReportValue &target : list)
        out += " " + target["name"].text() + " (" + bytes_text(target["code_bytes"].count()) + " of code)";
    return out + format(" · %g kernels each\n", report["kernels"].number());
}

} // namespace

Expected<std::string> report_text(const ordered_json &json, const std::string &where) try {
    const ReportValue report(json);
    return model_words(report) + stream_words(report) + report_layers(report) + fusion(report) +
           stored_weights(report) + precision(report) + lags(report) + storage(report) + no_stream(report) +
           entries(report) + memory(report) + unused(report) + targets(report) + report_gpu(report);
} catch (const WrongType &wrong) {
    return Status::input(where + ": " + wrong.text);
}

Expected<ReportText> report_of_model(const ordered_json &json, const std::string &where) try {
    const ReportValue report(json);
    const bool streams =
        !entries_of(report, "stream").empty(); // then the line of each entry has block and delay
    const char *causal = report["causal"].truth(true) ? " · causal\n" : " · looks ahead\n";
    return ReportText{model_words(report) + (streams ? causal : stream_words(report)),
                      report_layers(report) + fusion(report) + stored_weights(report) + precision(report) +
                          lags(report) + storage(report) + no_stream(report) + entries(report) +
                          unused(report) + report_gpu(report)};
} catch (const WrongType &wrong) {
    return Status::input(where + ": " + wrong.text);
}

} // namespace longwave::cli
