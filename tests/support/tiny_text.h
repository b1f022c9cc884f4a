// A language model made by hand.
#pragma once
#include "tests/support/tiny_model.h"

namespace longwave::test {

// Tokens; the logits behind an id are a row of the table, `vocabulary` × `vocabulary`, times the
// gain: a bigram. One stream entry for each block, which divide the largest; outputs: "logits", one
// row an id.
struct Bigram {
    uint32_t vocabulary = 0;
    std::vector<float> table;
    std::vector<uint32_t> blocks = {1};
    float gain = 1;
};
Draft bigram_model(const Bigram &bigram);

// Over bytes: behind each letter the next of the alphabet is likeliest, by a logit of 3 over the
// others, and "a" behind "z" and behind everything else. Blocks 1, 8 and 64.
Bigram alphabet();

} // namespace longwave::test
