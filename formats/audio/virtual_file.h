// Bytes as the file that libsndfile reads. A real file, or a pipe of which the last bytes are kept:
// libsndfile looks at the beginning more than once, and goes a little back in Ogg files.
#pragma once
#include "formats/audio/bytes.h"
#include <memory>
#include <sndfile.h>
#include <string_view>

namespace longwave::audio {

class VirtualFile {
public:
    // The file begins at the next byte.
    static Expected<std::unique_ptr<VirtualFile>> create(Bytes bytes);

    SNDFILE *open(SF_INFO *info);
    const std::string &name() const { return bytes_.name(); }
    bool pipe() const { return bytes_.pipe(); }
    const Status &status() const { return status_; } // of the last read
    // Of Ogg that has been read: is the last page whole, and marked as the end of its stream?
    Expected<bool> ends_with_last_page();
    // Is `text` anywhere behind the first byte? The last step: nothing can be read behind it. Of a pipe, in
    // what is kept of the bytes so far, and with `to_the_end` in the rest.
    Expected<bool> contains(std::string_view text, bool to_the_end);

private:
    explicit VirtualFile(Bytes bytes) : bytes_(std::move(bytes)) {}
    sf_count_t length() const { return length_; }
    sf_count_t seek(sf_count_t offset, int whence);
    sf_count_t read(uint8_t *out, sf_count_t n);

    Bytes bytes_;
    uint64_t begin_ = 0;        // of a file: its first byte
    sf_count_t length_ = 0;     // of a pipe: the largest number, which libsndfile takes for unknown
    sf_count_t at_ = 0;         // of the next byte
    sf_count_t end_ = 0;        // of a pipe: the bytes that have been read
    std::vector<uint8_t> kept_; // of a pipe: those before `end_`
    Status status_;
};

} // namespace longwave::audio
