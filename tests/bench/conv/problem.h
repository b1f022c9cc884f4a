// One benchmark problem and the contestants that solve it.
#pragma once
#include "formats/base/expected.h"
#include <memory>
#include <string>
#include <vector>

namespace longwave::bench {

struct Problem {
    int length = 0, channels = 0;
    std::vector<float> input, taps; // channel after channel
};

class Contestant {
public:
    virtual ~Contestant() = default;
    virtual void run() = 0; // all channels once
    virtual float output(int channel, int t) const = 0;
};

std::unique_ptr<Contestant> fftw_right_angle(const Problem &problem, bool patient);
std::unique_ptr<Contestant> fftw_rfft(const Problem &problem, bool patient);
Expected<std::unique_ptr<Contestant>> ours(const Problem &problem, const std::string &target,
                                           const std::string &kgen);
std::string fftw_version();

} // namespace longwave::bench
