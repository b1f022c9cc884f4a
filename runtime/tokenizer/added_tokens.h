// Added tokens: texts that are one id wherever they stand.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

struct AddedToken {
    std::string text;
    int32_t id = 0;
    bool single_word = false;                     // not inside a word
    bool strip_left = false, strip_right = false; // takes the white space next to it too
};

class AddedTokens {
public:
    void add(AddedToken token);

    // A piece of a text: a token, or the text between two of them (id −1).
    struct Piece {
        std::string_view text;
        int32_t id = -1;
    };
    // The longest token at the leftmost place counts.
    std::vector<Piece> split(std::string_view text) const;

private:
    const AddedToken *at(std::string_view text) const;
    std::vector<AddedToken> tokens_;
    std::array<std::vector<size_t>, 256> starts_; // by first byte, the longest first
};

} // namespace longwave::tokenizer
