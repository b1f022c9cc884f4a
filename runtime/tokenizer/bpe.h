// Byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2) as the `tokenizer.json` of Hugging
// Face describes it.
#pragma once
#include "runtime/tokenizer/steps.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace longwave::tokenizer {

// Added tokens: texts that are one id wherever they stand.

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

// The checked contents of the file.
struct BpeTables {
    struct Merge {
        uint32_t rank = 0;
        int32_t id = 0; // of the two together
    };
    std::unordered_map<std::string, int32_t> ids; // by bytes
    std::unordered_map<uint64_t, Merge> merges;   // by pair()
    std::vector<std::string> bytes;               // by id; added tokens too
    std::array<int32_t, 256> of_byte = {};
    // The first list is searched in the text. The text between its tokens is normalized, and the
    // second list is searched there.
    AddedTokens added[2];
    std::vector<Form> forms;
    std::vector<Step> steps;
    bool whole_first = false;        // `ignore_merges`: a piece that is a token is that token
    std::vector<int32_t> begin, end; // ids that the post-processor puts around a text
    bool keeps_text = true;          // the bytes of the ids are the text, but for added spaces

    static uint64_t pair(int32_t left, int32_t right) {
        return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    }
};

// From the text of tokenizer.json, any bytes. `name` starts every error. vocabulary 0: as many ids
// as the file has, at most 2^20. Fault::input: another kind of tokenizer. Fault::usage: an id
// exceeds the vocabulary.
Expected<BpeTables> bpe_of(std::string_view text, const std::string &name, uint32_t vocabulary);

// Token ids of a text. Immutable: threads may share it.
class Bpe {
public:
    explicit Bpe(BpeTables tables) : tables_(std::move(tables)) {}
    // Ids of any bytes, valid UTF-8 or not, without those of the post-processor. Fault::input: an
    // expression takes too many steps on this text. Fault::device: no memory.
    Expected<std::vector<int32_t>> encode(std::string_view text) const;
    const BpeTables &tables() const { return tables_; }

private:
    Status plain(std::string_view text, std::vector<int32_t> &ids) const;
    void join(std::string_view piece, std::vector<int32_t> &ids) const;

    BpeTables tables_;
};

} // namespace longwave::tokenizer
