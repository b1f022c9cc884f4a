// A text that a verb reads: given on the command line, in a file, or through standard input.
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

    // The next bytes, at most so many; none at the end, and when the program is asked to stop.
    Expected<std::string> read(size_t most);
    // All that are left.
    Expected<std::string> rest();
    size_t size() const; // of a file; 0: not known before it is read
    const std::string &name() const { return name_; }

private:
    std::string name_, text_; // text_: what is left of it, without a file
    int file_ = -1;
    std::shared_ptr<void> closes_;
};

// A small file whole. Fault::input when it cannot be read, or is larger than `most`.
Expected<std::vector<uint8_t>> read_bytes(const std::string &path, uint64_t most);

} // namespace longwave::cli
