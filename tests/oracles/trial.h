// A model package, its inputs, and what must come out.
#pragma once
#include "compiler/plan/options.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"
#include "tools/cli/model/model.h"
#include "tools/cli/remote/process_channel.h"
#include <string>
#include <vector>

namespace longwave::oracles {

struct Comparison {
    std::string what, output;                  // name of the reference, and of the model's output
    std::vector<std::vector<float>> reference; // one a sequence: rows x width, or one row
    double peak = 0;                           // of the whole reference: errors are relative to it
    double limit = 0;
    bool whole = true, stream = true;
    bool leading = false; // the reference has the first rows of the output, otherwise the last
};

struct Trial {
    std::string model_json;
    std::map<std::string, package::Tensor> weights;
    uint32_t length = 0;
    bool streams = false; // causal, and worth streaming
    std::vector<cli::Sequence> sequences;
    std::vector<Comparison> comparisons;
};

struct Settings {
    std::vector<uint32_t> blocks = {1, 7, 64}; // of one artifact: they advance one state
    std::string cache, kgen, convolution;
    std::shared_ptr<lw_device> device; // what runs and streams are on; null: the CPU
    std::string gpu_target;            // of the device
    std::string gpu_storage = "f32";   // Options::gpu_storage: f16 widens the limits of whole runs
    std::vector<std::string> targets;  // CPUs to compile for and to run on; empty: this one
    cli::Emulators emulators;          // of those that are not this machine's
    // By target that cannot load code: the command that serves a library (contained.h)
    std::map<std::string, std::string> programs;
};

// Largest error of one comparison, over all sequences.
struct Measured {
    std::string reference; // "y"
    std::string entry;     // empty: a whole run; "7": a stream of that block; "all": of all in turns
    std::string target;    // of Settings::targets; "all": they take turns, too
    double error = 0, limit = 0;
    bool ok() const { return error <= limit; } // false for NaN
    std::string what() const {
        return (target.empty() ? "" : target + " ") + (entry.empty() ? "" : "stream@" + entry + " ") +
               reference;
    }
};

// Compiles, runs whole and as a stream: by each block alone, and by all of them in turns on one
// state; compares. With several targets, streams of all targets and blocks take these turns.
// `not_there` says why the trial does not run on the device, when it does on the CPU; then nothing
// was measured, and nothing failed.
Expected<std::vector<Measured>> run(const Trial &trial, const Settings &settings, std::string *not_there);

} // namespace longwave::oracles
