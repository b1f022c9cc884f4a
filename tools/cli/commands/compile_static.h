// longwave compile --emit static: a library and a header for programs that contain the model.
#pragma once
#include "compiler/driver/compile.h"
#include "formats/base/expected.h"
#include "tools/cli/commands/compile_flags.h"
#include "tools/cli/files/static_header.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

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
