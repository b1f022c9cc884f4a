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
    std::vector<float> input, taps; // channel after channel
};

// All memory of one contestant, given out from its beginning in pieces that begin on a line and are zero at
// first. As in the runtime it is one block, on huge pages when it is large: both sides have that.
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

std::unique_ptr<Contestant> fftw_right_angle(const Problem &problem, bool patient);
std::unique_ptr<Contestant> fftw_rfft(const Problem &problem, bool patient);
// `form`: "right_angle" or "polyphase".
Expected<std::unique_ptr<Contestant>> ours(const Problem &problem, const std::string &form,
                                           const std::string &target, const std::string &kgen);
std::string fftw_version();

} // namespace longwave::bench
