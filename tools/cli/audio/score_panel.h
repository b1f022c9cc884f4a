// Scores as bars in a terminal, drawn in place.
#pragma once
#include <string>
#include <vector>

namespace longwave::cli {

class ScorePanel {
public:
    // `thresholds`: by label; above 1: a label that never fires.
    ScorePanel(std::vector<std::string> labels, std::vector<float> thresholds);

    // Text that replaces the bars that stand there. `columns` of the terminal.
    std::string draw(const std::vector<float> &scores, double seconds, size_t columns = 80);
    // Text that removes the bars, so that other lines can follow. Empty when none stand there.
    std::string clear();

private:
    std::vector<std::string> labels_;
    std::vector<float> thresholds_;
    size_t lines_ = 0; // that stand there
};

// Columns of the terminal on standard output; 0: it is not a terminal.
size_t terminal_columns();

} // namespace longwave::cli
