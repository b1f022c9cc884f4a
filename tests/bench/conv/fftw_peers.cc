// FFTW as strong as we can make it: measured plans, out of place, aligned, products and weights vectorised by
// the compiler for this machine.
#include "tests/bench/conv/problem.h"
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

struct FreeFftw {
    void operator()(void *p) const { fftwf_free(p); }
};
using Floats = std::unique_ptr<float[], FreeFftw>;
Floats floats(size_t n) {
    Floats memory(fftwf_alloc_real(n));
    std::memset(memory.get(), 0, n * sizeof(float));
    return memory;
}
fftwf_complex *complex_of(const Floats &f) { return reinterpret_cast<fftwf_complex *>(f.get()); }

class Peer : public Contestant {
public:
    Peer(const Problem &problem, bool patient)
        : p_(problem), flags_(patient ? FFTW_PATIENT : FFTW_MEASURE), y_(problem.input.size()) {}
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
    std::vector<float> y_;
    fftwf_plan forward_ = nullptr, backward_ = nullptr;
    Floats a_, b_, spectra_;
};

// Weighted by exp(−iπn/2L), one complex transform of length L each way, product, unweighted: mod (z^L + i).
class RightAnglePeer : public Peer {
public:
    RightAnglePeer(const Problem &problem, bool patient) : Peer(problem, patient) {
        const int n = p_.length;
        a_ = floats(2 * size_t(n)), b_ = floats(2 * size_t(n)), weights_ = floats(2 * size_t(n));
        spectra_ = floats(2 * size_t(n) * size_t(p_.channels));
        forward_ = fftwf_plan_dft_1d(n, complex_of(a_), complex_of(b_), FFTW_FORWARD, flags_);
        backward_ = fftwf_plan_dft_1d(n, complex_of(a_), complex_of(b_), FFTW_BACKWARD, flags_);
        for (int i = 0; i < n; i++) {
            const std::complex<double> w = std::polar(1.0, -M_PI * i / (2.0 * n));
            weights_[2 * i] = static_cast<float>(w.real()),
                         weights_[2 * i + 1] = static_cast<float>(w.imag());
        }
        for (int c = 0; c < p_.channels; c++) {
            weight(a_.get(), &p_.taps[size_t(c) * size_t(n)], weights_.get(), n);
            fftwf_execute(forward_);
            for (int i = 0; i < 2 * n; i++)
                spectra_[size_t(c) * 2 * size_t(n) + size_t(i)] = b_[i] / static_cast<float>(n);
        }
    }
    void run() override {
        const size_t n = static_cast<size_t>(p_.length);
        for (size_t c = 0; c < static_cast<size_t>(p_.channels); c++) {
            weight(a_.get(), &p_.input[c * n], weights_.get(), p_.length);
            fftwf_execute(forward_);
            multiply(a_.get(), b_.get(), &spectra_[c * 2 * n], p_.length);
            fftwf_execute(backward_);
            unweight(&y_[c * n], b_.get(), weights_.get(), p_.length);
        }
    }

private:
    Floats weights_;
};

// The textbook form: zero-padded to 2L, real transforms.
class RealPeer : public Peer {
public:
    RealPeer(const Problem &problem, bool patient) : Peer(problem, patient) {
        const int n = p_.length;
        line_ = 2 * (size_t(n) + 1);
        a_ = floats(line_), b_ = floats(line_), x_ = floats(2 * size_t(n));
        spectra_ = floats(line_ * size_t(p_.channels));
        forward_ = fftwf_plan_dft_r2c_1d(2 * n, x_.get(), complex_of(a_), flags_);
        backward_ = fftwf_plan_dft_c2r_1d(2 * n, complex_of(b_), x_.get(), flags_);
        for (int c = 0; c < p_.channels; c++) {
            load(&p_.taps[size_t(c) * size_t(n)]);
            fftwf_execute(forward_);
            for (size_t i = 0; i < line_; i++)
                spectra_[size_t(c) * line_ + i] = a_[i] / static_cast<float>(2 * n);
        }
    }
    void run() override {
        const size_t n = static_cast<size_t>(p_.length);
        for (size_t c = 0; c < static_cast<size_t>(p_.channels); c++) {
            load(&p_.input[c * n]);
            fftwf_execute(forward_);
            multiply(b_.get(), a_.get(), &spectra_[c * line_], p_.length + 1);
            fftwf_execute(backward_);
            std::memcpy(&y_[c * n], x_.get(), n * sizeof(float));
        }
    }

private:
    void load(const float *from) {
        const size_t n = static_cast<size_t>(p_.length);
        std::memcpy(x_.get(), from, n * sizeof(float));
        std::memset(x_.get() + n, 0, n * sizeof(float));
    }
    size_t line_ = 0;
    Floats x_;
};

} // namespace

std::unique_ptr<Contestant> fftw_right_angle(const Problem &problem, bool patient) {
    return std::make_unique<RightAnglePeer>(problem, patient);
}
std::unique_ptr<Contestant> fftw_rfft(const Problem &problem, bool patient) {
    return std::make_unique<RealPeer>(problem, patient);
}
std::string fftw_version() { return fftwf_version; }

} // namespace longwave::bench
