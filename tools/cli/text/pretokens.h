// A text cut into the pieces that byte-level BPE works on: the regular expressions of a tokenizer.json.
#pragma once
#include "formats/base/expected.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::cli {

class Pattern {
public:
    // Fault::input, with `where` before it: no regular expression.
    static Expected<Pattern> compile(const std::string &expression, const std::string &where);
    // Adds the matches and what lies between them, in order: together they are the text. Bytes that are no UTF-8
    // match nothing.
    Status split(std::string_view text, std::vector<std::string_view> &pieces) const;

private:
    std::shared_ptr<void> code_, match_;
};

} // namespace longwave::cli
