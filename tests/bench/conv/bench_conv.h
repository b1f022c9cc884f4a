// Long convolution of whole sequences against FFTW: the same right-angle form with its best plan,
// and the usual real transform of twice the length.
#pragma once
#include "formats/base/expected.h"
#include <functional>
#include <string>
#include <vector>

namespace longwave::bench {

struct ConvOptions {
    std::vector<int> lengths = {256, 1024, 4096, 16384};
    int channels = 0; // 0: 64, from 4,096 rows on 32
    int taps = 0;     // 0: as many as samples
    std::string form; // the kernel: "right_angle", "polyphase", "overlap_add_phases"; empty: the fastest one
    std::string target;   // empty: the highest level this machine runs
    std::string kgen;     // longwave-kgen; empty: the one of this build
    double seconds = 2;   // time spent on each length, divided between the contestants in turns
    bool patient = false; // FFTW_PATIENT instead of FFTW_MEASURE (planning takes minutes)
};

struct ConvResult {
    int length = 0, channels = 0, taps = 0;
    std::string form;
    std::string peer;                 // "fftw-right-angle" or "fftw-overlap-save", "fftw-rfft-2L"
    double ours_ns = 0, peer_ns = 0;  // one output sample of one channel: median over rounds
    double ratio = 0;                 // median of the ratios within each round
    double error = 0, peer_error = 0; // relative L2 against float64 sums
};

// Of ConvResult::error: float32 transforms of up to a million samples make 1e-7 to 5e-7.
constexpr double most_conv_error = 2e-6;

// {"what":"conv-environment","cpu":…,"system":…,"target":…,"fftw":…,"plans":…,"compiler":…,"threads":1}:
// what the figures depend on.
std::string conv_environment(const ConvOptions &options);
// One JSON object: {"what":"conv","length":…,"ours_ns":…,"peer":…,"peer_ns":…,"ratio":…,"error":…}
std::string conv_json(const ConvResult &result);

// Two results a length, told as they come. Runs on the calling thread, which it does not pin.
Expected<std::vector<ConvResult>> bench_conv(const ConvOptions &options,
                                             const std::function<void(const ConvResult &)> &tell);

} // namespace longwave::bench
