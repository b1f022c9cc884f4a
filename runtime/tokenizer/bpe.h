// Byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2) as the `tokenizer.json` of Hugging
// Face describes it.
#pragma once
#include "runtime/tokenizer/pretokens.h"
#include <array>
#include <cstdint>
#include <unordered_map>

namespace longwave::tokenizer {

struct AddedToken {
    std::string text;
    int32_t id = 0;
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
    // The first list is searched in the text, the second list in the text between the tokens of the
    // first.
    std::vector<AddedToken> added[2];
    // `splits` cut a text, one after the other. With prefix_space, each piece that does not begin
    // with a space gets one. Then `last` cuts the pieces.
    std::vector<Pattern> splits, last;
    bool prefix_space = false;
    bool whole_first = false; // `ignore_merges`: a piece that is a token is that token

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
    explicit Bpe(BpeTables tables);
    Bpe(const Bpe &) = delete; // starts_ points into the tables
    Bpe &operator=(const Bpe &) = delete;
    // Ids of any bytes, valid UTF-8 or not.
    std::vector<int32_t> encode(std::string_view text) const;
    // The bytes of every id; empty for an id that the file does not use.
    const std::vector<std::string> &bytes() const { return tables_.bytes; }

private:
    const AddedToken *token_at(std::string_view text, size_t pass) const;
    void added(std::string_view text, size_t pass, std::vector<int32_t> &ids) const;
    void plain(std::string_view text, std::vector<int32_t> &ids) const;
    void join(std::string_view piece, std::vector<int32_t> &ids) const;

    BpeTables tables_;
    std::array<std::vector<const AddedToken *>, 256>
        starts_[2]; // added tokens of a pass, by their first byte
};

} // namespace longwave::tokenizer
