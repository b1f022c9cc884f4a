#include "tools/cli/command_line/similar_words.h"
#include <algorithm>
#include <numeric>

namespace longwave::cli {
namespace {

// Letters to insert, remove or replace (Levenshtein).
size_t distance(const std::string &a, const std::string &b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < a.size(); i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < b.size(); j++) {
            const size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
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
