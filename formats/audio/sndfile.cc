// Compressed audio, and containers that are no WAV, through libsndfile.
#include "formats/audio/source.h"
#include "formats/audio/virtual_file.h"
#include <algorithm>
#include <utility>

namespace longwave::audio {
namespace {

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
