// The pre-tokenizers of a tokenizer.json: how a text is cut into the pieces that BPE works on.
#pragma once
#include "formats/base/expected.h"
#include "runtime/tokenizer/expression/expression.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

// The regular expressions of a tokenizer.json, applied to a text by PCRE2.

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

// The fate of the matches.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct Step {
    enum class Kind { pattern, set, byte_level };
    Kind kind = Kind::pattern;
    std::optional<Pattern> pattern; // of pattern, and of byte_level with its expression
    CodePoints set;                 // its characters are matches, one by one
    Behavior behavior = Behavior::isolated;
    bool invert = false; // the text between the matches counts as matched
    // byte_level: a piece that does not begin with a space gets one. Every byte becomes a character
    // for the steps that follow.
    bool prefix_space = false;
};

// The character that stands for a byte after ByteLevel, and in the vocabulary: printable ones for
// themselves, the others from U+0100 on (GPT-2's bytes_to_unicode).
const std::string &character_of(unsigned char byte);
// The bytes of a text of such characters; nothing: it has another character.
std::optional<std::string> bytes_of(std::string_view text);

struct Pieces {
    std::vector<std::string_view> list;
    std::deque<std::string> made; // texts that `list` points into
};

// Fault::input: an expression takes too many steps. Fault::device: no memory.
Expected<Pieces> cut(std::string_view text, const std::vector<Step> &steps);

// The normalizers of a tokenizer.json: NFC and its relatives.

enum class Form { nfc, nfd, nfkc, nfkd };

// The text in these forms, one after the other. Bytes that are not UTF-8 stay.
std::string normalized(std::string_view text, const std::vector<Form> &forms);

} // namespace longwave::tokenizer
