#include "formats/audio/virtual_file.h"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace longwave::audio {
namespace {

constexpr size_t most_kept = 65536;
// Headers are read in pieces that must be whole. Later a piece is what has arrived.
constexpr sf_count_t whole_pieces = 512;

} // namespace

Expected<std::unique_ptr<VirtualFile>> VirtualFile::create(Bytes bytes) {
    auto file = std::unique_ptr<VirtualFile>(new VirtualFile(std::move(bytes)));
    if (file->pipe()) {
        file->length_ = SF_COUNT_MAX;
        return file;
    }
    LW_ASSIGN(file->begin_, file->bytes_.place());
    LW_ASSIGN(const uint64_t size, file->bytes_.size());
    file->length_ = static_cast<sf_count_t>(size - std::min(size, file->begin_));
    LW_TRY(file->bytes_.move_to(file->begin_));
    return file;
}

SNDFILE *VirtualFile::open(SF_INFO *info) {
    static SF_VIRTUAL_IO io = {[](void *user) { return static_cast<VirtualFile *>(user)->length(); },
                               [](sf_count_t offset, int whence, void *user) {
                                   return static_cast<VirtualFile *>(user)->seek(offset, whence);
                               },
                               [](void *out, sf_count_t n, void *user) {
                                   return static_cast<VirtualFile *>(user)->read(static_cast<uint8_t *>(out),
                                                                                 n);
                               },
                               [](const void *, sf_count_t, void *) { return sf_count_t{0}; },
                               [](void *user) { return static_cast<VirtualFile *>(user)->at_; }};
    return sf_open_virtual(&io, SFM_READ, info, this);
}

sf_count_t VirtualFile::seek(sf_count_t offset, int whence) {
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? at_ : length_;
    if (offset > 0 && from > SF_COUNT_MAX - offset) return -1;
    const sf_count_t to = from + offset;
    if (pipe()) {
        if (to > end_ || to < end_ - static_cast<sf_count_t>(kept_.size())) return -1;
        return at_ = to;
    }
    if (to < 0) return -1;
    status_ = bytes_.move_to(begin_ + static_cast<uint64_t>(to));
    return status_ ? at_ = to : -1;
}

sf_count_t VirtualFile::read(uint8_t *out, sf_count_t n) {
    if (n <= 0) return 0;
    const auto wanted = static_cast<size_t>(n);
    if (!pipe()) {
        const auto got = bytes_.all(out, wanted);
        if (!got) return status_ = got.status(), 0;
        at_ += static_cast<sf_count_t>(*got);
        return static_cast<sf_count_t>(*got);
    }
    size_t done = 0;
    while (done < wanted) {
        if (at_ < end_) { // again
            const size_t back = static_cast<size_t>(end_ - at_), take = std::min(back, wanted - done);
            std::memcpy(out + done, kept_.data() + (kept_.size() - back), take);
            at_ += static_cast<sf_count_t>(take);
            done += take;
            continue;
        }
        if (done > 0 && at_ >= whole_pieces) break;
        const auto got = bytes_.some(out + done, wanted - done);
        if (!got) {
            status_ = got.status();
            break;
        }
        if (*got == 0) break;
        kept_.insert(kept_.end(), out + done, out + done + *got);
        if (kept_.size() > 2 * most_kept)
            kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(most_kept));
        done += *got;
        at_ = end_ += static_cast<sf_count_t>(*got);
    }
    return static_cast<sf_count_t>(done);
}

Expected<bool> VirtualFile::ends_with_last_page() {
    std::vector<uint8_t> tail = kept_; // of a pipe
    if (!pipe()) {
        const auto length = static_cast<uint64_t>(length_), size = std::min<uint64_t>(length, most_kept);
        tail.resize(size);
        LW_TRY(bytes_.move_to(begin_ + length - size));
        LW_ASSIGN(const size_t got, bytes_.all(tail.data(), size));
        tail.resize(got);
    }
    // RFC 3533: the flags are byte 5, and the number of segments, whose sizes follow, is byte 26.
    constexpr std::string_view name("OggS\0", 5);
    constexpr size_t head = 27, last_of_stream = 4;
    const auto page = std::find_end(tail.begin(), tail.end(), name.begin(), name.end(),
                                    [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
    const auto left = static_cast<size_t>(tail.end() - page);
    if (left < head || left < head + page[26] || !(page[5] & last_of_stream)) return false;
    return std::accumulate(page + head, page + head + page[26], head + page[26]) <= left;
}

Expected<bool> VirtualFile::contains(std::string_view text, bool to_the_end) {
    std::vector<uint8_t> window; // of a pipe: what is still known of the bytes before
    if (pipe()) window = std::move(kept_);
    else LW_TRY(bytes_.move_to(begin_));
    bool first = !pipe() || static_cast<sf_count_t>(window.size()) == end_;
    kept_.clear();
    at_ = end_; // nothing is left to go back to
    for (;;) {
        const auto from = window.begin() + (first && !window.empty() ? 1 : 0);
        if (std::search(from, window.end(), text.begin(), text.end(),
                        [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }) != window.end())
            return true;
        if (window.size() >= text.size()) {
            window.erase(window.begin(), window.end() - static_cast<std::ptrdiff_t>(text.size() - 1));
            first = false;
        }
        if (pipe() && !to_the_end) return false;
        uint8_t part[16384];
        LW_ASSIGN(const size_t got, bytes_.some(part, sizeof part));
        if (got == 0) return false;
        window.insert(window.end(), part, part + got);
    }
}

} // namespace longwave::audio
