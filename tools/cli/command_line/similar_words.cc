#include "tools/cli/command_line/similar_words.h"
#include <algorithm>

namespace longwave::cli {
namespace {

// Letters to insert, remove or replace, or neighbours to exchange (Damerau and Levenshtein).
size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++)
        for (size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = std::min({d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), d[i - 1][j] + 1, d[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d.back().back();
}

} // namespace

std::string most_similar(const std::string &typed, const std::vector<std::string> &words) {
    std::string best;
    if (typed.size() > 64) return best;
    size_t least = 3; // two letters, and fewer than half of the word
    for (const std::string &word : words)
        if (const size_t d = distance(typed, word); d < least && 2 * d < word.size()) {
            least = d;
            best = word;
        }
    return best;
}

} // namespace longwave::cli
