// Text as token ids and back.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::cli {

class Tokens {
public:
    virtual ~Tokens() = default;
    // Ids of any bytes, valid UTF-8 or not.
    virtual std::vector<int32_t> encode(std::string_view text) const = 0;
    // The bytes an id stands for; of an id that none has, none. Together those of encode() are the text again.
    virtual std::string_view bytes(int32_t id) const = 0;
    // Pieces of a text give the ids of the whole.
    virtual bool divisible() const = 0;
};

// Bytes, when the model's vocabulary has 256 ids and no tokenizer is named. Otherwise `file`, or, empty, the one
// beside the artifact: model.tokenizer.json beside model.lw. Fault::input: it cannot be read, or its ids exceed
// the vocabulary.
Expected<std::unique_ptr<Tokens>> tokens_of(const std::string &artifact, uint32_t vocabulary,
                                            std::string file);

} // namespace longwave::cli
