// The flags of `longwave compile`, and the compiler options that they stand for.
#pragma once
#include "compiler/driver/compile.h"
#include "tools/cli/command_line/command_line.h"
#include <string>
#include <vector>

namespace longwave::cli {

struct CompileFlags {
    std::string package, output, targets, place, convolution, tuning,
        weights = "float32", activations = "int16", gpu_storage = "f32", emit = "lw", dump_after, cache, kgen,
        sign;
    std::vector<std::string> emulators;
    double emulator_timeout = 600; // seconds
    std::vector<uint32_t> blocks, streams, lengths;
    uint32_t window = 0, hop = 0, context = 0;
    unsigned jobs = 0, walks = 20;
    uint64_t gpu_chain = compiler::Options{}.gpu_chained_bytes;
    uint32_t gpu_variants = compiler::Options{}.gpu_variants;
    uint64_t memory = 0;  // 0: a share of the machine's
    uint64_t version = 0; // of the model, under the signature
    bool no_code = false, no_golden = false, pack = false;
    bool emit_static() const { return emit == "static"; }
    bool stream = false, no_stream = false, no_whole = false, no_check = false, timings = false, json = false,
         quiet = false, layers = false;
};

void add_compile_flags(CommandLine &app, CompileFlags &flags);

// Reads the files that the flags name. Fault::usage or Fault::input, with the flag or the file.
Expected<compiler::Options> options_of(const CompileFlags &flags);

} // namespace longwave::cli
