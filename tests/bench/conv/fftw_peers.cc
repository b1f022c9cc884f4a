// FFTW as strong as we can make it: measured plans, out of place, aligned, products and weights
// vectorised by the compiler for this machine.
#include "tests/bench/conv/problem.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <fftw3.h>

namespace longwave::bench {

namespace {

void multiply(float *__restrict to, const float *__restrict a, const float *__restrict b, int n) {
    for (int i = 0; i < n; i++) {
        const float ar = a[2 * i], ai = a[2 * i + 1], br = b[2 * i], bi = b[2 * i + 1];
        to[2 * i] = ar * br - ai * bi;
        to[2 * i + 1] = ar * bi + ai * br;
    }
}
void weight(float *__restrict to, const float *__restrict x, const float *__restrict w, int n) {
    for (int i = 0; i < n; i++) to[2 * i] = x[i] * w[2 * i], to[2 * i + 1] = x[i] * w[2 * i + 1];
}
// Re of a · conj(w)
void unweight(float *__restrict y, const float *__restrict a, const float *__restrict w, int n) {
    for (int i = 0; i < n; i++) y[i] = a[2 * i] * w[2 * i] + a[2 * i + 1] * w[2 * i + 1];
}

fftwf_complex *complex_of(float *f) { return reinterpret_cast<fftwf_complex *>(f); }

class Peer : public Contestant {
public:
    // `line`: the floats of a spectrum; one for each channel and three to work with.
    Peer(const Problem &problem, bool patient, size_t line)
        : p_(problem), flags_(patient ? FFTW_PATIENT : FFTW_MEASURE), line_(line),
          memory_(2 * Memory::rounded(problem.input.size()) +
                  (static_cast<size_t>(problem.channels) + 3) * Memory::rounded(line)),
          u_(memory_.take(problem.input.size())), y_(memory_.take(problem.input.size())),
          a_(memory_.take(line)), b_(memory_.take(line)), x_(memory_.take(line)) {
        for (int c = 0; c < problem.channels; c++) spectra_.push_back(memory_.take(line));
        std::copy(problem.input.begin(), problem.input.end(), u_);
    }
    ~Peer() override {
        fftwf_destroy_plan(forward_);
        fftwf_destroy_plan(backward_);
    }
    float output(int channel, int t) const override {
        return y_[static_cast<size_t>(channel) * static_cast<size_t>(p_.length) + static_cast<size_t>(t)];
    }

protected:
    const Problem &p_;
    unsigned flags_;
    size_t line_;
    Memory memory_;
    float *u_, *y_; // channel after channel
    float *a_, *b_, *x_;
    std::vector<float *> spectra_;
    fftwf_plan forward_ = nullptr, backward_ = nullptr;
};

// Weighted by exp(−iπn/2L), one complex transform of length L each way, product, unweighted: mod
// (z^L + i).
class RightAnglePeer : public Peer {
public:
    RightAnglePeer(const Problem &problem, bool patient)
        : Peer(problem, patient, 2 * static_cast<size_t>(problem.length)) {
        const int n = p_.length;
        forward_ = fftwf_plan_dft_1d(n, complex_of(a_), complex_of(b_), FFTW_FORWARD, flags_);
        backward_ = fftwf_plan_dft_1d(n, complex_of(a_), complex_of(b_), FFTW_BACKWARD, flags_);
        for (int i = 0; i < n; i++) {
            const std::complex<double> w = std::polar(1.0, -M_PI * i / (2.0 * n));
            x_[2 * i] = static_cast<float>(w.real()), x_[2 * i + 1] = static_cast<float>(w.imag());
        }
        for (int c = 0; c < p_.channels; c++) {
            weight(a_, &p_.taps[size_t(c) * size_t(n)], x_, n);
            fftwf_execute(forward_);
            for (int i = 0; i < 2 * n; i++) spectra_[size_t(c)][i] = b_[i] / static_cast<float>(n);
        }
    }
    void run() override {
        const size_t n = static_cast<size_t>(p_.length);
        for (size_t c = 0; c < static_cast<size_t>(p_.channels); c++) {
            weight(a_, &u_[c * n], x_, p_.length);
            fftwf_execute(forward_);
            multiply(a_, b_, spectra_[c], p_.length);
            fftwf_execute(backward_);
            unweight(&y_[c * n], b_, x_, p_.length);
        }
    }
};

// The textbook form: zero-padded to 2L, real transforms.
class RealPeer : public Peer {
public:
    RealPeer(const Problem &problem, bool patient)
        : Peer(problem, patient, 2 * (static_cast<size_t>(problem.length) + 1)) {
        const int n = p_.length;
        forward_ = fftwf_plan_dft_r2c_1d(2 * n, x_, complex_of(a_), flags_);
        backward_ = fftwf_plan_dft_c2r_1d(2 * n, complex_of(b_), x_, flags_);
        for (int c = 0; c < p_.channels; c++) {
            load(&p_.taps[size_t(c) * size_t(n)]);
            fftwf_execute(forward_);
            for (size_t i = 0; i < line_; i++) spectra_[size_t(c)][i] = a_[i] / static_cast<float>(2 * n);
        }
    }
    void run() override {
        const size_t n = static_cast<size_t>(p_.length);
        for (size_t c = 0; c < static_cast<size_t>(p_.channels); c++) {
            load(&u_[c * n]);
            fftwf_execute(forward_);
            multiply(b_, a_, spectra_[c], p_.length + 1);
            fftwf_execute(backward_);
            std::memcpy(&y_[c * n], x_, n * sizeof(float));
        }
    }

private:
    void load(const float *from) {
        const size_t n = static_cast<size_t>(p_.length);
        std::memcpy(x_, from, n * sizeof(float));
        std::memset(x_ + n, 0, n * sizeof(float));
    }
};

// Overlap-save: a real transform over each block and the taps before it. Zeros stand in front of a
// channel.
class OverlapSavePeer : public Contestant {
public:
    OverlapSavePeer(const Problem &problem, bool patient, size_t size)
        : p_(problem), size_(size), overlap_(Memory::rounded(size_t(problem.tap_count))),
          step_(size - overlap_), blocks_((size_t(problem.length) + step_ - 1) / step_),
          pitch_(overlap_ + blocks_ * step_),
          memory_(2 * size_t(problem.channels) * pitch_ +
                  (size_t(problem.channels) + 2) * Memory::rounded(line()) + size),
          u_(memory_.take(size_t(problem.channels) * pitch_)),
          y_(memory_.take(size_t(problem.channels) * pitch_)), a_(memory_.take(line())),
          b_(memory_.take(line())), x_(memory_.take(size)) {
        const unsigned flags = patient ? FFTW_PATIENT : FFTW_MEASURE;
        const int n = static_cast<int>(size);
        forward_ = fftwf_plan_dft_r2c_1d(n, x_, complex_of(a_), flags);
        backward_ = fftwf_plan_dft_c2r_1d(n, complex_of(b_), x_, flags);
        const size_t length = static_cast<size_t>(p_.length), taps = static_cast<size_t>(p_.tap_count);
        for (size_t c = 0; c < static_cast<size_t>(p_.channels); c++) {
            std::copy_n(&p_.input[c * length], length, u_ + c * pitch_ + overlap_);
            std::fill_n(x_, size, 0.0f);
            std::copy_n(&p_.taps[c * length], taps, x_);
            fftwf_execute(forward_);
            spectra_.push_back(memory_.take(line()));
            for (size_t i = 0; i < line(); i++) spectra_[c][i] = a_[i] / static_cast<float>(n);
        }
    }
    ~OverlapSavePeer() override {
        fftwf_destroy_plan(forward_);
        fftwf_destroy_plan(backward_);
    }
    void run() override {
        for (size_t c = 0; c < static_cast<size_t>(p_.channels); c++)
            for (size_t q = 0; q < blocks_; q++) {
                fftwf_execute_dft_r2c(forward_, u_ + c * pitch_ + q * step_, complex_of(a_));
                multiply(b_, a_, spectra_[c], static_cast<int>(line() / 2));
                fftwf_execute(backward_);
                std::memcpy(y_ + c * pitch_ + q * step_, x_ + overlap_, step_ * sizeof(float));
            }
    }
    float output(int channel, int t) const override {
        return y_[static_cast<size_t>(channel) * pitch_ + static_cast<size_t>(t)];
    }

private:
    size_t line() const { return size_ + 2; } // floats of a spectrum

    const Problem &p_;
    size_t size_, overlap_, step_, blocks_, pitch_;
    Memory memory_;
    float *u_, *y_, *a_, *b_, *x_;
    std::vector<float *> spectra_;
    fftwf_plan forward_ = nullptr, backward_ = nullptr;
};

} // namespace

std::unique_ptr<Contestant> fftw_overlap_save(const Problem &problem, bool patient) {
    std::unique_ptr<Contestant> best;
    double least = 0;
    const size_t taps = Memory::rounded(static_cast<size_t>(problem.tap_count));
    for (size_t size = 2 * taps; size <= 16 * taps; size *= 2) {
        auto one = std::make_unique<OverlapSavePeer>(problem, patient, size);
        const double ns = best_ns(*one, 5, 1);
        if (!best || ns < least) best = std::move(one), least = ns;
    }
    return best;
}
std::unique_ptr<Contestant> fftw_right_angle(const Problem &problem, bool patient) {
    return std::make_unique<RightAnglePeer>(problem, patient);
}
std::unique_ptr<Contestant> fftw_rfft(const Problem &problem, bool patient) {
    return std::make_unique<RealPeer>(problem, patient);
}
std::string fftw_version() { return fftwf_version; }

} // namespace longwave::bench
