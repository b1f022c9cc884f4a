// A text cut into the pieces that byte-level BPE works on, by the regular expressions of a
// tokenizer.json.
#pragma once
#include "formats/base/expected.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

// Immutable: threads may share it.
class Pattern {
public:
    // Fault::input, with `where` before it: the expression is wrong.
    static Expected<Pattern> compile(const std::string &expression, const std::string &where);
    // Adds the matches and the text between them, in order: together they are the text. Bytes that
    // are not UTF-8 match nothing. Fault::input: the expression exceeds its limit of steps.
    // Fault::device: no memory.
    Status split(std::string_view text, std::vector<std::string_view> &pieces) const;

private:
    std::shared_ptr<void> code_;
};

} // namespace longwave::tokenizer
