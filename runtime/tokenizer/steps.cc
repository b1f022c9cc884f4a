#include "runtime/tokenizer/steps.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>
#include <array>
#include <unordered_map>

namespace longwave::tokenizer {
namespace {

struct ByteCharacters {
    std::array<std::string, 256> of_byte;
    std::unordered_map<std::string, char> bytes;
    ByteCharacters() {
        uint32_t next = 0x100;
        for (uint32_t byte = 0; byte < 256; byte++) {
            const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
            const uint32_t c = itself ? byte : next++;
            std::string &utf8 = of_byte[byte];
            if (c < 0x80) utf8 = {static_cast<char>(c)};
            else utf8 = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
            bytes[utf8] = static_cast<char>(byte);
        }
    }
};

const ByteCharacters &byte_characters() {
    static const ByteCharacters characters;
    return characters;
}

std::string mapped(std::string_view text) {
    std::string result;
    for (const char c : text) result += character_of(static_cast<unsigned char>(c));
    return result;
}

// Every character of the set is a match of its own.
std::vector<Part> parts_by(const CodePoints &set, std::string_view text) {
    std::vector<Part> parts;
    size_t done = 0;
    for (size_t i = 0; i < text.size();) {
        const Decoded decoded = decode(text.substr(i));
        if (set.contains(decoded.c)) {
            if (i > done) parts.push_back({text.substr(done, i - done), false});
            parts.push_back({text.substr(i, decoded.bytes), true});
            done = i + decoded.bytes;
        }
        i += decoded.bytes;
    }
    if (done < text.size()) parts.push_back({text.substr(done), false});
    return parts;
}

// Two parts that follow one another in one text.
std::string_view joined(std::string_view a, std::string_view b) { return {a.data(), a.size() + b.size()}; }

void add_merged(const std::vector<Part> &parts, Behavior behavior, std::vector<std::string_view> &result) {
    const size_t start = result.size();
    bool before = false; // whether the part before was a match
    for (const Part &part : parts) {
        const bool merge =
            behavior == Behavior::contiguous ? part.matched == before : part.matched && !before;
        if (merge && result.size() > start) result.back() = joined(result.back(), part.text);
        else result.push_back(part.text);
        before = part.matched;
    }
}

void add_merged_with_next(const std::vector<Part> &parts, std::vector<std::string_view> &result) {
    const size_t start = result.size();
    bool after = false; // whether the part after was a match
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->matched && !after && result.size() > start)
            result.back() = joined(part->text, result.back());
        else result.push_back(part->text);
        after = part->matched;
    }
    std::reverse(result.begin() + static_cast<ptrdiff_t>(start), result.end());
}

void add(const std::vector<Part> &parts, Behavior behavior, std::vector<std::string_view> &result) {
    switch (behavior) {
    case Behavior::removed:
        for (const Part &part : parts)
            if (!part.matched) result.push_back(part.text);
        return;
    case Behavior::isolated:
        for (const Part &part : parts) result.push_back(part.text);
        return;
    case Behavior::merged_with_next: return add_merged_with_next(parts, result);
    case Behavior::merged_with_previous:
    case Behavior::contiguous: return add_merged(parts, behavior, result);
    }
}

Status cut_by(const Step &step, std::string_view piece, std::vector<std::string_view> &result) {
    std::vector<Part> parts;
    if (step.kind == Step::Kind::set) {
        parts = parts_by(step.set, piece);
    } else {
        LW_ASSIGN(parts, step.pattern->parts(piece));
    }
    if (step.invert)
        for (Part &part : parts) part.matched = !part.matched;
    const size_t start = result.size();
    add(parts, step.behavior, result);
    result.erase(std::remove_if(result.begin() + static_cast<ptrdiff_t>(start), result.end(),
                                [](std::string_view text) { return text.empty(); }),
                 result.end());
    return {};
}

} // namespace

const std::string &character_of(unsigned char byte) { return byte_characters().of_byte[byte]; }

std::optional<std::string> bytes_of(std::string_view text) {
    const auto &characters = byte_characters().bytes;
    std::string bytes;
    for (size_t i = 0; i < text.size();) {
        const size_t n = (static_cast<unsigned char>(text[i]) & 0x80) ? 2 : 1;
        const auto byte = characters.find(std::string(text.substr(i, n)));
        if (byte == characters.end()) return std::nullopt;
        bytes += byte->second;
        i += n;
    }
    return bytes;
}

Expected<Pieces> cut(std::string_view text, const std::vector<Step> &steps) {
    Pieces pieces;
    pieces.list = {text};
    bool as_characters = false; // every byte is a character
    for (const Step &step : steps) {
        std::vector<std::string_view> finer;
        for (std::string_view piece : pieces.list) {
            if (step.prefix_space && piece[0] != ' ')
                piece = pieces.made.emplace_back(' ' + std::string(piece));
            if (step.kind == Step::Kind::byte_level && !step.pattern) finer.push_back(piece);
            else LW_TRY(cut_by(step, piece, finer));
        }
        pieces.list.swap(finer);
        if (step.kind != Step::Kind::byte_level || &step == &steps.back()) continue;
        as_characters = true;
        for (std::string_view &piece : pieces.list) piece = pieces.made.emplace_back(mapped(piece));
    }
    if (as_characters)
        for (std::string_view &piece : pieces.list)
            piece = pieces.made.emplace_back(bytes_of(piece).value_or(""));
    return pieces;
}

} // namespace longwave::tokenizer
