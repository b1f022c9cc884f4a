// Another sample rate, through soxr at high quality.
#include "formats/audio/source.h"
#include <soxr.h>

namespace longwave::audio {
namespace {

class ResampledSource final : public Source {
public:
    ~ResampledSource() override { soxr_delete(soxr); }

    Expected<size_t> read(float *samples, size_t n) override {
        while (!ended_) {
            if (have_ == 0 && !finished_) {
                LW_ASSIGN(have_, from->read(buffer_, sizeof buffer_ / sizeof *buffer_));
                start_ = 0;
                finished_ = have_ == 0;
            }
            size_t used = 0, made = 0;
            // At the end of the input a null pointer asks soxr for what it still holds.
            if (soxr_error_t error = soxr_process(soxr, finished_ ? nullptr : buffer_ + start_, have_, &used,
                                                  samples, n, &made))
                return Status::internal(std::string("resampling failed: ") + error);
            start_ += used;
            have_ -= used;
            if (made > 0) return made;
            if (finished_) ended_ = true;
        }
        return size_t{0};
    }

    SourcePtr from;
    soxr_t soxr = nullptr;

private:
    float buffer_[4096];
    size_t start_ = 0, have_ = 0;
    bool finished_ = false, ended_ = false;
};

} // namespace

Expected<SourcePtr> resampled(SourcePtr source, uint32_t sample_rate) {
    auto result = std::make_unique<ResampledSource>();
    soxr_error_t error = nullptr;
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    result->soxr = soxr_create(source->sample_rate, sample_rate, 1, &error, nullptr, &quality, nullptr);
    if (!result->soxr)
        return Status::input("cannot resample from " + std::to_string(source->sample_rate) + " to " +
                             std::to_string(sample_rate) + " Hz" + (error ? std::string(": ") + error : ""));
    result->from = std::move(source);
    result->sample_rate = sample_rate;
    return SourcePtr(std::move(result));
}

} // namespace longwave::audio
