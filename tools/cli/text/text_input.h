// A text that a command reads: from the command line, a file, or standard input.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace longwave::cli {

class TextInput {
public:
    static TextInput of(std::string text);
    // "-": standard input.
    static Expected<TextInput> open(const std::string &path);

    // The next bytes, at most `most`. Empty at the end, and after a signal to stop.
    Expected<std::string> read(size_t most);
    // All remaining bytes.
    Expected<std::string> rest();
    size_t size() const; // of a file, in bytes; 0: unknown
    const std::string &name() const { return name_; }

private:
    std::string name_, text_; // text_: the unread rest of a text without a file
    int file_ = -1;
    std::shared_ptr<void> closes_;
};

} // namespace longwave::cli
