#include "tools/cli/report.h"
#include "tools/cli/text.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

std::string text(const ordered_json &json, const char *key) {
    const auto it = json.find(key);
    return it == json.end() ? "" : it->is_string() ? it->get<std::string>() : it->dump();
}
double number(const ordered_json &json, const char *key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_number() ? it->get<double>() : 0;
}
ordered_json member(const ordered_json &json, const char *key) {
    const auto it = json.is_object() ? json.find(key) : json.end();
    return it == json.end() ? ordered_json() : *it;
}

// "kws12   audio 16 kHz -> 12 classes · 165 k parameters · causal · delay 0, block 10 ms"
std::string title(const ordered_json &report) {
    std::string line = text(report, "name") + "  ";
    for (const auto &input : member(report, "inputs")) {
        line += " " + text(input, "kind");
        if (number(input, "sample_rate") > 0) line += format(" %g kHz", number(input, "sample_rate") / 1000);
        else if (number(input, "vocabulary") > 0) line += format(" of %g", number(input, "vocabulary"));
        else line += format(" x %g", std::max(1.0, number(input, "width")));
    }
    const double labels = number(report, "labels");
    const ordered_json outputs = member(report, "outputs");
    if (labels > 0) line += format(" → %g classes", labels);
    else if (!outputs.empty()) line += format(" → %g values", number(outputs.front(), "width"));
    line += " · " + count_text(static_cast<uint64_t>(number(report, "parameters"))) + " parameters";
    const ordered_json stream = member(member(report, "entries"), "stream");
    if (stream.is_object()) {
        line += format(" · causal · delay %g, ", number(stream, "delay"));
        line += stream.contains("block_ms") ? format("block %g ms", number(stream, "block_ms")) : format("block %g", number(stream, "block"));
    } else {
        line += report.value("causal", true) ? " · whole sequences" : " · whole sequences only (looks ahead)";
    }
    return line + "\n";
}

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

std::string layer_words(const ordered_json &layer) {
    const ordered_json convolutions = member(layer, "convolution");
    const ordered_json convolution = member(convolutions, convolutions.contains("stream") ? "stream" : "run");
    std::string words;
    for (const auto &op : member(layer, "ops")) {
        const std::string name = op.get<std::string>();
        if (name == "long_conv" && convolution.is_object()) {
            words += (words.empty() ? "" : " · ") + format("long_conv K=%g ", number(convolution, "taps")) + text(convolution, "algorithm");
            if (!text(convolution, "next_best").empty()) words += " (next best: " + text(convolution, "next_best") + ")";
        } else {
            words += (words.empty() ? "" : " · ") + name;
        }
    }
    return words;
}

std::string layers(const ordered_json &report) {
    std::vector<Line> lines;
    size_t width = 8;
    for (const auto &layer : member(report, "layers")) {
        Line line;
        line.first = text(layer, "layer");
        line.pattern = pattern_of(line.first, line.numbers);
        line.what = layer_words(layer);
        line.kernels = member(layer, layer.contains("stream") ? "stream" : "run").size();
        line.layers = 1;
        const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line &l) {
            return l.pattern == line.pattern && l.what == line.what && !l.numbers.empty() && !line.numbers.empty() &&
                   line.numbers[0] == l.numbers.back() + 1;
        });
        if (same == lines.end()) {
            lines.push_back(line);
        } else {
            same->numbers.push_back(line.numbers[0]);
            same->kernels += line.kernels;
            same->layers++;
        }
    }
    for (Line &line : lines) {
        if (line.layers > 1)
            line.first = line.pattern.replace(line.pattern.find('#'), 1, format("%ld-%ld", line.numbers.front(), line.numbers.back()));
        width = std::max(width, std::min<size_t>(line.first.size(), 28));
    }
    std::string out;
    for (const Line &line : lines)
        out += "  " + padded(line.first, width) + "  " + padded(line.what, 64) +
               (line.kernels ? format(" %3zu kernel%s\n", line.kernels, line.kernels == 1 ? "" : "s") : "   fused\n");
    return out;
}

std::string fusion(const ordered_json &report) {
    const ordered_json list = member(report, "fusion");
    if (list.empty()) return "";
    double worst = 0;
    std::vector<std::pair<std::string, size_t>> counts;
    for (const auto &certificate : list) {
        worst = std::max(worst, number(certificate, "error"));
        const std::string pass = text(certificate, "pass");
        const auto it = std::find_if(counts.begin(), counts.end(), [&](const auto &c) { return c.first == pass; });
        if (it == counts.end()) counts.emplace_back(pass, 1);
        else it->second++;
    }
    std::string line = "fused     ";
    for (size_t i = 0; i < counts.size(); i++) line += format("%s%zu by %s", i ? ", " : "", counts[i].second, counts[i].first.c_str());
    return line + format(" · largest error %.1e (certificates in the artifact)\n", worst);
}

} // namespace

std::string report_text(const ordered_json &report) {
    std::string out = title(report) + layers(report) + fusion(report);
    if (report.contains("no_stream")) {
        std::string why = text(report, "no_stream");
        for (size_t at = 0; (at = why.find('\n', at)) != std::string::npos; at += 11) why.replace(at, 1, "\n          ");
        out += "no stream " + why + "\n";
    }
    const ordered_json entries = member(report, "entries");
    if (const ordered_json stream = member(entries, "stream"); stream.is_object())
        out += format("memory    weights %s, derived at open %s, state %s a stream\n",
                      bytes_text(static_cast<uint64_t>(number(report, "weights_bytes"))).c_str(),
                      bytes_text(static_cast<uint64_t>(number(report, "derived_bytes"))).c_str(),
                      bytes_text(static_cast<uint64_t>(number(stream, "state_bytes"))).c_str());
    if (const ordered_json unused = member(report, "unused_weights"); !unused.empty()) {
        out += format("unused    %zu weights no layer names:", unused.size());
        for (size_t i = 0; i < std::min<size_t>(unused.size(), 4); i++) out += " " + unused[i].get<std::string>();
        out += unused.size() > 4 ? " ...\n" : "\n";
    }
    if (const ordered_json targets = member(report, "targets"); !targets.empty()) {
        out += "targets  ";
        for (const auto &target : targets)
            out += " " + text(target, "name") + " (" + bytes_text(static_cast<uint64_t>(number(target, "code_bytes"))) + " of code)";
        out += format(" · %g kernels each\n", number(report, "kernels"));
    }
    return out;
}

} // namespace longwave::cli
