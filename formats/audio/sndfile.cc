// Compressed audio, and containers that are no WAV, through libsndfile.
#include "formats/audio/bytes.h"
#include "formats/audio/source.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <sndfile.h>
#include <string_view>
#include <utility>

namespace longwave::audio {
namespace {

// Bytes as the file that libsndfile reads. A real file, or a pipe of which the last bytes are kept:
// libsndfile looks at the beginning more than once, and goes a little back in Ogg files.

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

constexpr size_t most_kept = 65536;
// Headers are read in pieces that must be whole. Later a piece is what has arrived.
constexpr sf_count_t whole_pieces = 512;

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

// libsndfile's reason, without its last full stop. Some of its texts say nothing or start with a codec.
std::string reason_of(SNDFILE *file) {
    std::string reason = sf_strerror(file);
    while (!reason.empty() && (reason.back() == '.' || reason.back() == ' ')) reason.pop_back();
    for (const char *nothing : {"No Error", "unknown error", "Unspecified internal error", "System error"})
        if (reason.empty() || reason.find(nothing) != std::string::npos) return "the data are damaged";
    return reason;
}

class SndfileSource final : public Source {
public:
    SndfileSource(std::unique_ptr<VirtualFile> input, std::string kind, const Options &options)
        : input_(std::move(input)), kind_(std::move(kind)), warn_(options.warn), stop_(options.stop) {}
    ~SndfileSource() override {
        if (file_) sf_close(file_);
    }

    Status open(uint32_t channel) {
        SF_INFO info = {};
        file_ = input_->open(&info);
        if (!file_) return failed("cannot be decoded");
        LW_TRY(check_channel(input_->name(), static_cast<uint32_t>(info.channels), channel));
        sample_rate = static_cast<uint32_t>(info.samplerate);
        channels_ = static_cast<uint32_t>(info.channels);
        offset_ = channel ? channel - 1 : 0;
        promised_ = info.frames;
        return {};
    }

    Expected<size_t> read(float *samples, size_t n) override {
        if (ended_ || n == 0) return size_t{0};
        // From a pipe little at a time: libsndfile waits until it has all of it.
        const auto frames = static_cast<sf_count_t>(std::min<size_t>(n, input_->pipe() ? 320 : 4096));
        frames_.resize(static_cast<size_t>(frames) * channels_);
        const sf_count_t got = sf_readf_float(file_, frames_.data(), frames);
        if (got <= 0 && !input_->status()) return input_->status();
        const bool damaged = got <= 0 && sf_error(file_);
        if (got > 0) there_ += got;
        if (got <= 0) LW_TRY(end(damaged));
        if (damaged) return failed("cannot be decoded further");
        for (sf_count_t i = 0; i < got; i++)
            samples[i] = frames_[static_cast<size_t>(i) * channels_ + offset_];
        return static_cast<size_t>(std::max<sf_count_t>(got, 0));
    }

private:
    Status end(bool damaged) {
        bool complete = true; // looked up before the rest is read
        if (kind_ == "Ogg" && !ended_) {
            LW_ASSIGN(complete, input_->ends_with_last_page());
        }
        LW_TRY(check_end(damaged));
        if (!damaged) tell_of_cut(complete); // else it is an error
        return {};
    }
    // libsndfile reads the first of several streams, one behind the other, and says nothing of the rest.
    // It may also call the second one damaged.
    Status check_end(bool damaged) {
        const std::string_view begin = kind_ == "Ogg"    ? std::string_view("OggS\0\2", 6)
                                       : kind_ == "FLAC" ? std::string_view("fLaC\0\0\0\42", 8)
                                                         : std::string_view();
        if (begin.empty() || std::exchange(ended_, true)) return {};
        LW_ASSIGN(const bool another, input_->contains(begin, !damaged));
        if (!another) return {};
        return Status::input(
            input_->name() + ": is " + kind_ +
            " with another stream behind the first, which is not read; join them into one stream");
    }
    // FLAC says how many samples follow. Ogg does not, but its last page is marked as the end.
    void tell_of_cut(bool complete) {
        const auto warn = std::exchange(warn_, nullptr);
        if (!warn || (stop_ && *stop_)) return;
        const bool known = promised_ > 0 && promised_ < SF_COUNT_MAX && kind_ != "Ogg";
        if (known && there_ < promised_)
            warn(
                cut_warning(input_->name(), static_cast<uint64_t>(promised_), static_cast<uint64_t>(there_)));
        if (!complete)
            warn(input_->name() + ": is cut: its last page is missing, and " + std::to_string(there_) +
                 " samples per channel are there");
    }
    Status failed(const char *what) const {
        if (!input_->status()) return input_->status();
        return Status::input(input_->name() + ": is " + kind_ + " and " + what + ": " + reason_of(file_));
    }

    std::unique_ptr<VirtualFile> input_;
    std::string kind_;
    SNDFILE *file_ = nullptr;
    uint32_t channels_ = 1, offset_ = 0;
    bool ended_ = false;
    sf_count_t promised_ = 0, there_ = 0; // samples per channel
    std::function<void(const std::string &)> warn_;
    const std::atomic<bool> *stop_;
    std::vector<float> frames_;
};

} // namespace

Expected<SourcePtr> open_sndfile(Bytes bytes, const std::string &kind, const Options &options) {
    LW_ASSIGN(auto input, VirtualFile::create(std::move(bytes)));
    auto source = std::make_unique<SndfileSource>(std::move(input), kind, options);
    LW_TRY(source->open(options.channel));
    return SourcePtr(std::move(source));
}

} // namespace longwave::audio
