#include "tools/cli/output/report_layers.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cctype>
#include <vector>

namespace longwave::cli {
namespace {

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

} // namespace

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

} // namespace longwave::cli
