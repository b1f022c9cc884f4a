// One benchmark problem and the contestants that solve it.
#pragma once
#include "formats/base/expected.h"
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace longwave::bench {

struct Problem {
    int length = 0, channels = 0;
    int tap_count = 0;              // the taps behind these are zero
    std::vector<float> input, taps; // channel after channel, `length` of both
};

// All memory of one contestant, given out from its beginning in pieces that begin on a line and are
// zero at first. As in the runtime it is one block, on huge pages when it is large: both sides have
// that.
class Memory {
public:
    explicit Memory(size_t floats);
    float *take(size_t floats);
    static size_t rounded(size_t floats) { return (floats + 15) / 16 * 16; }

private:
    struct Free {
        void operator()(float *p) const { std::free(p); }
    };
    std::unique_ptr<float[], Free> block_;
    size_t size_, used_ = 0;
};

class Contestant {
public:
    virtual ~Contestant() = default;
    virtual void run() = 0; // all channels once
    virtual float output(int channel, int t) const = 0;
};

// ns per sample: the best of a few runs in a row, so that an interruption does not count.
double best_ns(Contestant &contestant, int runs, double samples);

std::unique_ptr<Contestant> fftw_right_angle(const Problem &problem, bool patient);
std::unique_ptr<Contestant> fftw_rfft(const Problem &problem, bool patient);
// For fewer taps than samples: real transforms of the block length that is fastest here.
std::unique_ptr<Contestant> fftw_overlap_save(const Problem &problem, bool patient);
// `form`: "right_angle", "polyphase", or "overlap_add_phases" in its fastest block length.
Expected<std::unique_ptr<Contestant>> ours(const Problem &problem, const std::string &form,
                                           const std::string &target, const std::string &kgen);
std::string fftw_version();

} // namespace longwave::bench
