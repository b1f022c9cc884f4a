#include "runtime/tokenizer/added_tokens.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>

namespace longwave::tokenizer {
namespace {

bool is_word(uint32_t c) {
    static const CodePoints letters = [] {
        CodePoints set = word();
        set.add(0x200C, 0x200D); // the joiners
        return set;
    }();
    return letters.contains(c);
}

bool is_space(uint32_t c) {
    static const CodePoints spaces = white_space();
    return spaces.contains(c);
}

// The character that ends a text that is not empty.
Decoded last_of(std::string_view text) {
    for (size_t n = 1; n <= std::min<size_t>(4, text.size()); n++) {
        const Decoded decoded = decode(text.substr(text.size() - n));
        if (decoded.c != Decoded::invalid && decoded.bytes == n) return decoded;
    }
    return {};
}

} // namespace

void AddedTokens::add(AddedToken token) {
    std::vector<size_t> &list = starts_[static_cast<unsigned char>(token.text[0])];
    list.push_back(tokens_.size());
    tokens_.push_back(std::move(token));
    std::stable_sort(list.begin(), list.end(),
                     [this](size_t a, size_t b) { return tokens_[a].text.size() > tokens_[b].text.size(); });
}

const AddedToken *AddedTokens::at(std::string_view text) const {
    for (const size_t i : starts_[static_cast<unsigned char>(text[0])])
        if (text.starts_with(tokens_[i].text)) return &tokens_[i];
    return nullptr;
}

std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text) const {
    std::vector<Piece> pieces;
    size_t done = 0;
    for (size_t i = 0; i < text.size();) {
        const AddedToken *token = at(text.substr(i));
        if (!token) {
            i++;
            continue;
        }
        size_t start = i, end = i + token->text.size();
        i = end; // a token that is not taken is passed over
        if (token->single_word && ((start > 0 && is_word(last_of(text.substr(0, start)).c)) ||
                                   (end < text.size() && is_word(decode(text.substr(end)).c))))
            continue;
        while (token->strip_left && start > done && is_space(last_of(text.substr(0, start)).c))
            start -= last_of(text.substr(0, start)).bytes;
        while (token->strip_right && end < text.size() && is_space(decode(text.substr(end)).c))
            end += decode(text.substr(end)).bytes;
        if (done < start) pieces.push_back({text.substr(done, start - done), -1});
        pieces.push_back({text.substr(start, end - start), token->id});
        done = end;
    }
    if (done < text.size()) pieces.push_back({text.substr(done), -1});
    return pieces;
}

} // namespace longwave::tokenizer
