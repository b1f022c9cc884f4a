// Writes text token by token: complete characters only, and no part of a stop sequence.
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

    // The text that can be shown now: without an incomplete character and without the possible
    // beginning of a stop sequence. A complete stop sequence, and the text after it, are never
    // shown.
    std::string add(std::string_view bytes);
    // The text that was held back. For the end of a text without a stop sequence.
    std::string rest();
    // Bytes that were shown before. They are only searched for stop sequences.
    void shown(std::string_view bytes);
    // The complete stop sequence, or null.
    const std::string *complete() const { return found_; }

private:
    void trim();
    std::vector<std::string> stops_;
    size_t longest_ = 0;
    std::string text_; // the end of the text, as long as the longest stop sequence
    size_t shown_ = 0; // of text_
    const std::string *found_ = nullptr;
};

// Unbuffered standard output. On a terminal, control characters are replaced, because a terminal
// obeys them.
class TextOutput {
public:
    TextOutput();
    void write(std::string_view text);
    void end();                               // ends the line, on a terminal only
    bool read() const { return error_ == 0; } // false: the reader has closed the pipe
    // A reader that closes the pipe (head) is a normal end. A full disk is an error.
    Status status() const;

private:
    bool terminal_, within_line_ = false;
    int error_ = 0;
};

// Where standard output and standard error go.

// Whether both go to one terminal, file or pipe. Then an error is printed once, as text.
bool output_beside_errors();

} // namespace longwave::cli
