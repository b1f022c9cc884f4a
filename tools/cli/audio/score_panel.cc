#include "tools/cli/audio/score_panel.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>
#include <sys/ioctl.h>
#include <unistd.h>

namespace longwave::cli {
namespace {

// Eighths of a character: the bar moves smoothly.
std::string bar(double score, double threshold, size_t width) {
    static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double filled = std::clamp(score, 0.0, 1.0) * static_cast<double>(width);
    const auto mark =
        threshold <= 1 ? static_cast<size_t>(threshold * static_cast<double>(width)) : width + 1;
    std::string text;
    for (size_t i = 0; i < width; i++) {
        const double part = filled - static_cast<double>(i);
        if (part >= 1) text += "█";
        else if (i == mark) text += "│"; // the threshold
        else text += part > 0 ? eighths[static_cast<size_t>(part * 8)] : " ";
    }
    return text;
}

} // namespace

ScorePanel::ScorePanel(std::vector<std::string> labels, std::vector<float> thresholds)
    : labels_(std::move(labels)), thresholds_(std::move(thresholds)) {
    for (std::string &label : labels_) label = printable_start(label, 16);
}

std::string ScorePanel::draw(const std::vector<float> &scores, double seconds, size_t columns) {
    size_t longest = 1;
    for (const std::string &label : labels_) longest = std::max(longest, label.size());
    const size_t taken = longest + 10,
                 width = columns > taken + 10 ? std::min<size_t>(columns - taken, 60) : 10;
    std::string text = lines_ ? format("\033[%zuA", lines_) : "";
    text += format("\033[2K%8.2f s\n", seconds);
    for (size_t i = 0; i < std::min(labels_.size(), scores.size()); i++) {
        const bool high = scores[i] >= thresholds_[i];
        text += "\033[2K" + std::string(high ? "\033[1m" : "") + padded(labels_[i], longest) + " " +
                bar(scores[i], thresholds_[i], width) + format(" %5.3f", double{scores[i]}) +
                (high ? "\033[0m" : "") + "\n";
    }
    lines_ = std::min(labels_.size(), scores.size()) + 1;
    return text;
}

std::string ScorePanel::clear() {
    const std::string text = lines_ ? format("\033[%zuA\033[J", lines_) : "";
    lines_ = 0;
    return text;
}

size_t terminal_columns() {
    winsize size{};
    if (isatty(STDOUT_FILENO) != 1) return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace longwave::cli
