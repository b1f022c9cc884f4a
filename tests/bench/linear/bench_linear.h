// Products of rows and a matrix of weights against BLAS libraries, which are opened when the
// program runs: nothing is linked with them.
#pragma once
#include "formats/base/expected.h"
#include <functional>
#include <string>
#include <vector>

namespace longwave::bench {

struct LinearOptions {
    std::vector<std::string> sizes = {"96x192",    "256x512",   "512x512",
                                      "1024x1024", "2048x2048", "2048x4096"}; // inputs x outputs
    std::vector<int> rows = {1, 16, 50, 256, 4096};
    std::vector<std::string> against = {"openblas"}; // names, or NAME=LIBRARY that has sgemm_
    std::vector<std::string> weights;                // formats of ours; float32 is measured beside them
    std::string target;                              // empty: the highest level this machine runs
    std::string kgen;                                // longwave-kgen; empty: the one of this build
    double seconds = 1;                              // for each size and number of rows, divided in turns
    bool float_activations = false;                  // int8 weights also without quantised rows
    bool byte_activations = false;                   // int8 and int4 weights with rows of int8
    bool gated = false; // ours with gates; the peers compute as many products and no gates
};

struct LinearResult {
    int in = 0, out = 0, rows = 0;
    std::string weights; // their format
    // A library; "float32": ours with those weights; "read": as many bytes as the weights have,
    // read once and nothing else.
    std::string peer;
    double ours_us = 0, peer_us = 0;      // processor time of one call: median over rounds
    double ratio = 0;                     // median of the ratios within each round
    double gflops = 0;                    // ours
    double weights_gbs = 0, peer_gbs = 0; // bytes of weights a time: for one row, what comes from memory
    double error = 0, peer_error = 0;     // relative L2 against float64 sums of the weights as stored
};

// {"what":"linear-environment","cpu":…,"system":…,"target":…,"compiler":…,"threads":1}
std::string linear_environment(const LinearOptions &options);
// One JSON object:
// {"what":"linear","in":…,"out":…,"rows":…,"ours_us":…,"peer":…,"peer_us":…,"ratio":…}
std::string linear_json(const LinearResult &result);

// Results as they come. Runs on the calling thread, which it does not pin.
Status bench_linear(const LinearOptions &options, const std::function<void(const LinearResult &)> &tell);

} // namespace longwave::bench
