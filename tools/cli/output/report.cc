#include "tools/cli/output/report.h"
#include "tools/cli/output/report_value.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// What a compile report says of a GPU as text.

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

// What runs there, layers that stay on the CPU, and algorithms of several dispatches. "" for files
// without a GPU.
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

// The layers of a compile report as text: a line for each layer, with its ops, algorithms and
// kernels.

struct Line {
    std::string pattern, what; // layers with the same pattern and words share a line
    std::vector<long> numbers; // the first number in each one's name
    std::string first;
    size_t kernels = 0, layers = 0;
};

// "blocks.3.layer" -> "blocks.#.layer" and 3
std::string pattern_of(const std::string &name, std::vector<long> &numbers) {
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto from = std::find_if(name.begin(), name.end(), digit);
    if (from == name.end()) return name;
    const auto to = std::find_if_not(from, name.end(), digit);
    if (to - from > 6) return name;
    numbers.push_back(std::stol(std::string(from, to)));
    return std::string(name.begin(), from) + "#" + std::string(to, name.end());
}

// "long_conv K=64 direct (next best: ...)" in the default stream entry, or in the offline run.
// Other entries are named if they differ.
std::string algorithm_words(const std::string &op, const std::vector<ReportValue> &choices) {
    const bool streams = choices.back()["entry"].text() != "run";
    std::string words = op, seen;
    for (const ReportValue &choice : choices) {
        const std::string entry = choice["entry"].text(), name = choice["algorithm"].text();
        if (streams && entry == "run") continue;
        if (seen.empty()) {
            if (const double taps = choice["taps"].number(); taps > 0) words += format(" K=%.0f", taps);
            words.append(" ").append(name);
            if (const std::string next = choice["next_best"].text(); !next.empty())
                words += " (next best: " + next + ")";
        } else if (name != seen) {
            words += ", " + name + " in " + entry;
        }
        seen = name;
    }
    return words;
}

std::string layer_words(const ReportValue &layer) {
    std::string words;
    for (const ReportValue &op : layer["ops"].list()) {
        const std::string name = op.text();
        auto choices = layer["algorithms"].list();
        std::erase_if(choices, [&](const ReportValue &choice) { // and those of a GPU, which has few
            return choice["op"].text() != name || choice["entry"].text().find(" on ") != std::string::npos;
        });
        words += (words.empty() ? "" : " · ") + (choices.empty() ? name : algorithm_words(name, choices));
    }
    return words;
}

// Kernels of a layer in the last entry: a stream where there is one.
size_t kernels_of(const ReportValue &layer) {
    const auto kernels = layer["kernels"].list();
    return kernels.empty() ? 0 : kernels.back()["names"].list().size();
}

// A line for each layer; neighbours that differ by their number only share one.
std::vector<Line> layer_lines(const ReportValue &report) {
    std::vector<Line> lines;
    for (const ReportValue &layer : report["layers"].list()) {
        Line line;
        line.first = layer["layer"].text();
        line.pattern = pattern_of(line.first, line.numbers);
        line.what = layer_words(layer);
        line.kernels = kernels_of(layer);
        line.layers = 1;
        const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line &l) {
            return l.pattern == line.pattern && l.what == line.what && !l.numbers.empty() &&
                   !line.numbers.empty() && line.numbers[0] == l.numbers.back() + 1;
        });
        if (same == lines.end()) {
            lines.push_back(line);
        } else {
            same->numbers.push_back(line.numbers[0]);
            same->kernels += line.kernels;
            same->layers++;
        }
    }
    return lines;
}

// Neighbours that differ by the number in their name only share a line.
std::string report_layers(const ReportValue &report) {
    std::vector<Line> lines = layer_lines(report);
    size_t width = 8;
    for (Line &line : lines) {
        if (line.layers > 1) {
            const std::string numbers = format("%ld-%ld", line.numbers.front(), line.numbers.back());
            line.first = line.pattern.replace(line.pattern.find('#'), 1, numbers);
        }
        width = std::max(width, std::min<size_t>(line.first.size(), 28));
    }
    std::string out;
    for (const Line &line : lines) {
        const std::string kernels = format(" %3zu kernel%s\n", line.kernels, line.kernels == 1 ? "" : "s");
        out += "  " + padded(line.first, width) + "  " + padded(line.what, 64) +
               (line.kernels ? kernels : "   fused\n");
    }
    return out;
}

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
