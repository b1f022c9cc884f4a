// Text as token ids and back: liblongwave-text with C++ lifetimes, and the flag that names a
// tokenizer.
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

    // Ids of any bytes, valid UTF-8 or not.
    Expected<std::vector<int32_t>> encode(std::string_view text) const;
    // The bytes of an id; empty for an id that is not in use.
    std::string_view bytes(int32_t id) const;
    // The ids of a text are the ids of its pieces, wherever it is cut.
    bool divisible() const { return lw_tokenizer_divisible(handle_.get()) != 0; }

private:
    std::shared_ptr<lw_tokenizer> handle_;
};

// --tokenizer, of the commands that read or write text.
void add_tokenizer_flag(CommandLine &app, std::string &file);

} // namespace longwave::cli
