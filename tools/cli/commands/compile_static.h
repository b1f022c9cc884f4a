// longwave compile --emit static: a library and a header for programs that contain the model.
#pragma once
#include "compiler/driver/compile.h"
#include "formats/base/expected.h"
#include "tools/cli/commands/compile_flags.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

// The header of a model that a program contains (longwave compile --emit static).

// Bytes. What a program cannot have is 0.
struct StaticSizes {
    uint64_t code = 0, constants = 0; // of the library: read-only
    uint64_t weights = 0;             // of the file beside it
    uint64_t model = 0, stream = 0, spotter = 0, speech_detector = 0,
             run = 0;   // memory that the program gives
    uint64_t stack = 0; // of a call of the library, at most; 0: not known
    uint32_t block = 0; // input ticks
};

// "longwave_kws": the symbol of the model. What C does not allow in a name is '_'.
std::string static_symbol(const std::string &name);

// C that declares the model and states its sizes as macros.
std::string static_header(const std::string &name, const std::string &target, const StaticSizes &sizes);

class StaticLibrary {
public:
    StaticLibrary(const CompileFlags &flags, compiler::Options options, std::string path);
    std::string header_path() const;
    std::string weights_path() const; // empty: the program contains the weights
    // Those of the compilation. Where this machine cannot run the target, its own target is added:
    // it makes the derived tables and runs the checks.
    const compiler::Options &options() const { return options_; }

    // Makes the derived tables and puts them among the weights. The artifact is then checked as any
    // other.
    Status prepare(std::vector<uint8_t> &artifact) const;
    // Takes the code out, links it and writes the files. `report` gets the sizes.
    Status write(const std::vector<uint8_t> &artifact, nlohmann::ordered_json &report);
    std::string text() const; // what was written

private:
    std::string beside(const std::string &ending) const; // of the library

    std::string path_, target_;
    compiler::Options options_;
    StaticSizes sizes_;
};

} // namespace longwave::cli
