// The regular expressions of a tokenizer.json, applied to a text by PCRE2.
#pragma once
#include "formats/base/expected.h"
#include "runtime/tokenizer/expression/expression.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

// A part of a text: what a pattern matched, or what lies between two matches. It may be empty.
struct Part {
    std::string_view text;
    bool matched = false;
};

// Immutable: threads may share it.
class Pattern {
public:
    // Fault::input, with `where` before it: the expression is wrong or not supported.
    static Expected<Pattern> compile(std::string_view expression, const std::string &where);
    static Expected<Pattern> compile(const Expression &expression, const std::string &where);
    // The parts of a text, in order: together they are the text. Bytes that are not UTF-8 match
    // nothing. Fault::input: the expression exceeds its limit of steps. Fault::device: no memory.
    Expected<std::vector<Part>> parts(std::string_view text) const;

private:
    std::shared_ptr<void> code_;
};

} // namespace longwave::tokenizer
