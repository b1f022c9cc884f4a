#include "tools/cli/text/text_output.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <longwave/text.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::cli {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
    for (const std::string &stop : stops_) longest_ = std::max(longest_, stop.size());
}

void StopText::shown(std::string_view bytes) {
    text_ += bytes;
    shown_ = text_.size();
    trim();
}

// Shown text is needed only as far back as the longest stop sequence.
void StopText::trim() {
    const size_t needed = longest_ > 0 ? longest_ - 1 : 0;
    const size_t drop = std::min(shown_, text_.size() > needed ? text_.size() - needed : 0);
    text_.erase(0, drop);
    shown_ -= drop;
}

std::string StopText::add(std::string_view bytes) {
    if (found_) return {};
    const size_t before = text_.size();
    text_ += bytes;
    size_t end = text_.size();
    for (const std::string &stop : stops_) { // the first match wins
        const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
        const size_t at = text_.find(stop, from);
        if (at == std::string::npos || (found_ && at >= end)) continue;
        found_ = &stop;
        end = at;
    }
    if (!found_) {
        size_t held = lw_utf8_incomplete(text_.data(), text_.size());
        for (const std::string &stop : stops_)
            for (size_t n = std::min(stop.size() - 1, text_.size()); n > held; n--)
                if (text_.compare(text_.size() - n, n, stop, 0, n) == 0) held = n;
        end -= held;
    }
    std::string piece = end > shown_ ? text_.substr(shown_, end - shown_) : std::string();
    shown_ = std::max(shown_, end);
    trim();
    return piece;
}

std::string StopText::rest() {
    if (found_) return {};
    std::string piece = text_.substr(shown_);
    shown_ = text_.size();
    trim();
    return piece;
}

TextOutput::TextOutput() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void TextOutput::write(std::string_view text) {
    if (error_ != 0 || text.empty()) return;
    std::string safe;
    if (terminal_) {
        safe = printable_writing(text);
        text = safe;
        within_line_ = text.back() != '\n';
    }
    while (!text.empty() && error_ == 0) { // a signal during a blocked write loses nothing
        const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n >= 0) text.remove_prefix(static_cast<size_t>(n));
        else if (errno != EINTR) error_ = errno;
    }
}

void TextOutput::end() {
    if (within_line_) write("\n");
}

Status TextOutput::status() const {
    return error_ == 0 || error_ == EPIPE
               ? Status()
               : Status::device(std::string("standard output cannot be written: ") + std::strerror(error_));
}

bool output_beside_errors() {
    struct stat output, errors;
    return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &errors) == 0 &&
           output.st_dev == errors.st_dev && output.st_ino == errors.st_ino;
}

} // namespace longwave::cli
