// Uniform partitions with FFTW, measured plans: what a careful user would write by hand.
#include "tests/bench/stream/contestant.h"
#include <algorithm>
#include <complex>
#include <cstring>
#include <fftw3.h>

namespace longwave::bench {
namespace {

class FftwStream final : public StreamContestant {
public:
    explicit FftwStream(const StreamProblem &p)
        : p_(p), block_(p.block), bins_(block_ + 1), stride_((bins_ + 15) / 16 * 16),
          partitions_((p.taps + p.block - 1) / p.block), time_(fftwf_alloc_real(2 * block_)),
          frequency_(fftwf_alloc_complex(bins_)),
          forward_(fftwf_plan_dft_r2c_1d(static_cast<int>(2 * block_), time_, frequency_, FFTW_MEASURE)),
          back_(fftwf_plan_dft_c2r_1d(static_cast<int>(2 * block_), frequency_, time_, FFTW_MEASURE)) {
        const size_t ring = partitions_ * stride_;
        for (auto *field : {&past_re_, &past_im_}) field->resize(p.channels * ring);
        for (auto *field : {&kernel_re_, &kernel_im_}) field->resize(p.channels * p.heard() * ring);
        for (auto *field : {&sum_re_, &sum_im_}) field->resize(stride_);
        before_.resize(p.channels * block_);
        for (uint32_t pair = 0; pair < p.channels * p.heard(); pair++)
            for (size_t q = 0; q < partitions_; q++) {
                std::memset(time_, 0, 2 * block_ * sizeof(float));
                for (size_t n = 0; n < block_ && q * block_ + n < p.taps; n++)
                    time_[n] =
                        p.kernel[size_t{pair} * p.taps + q * block_ + n] / static_cast<float>(2 * block_);
                fftwf_execute(forward_);
                split(&kernel_re_[pair * ring + q * stride_], &kernel_im_[pair * ring + q * stride_]);
            }
    }
    ~FftwStream() override {
        fftwf_destroy_plan(forward_);
        fftwf_destroy_plan(back_);
        fftwf_free(time_);
        fftwf_free(frequency_);
    }
    std::string name() const override { return "fftw-uniform"; }
    uint32_t period() const override { return 1; }

    Status block(const float *in, float *out) override {
        const size_t ring = partitions_ * stride_;
        for (uint32_t c = 0; c < p_.channels; c++) {
            float *before = &before_[c * block_], *re = &past_re_[c * ring], *im = &past_im_[c * ring];
            std::memcpy(time_, before, block_ * sizeof(float));
            for (size_t n = 0; n < block_; n++) before[n] = time_[block_ + n] = in[n * p_.channels + c];
            fftwf_execute(forward_);
            split(re + slot_ * stride_, im + slot_ * stride_);
        }
        for (uint32_t o = 0; o < p_.channels; o++) {
            for (auto *field : {&sum_re_, &sum_im_}) std::fill(field->begin(), field->end(), 0.f);
            for (uint32_t i = 0; i < p_.heard(); i++) {
                const size_t from = (p_.first(o) + i) * ring, kernel = (o * p_.heard() + i) * ring;
                multiply(&past_re_[from], &past_im_[from], &kernel_re_[kernel], &kernel_im_[kernel]);
            }
            for (size_t i = 0; i < bins_; i++) frequency_[i][0] = sum_re_[i], frequency_[i][1] = sum_im_[i];
            fftwf_execute(back_);
            for (size_t n = 0; n < block_; n++) out[n * p_.channels + o] = time_[block_ + n];
        }
        slot_ = (slot_ + 1) % partitions_;
        return {};
    }

private:
    void split(float *re, float *im) const {
        for (size_t i = 0; i < bins_; i++) re[i] = frequency_[i][0], im[i] = frequency_[i][1];
    }
    void multiply(const float *re, const float *im, const float *kernel_re, const float *kernel_im) {
        float *__restrict sum_re = sum_re_.data(), *__restrict sum_im = sum_im_.data();
        for (size_t q = 0; q < partitions_; q++) {
            const size_t at = (slot_ >= q ? slot_ - q : slot_ + partitions_ - q) * stride_, k = q * stride_;
            for (size_t i = 0; i < stride_; i++) {
                sum_re[i] += re[at + i] * kernel_re[k + i] - im[at + i] * kernel_im[k + i];
                sum_im[i] += re[at + i] * kernel_im[k + i] + im[at + i] * kernel_re[k + i];
            }
        }
    }

    const StreamProblem &p_;
    size_t block_, bins_, stride_, partitions_, slot_ = 0;
    float *time_;
    fftwf_complex *frequency_;
    fftwf_plan forward_, back_;
    std::vector<float> past_re_, past_im_, kernel_re_, kernel_im_, sum_re_, sum_im_, before_;
};

} // namespace

Streamer fftw_stream(const StreamProblem &problem) {
    return std::unique_ptr<StreamContestant>(std::make_unique<FftwStream>(problem));
}

} // namespace longwave::bench
