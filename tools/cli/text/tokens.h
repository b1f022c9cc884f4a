// Text as token ids and back: liblongwave-text with C++ lifetimes, and the flags of a tokenizer.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/command_line/command_line.h"
#include <cstdint>
#include <longwave/text.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::cli {

class Tokens {
public:
    // Ids are bytes if the vocabulary has 256 ids and there is no tokenizer file. Otherwise `file`
    // is read. If it is empty, MODEL.tokenizer.json next to MODEL.lw is read. Fault::input: the
    // file cannot be read, or its ids exceed the vocabulary. Fault::usage: the model needs a
    // tokenizer file.
    static Expected<Tokens> open(const std::string &model, uint32_t vocabulary, std::string file);

    // Ids of any bytes, valid UTF-8 or not, without special tokens.
    Expected<std::vector<int32_t>> encode(std::string_view text) const;
    // The special tokens of a side, LW_TEXT_BEGIN or LW_TEXT_END, as --special says.
    std::vector<int32_t> special(const std::string &choice, uint32_t side) const;
    // "<s> (1)", for people
    std::string named(const std::vector<int32_t> &ids) const;
    // The bytes of an id; empty for an id that is not in use.
    std::string_view bytes(int32_t id) const;
    // The ids of a text are the ids of its pieces, wherever it is cut.
    bool divisible() const { return lw_tokenizer_divisible(handle_.get()) != 0; }

private:
    std::shared_ptr<lw_tokenizer> handle_;
};

// --tokenizer and --special, of the commands that read or write text.
struct TokenizerFlags {
    std::string file, special = "begin";
    void add(CommandLine &app);
};

} // namespace longwave::cli
