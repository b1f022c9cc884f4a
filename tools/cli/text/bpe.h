// Byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2) as the `tokenizer.json` of Hugging Face describes it.
#pragma once
#include "tools/cli/text/pretokens.h"
#include "tools/cli/text/tokens.h"
#include <array>
#include <unordered_map>

namespace longwave::cli {

struct AddedToken {
    std::string text;
    int32_t id = 0;
};

// What the file says, checked.
struct BpeTables {
    struct Merge {
        uint32_t rank = 0;
        int32_t id = 0; // of the two together
    };
    std::unordered_map<std::string, int32_t> ids; // by bytes
    std::unordered_map<uint64_t, Merge> merges;   // by pair()
    std::vector<std::string> bytes;               // by id; added tokens too
    std::array<int32_t, 256> of_byte = {};
    std::vector<AddedToken> added[2]; // looked for in this order, each anywhere in what the first has left
    // A text is cut by `splits`, one behind the other; then each piece is given a space in front, unless it
    // begins with one; then it is cut by the last.
    std::vector<Pattern> splits, last;
    bool prefix_space = false;
    bool whole_first = false; // `ignore_merges`: a piece that is a token is that token

    static uint64_t pair(int32_t left, int32_t right) {
        return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    }
};

// bpe_file.cc: from the text of tokenizer.json, any bytes. Fault::input, with `name` before it: another kind of
// tokenizer, or one with ids that the model lacks.
Expected<BpeTables> bpe_of(std::string_view text, const std::string &name, uint32_t vocabulary);

Expected<std::unique_ptr<Tokens>> tokenizer_of(std::string_view text, const std::string &name,
                                               uint32_t vocabulary);

} // namespace longwave::cli
