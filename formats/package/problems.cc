#include "formats/package/problems.h"
#include "formats/base/characters.h"
#include <algorithm>
#include <cctype>
#include <cstdio>

namespace longwave::package {

// Text from outside must not steer the terminal it is shown on. Bytes that are no UTF-8 stay.
static std::string escaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const Character c = character_at(reinterpret_cast<const uint8_t *>(text.data()) + i, text.size() - i);
        const size_t bytes = std::max<uint32_t>(c.bytes, 1);
        char code[12];
        if (c.bytes > 0 && is_unseen(c.code)) {
            std::snprintf(code, sizeof code,
                          c.code < 0x80     ? "\\x%02x"
                          : c.code > 0xffff ? "\\U%08x"
                                            : "\\u%04x",
                          c.code);
            out += code;
        } else {
            out += text.substr(i, bytes);
        }
        i += bytes;
    }
    return out;
}

void Problems::add(std::string_view where, std::string_view expected, std::string_view found,
                   std::string_view way_out) {
    if (full()) return one_more();
    std::string text(where);
    text.append(": expected ").append(expected).append(", found ").append(found);
    if (!way_out.empty()) text.append("; ").append(way_out);
    line(text);
}

void Problems::line(const std::string &text) {
    one_more();
    if (lines_.size() >= max_lines) return;
    const std::string shown = escaped(text);
    if (std::find(lines_.begin(), lines_.end(), shown) == lines_.end()) lines_.push_back(shown);
    else ++repeated_;
}

void Problems::append(const Status &failure) {
    if (failure) return;
    const std::string &message = failure.message();
    for (size_t begin = 0; begin < message.size();) {
        size_t end = std::min(message.find('\n', begin), message.size());
        if (end > begin) line(message.substr(begin, end - begin));
        begin = end + 1;
    }
}

Status Problems::status() const {
    if (!any()) return Status::ok();
    std::string text;
    for (const auto &l : lines_) text += (text.empty() ? "" : "\n") + l;
    const size_t more = count_ - repeated_ - lines_.size();
    if (more > 0) text += "\nand " + std::to_string(more) + " more problems";
    return Status::input(std::move(text));
}

// Edit distance with neighbouring letters swapped counting once ("kernle" → "kernel").
static size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

// Stops where `patience` ends, with the best so far.
static std::string nearest(std::string_view word, const std::vector<std::string> &candidates,
                           int64_t &patience) {
    if (word.size() < 2 || word.size() > 100) return {};
    std::string best;
    size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1; // anything further away is another word
    for (const auto &candidate : candidates) {
        if (patience <= 0) break;
        --patience;
        if (candidate.size() > word.size() + best_distance || word.size() > candidate.size() + best_distance)
            continue;
        patience -= static_cast<int64_t>(word.size() * candidate.size());
        size_t d = distance(word, candidate);
        if (d < best_distance) best = candidate, best_distance = d;
    }
    return best;
}

static std::string question(const std::string &best) {
    return best.empty() ? best : "did you mean " + in_quotes(best) + "?";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string> &candidates) {
    int64_t patience = 1'000'000;
    return question(nearest(word, candidates, patience));
}

// At most `limit` bytes, never half a character.
static std::string_view cut(std::string_view text, size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
    return text.substr(0, limit);
}

std::string Problems::hint(std::string_view word, const std::vector<std::string> &candidates) {
    if (full()) return {};
    return question(nearest(word, candidates, patience_));
}

std::string in_quotes(std::string_view text) {
    std::string_view shown = cut(text, 80);
    std::string out = "\"";
    for (char c : shown) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return escaped(out) + (shown.size() < text.size() ? "…\"" : "\"");
}

std::string compact(const nlohmann::json &value) {
    std::string text = value.dump();
    std::string_view shown = cut(text, 80);
    return std::string(shown) + (shown.size() < text.size() ? "…" : "");
}

std::string member(std::string_view path, std::string_view key) {
    bool plain = !key.empty() && key.size() <= 80 && std::all_of(key.begin(), key.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    std::string text(path);
    if (!plain) return text + "[" + in_quotes(key) + "]";
    return text.empty() ? std::string(key) : text + "." + std::string(key);
}

std::string element(std::string_view path, size_t index) {
    return std::string(path) + "[" + std::to_string(index) + "]";
}

std::string describe(const nlohmann::json &value) {
    using Json = nlohmann::json::value_t;
    switch (value.type()) {
    case Json::null: return "null";
    case Json::string: return "the text " + in_quotes(value.get_ref<const std::string &>());
    case Json::object: return value.empty() ? "an empty object" : "an object";
    case Json::array: return "a list of " + std::to_string(value.size());
    case Json::boolean: return value.get<bool>() ? "true" : "false";
    default: return value.dump();
    }
}

} // namespace longwave::package
