// Text on its way out as it comes: whole characters, and nothing of a stop sequence.
#pragma once
#include "formats/base/expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace longwave::cli {

// Looks for stop sequences in a text that comes in pieces.
class StopText {
public:
    explicit StopText(std::vector<std::string> stops);

    // The piece of the text that may be shown now: all but what may belong to a stop sequence or to a character
    // that is not complete. A stop sequence that is complete, and what follows it, is never shown.
    std::string add(std::string_view bytes);
    // What was held back; for the end of a text that no stop sequence ended.
    std::string rest();
    // The newest bytes of the text were shown before: only stop sequences are looked for in them.
    void shown(std::string_view bytes);
    // Which one is complete, or null.
    const std::string *complete() const { return found_; }

private:
    void trim();
    std::vector<std::string> stops_;
    size_t longest_ = 0;
    std::string text_; // its end, as far back as a stop sequence reaches
    size_t shown_ = 0; // of text_
    const std::string *found_ = nullptr;
};

// Standard output, at once. On a terminal control characters are replaced, for it would obey them; elsewhere
// every byte goes as it is.
class TextOutput {
public:
    TextOutput();
    void write(std::string_view text);
    void end();                               // a line end, on a terminal that stands within a line
    bool read() const { return error_ == 0; } // does anybody still read it?
    // A reader that has gone (head) is an end like any other; a full disk is not.
    Status status() const;

private:
    bool terminal_, within_line_ = false;
    int error_ = 0;
};

} // namespace longwave::cli
