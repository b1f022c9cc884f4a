#include "tools/cli/text/text_input.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::cli {

TextInput TextInput::of(std::string text) {
    TextInput input;
    input.name_ = "--prompt";
    input.text_ = std::move(text);
    return input;
}

Expected<TextInput> TextInput::open(const std::string &path) {
    TextInput input;
    input.name_ = path == "-" ? "standard input" : path;
    input.file_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (input.file_ < 0) return Status::input(path + ": cannot be read: " + std::strerror(errno));
    if (path != "-")
        input.closes_ = std::shared_ptr<void>(nullptr, [file = input.file_](void *) { close(file); });
    return input;
}

size_t TextInput::size() const {
    struct stat info;
    return file_ >= 0 && fstat(file_, &info) == 0 && S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size)
                                                                           : text_.size();
}

Expected<std::string> TextInput::read(size_t most) {
    if (file_ < 0) {
        std::string piece = text_.substr(0, most);
        text_.erase(0, most);
        return piece;
    }
    std::string piece;
    size_t n = 0;
    while (n < most && !stopped) {       // full pieces, so that the size of writes to a pipe does not matter
        constexpr size_t step = 1 << 20; // memory grows with the data
        if (n == piece.size()) piece.resize(std::min(most, n + step));
        const ssize_t got = ::read(file_, piece.data() + n, piece.size() - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Status::input(name_ + ": cannot be read: " + std::strerror(errno));
        if (got == 0) break;
        n += static_cast<size_t>(got);
    }
    piece.resize(n);
    return piece;
}

Expected<std::string> TextInput::rest() {
    std::string all;
    for (;;) {
        LW_ASSIGN(const std::string piece, read(size_t{1} << 20));
        if (piece.empty()) return all;
        all += piece;
    }
}

} // namespace longwave::cli
