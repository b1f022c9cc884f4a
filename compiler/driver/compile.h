// Model package in, artifact bytes and report out: the whole compiler behind one function.
#pragma once
#include "compiler/plan/options.h"
#include "formats/artifact/write.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

struct Compiled {
    std::vector<uint8_t> artifact;
    std::string report; // JSON, the same text as in the artifact; keys: docs/architecture.md
};

// The same before it is in one piece: the weights of a large model are held once.
struct CompiledPieces {
    artifact::Pieces artifact;
    std::string report;
};

// Takes the package: its weights are let go as soon as nothing needs them. Errors: Fault::input for
// what the package holds, Fault::usage for options that cannot be met (unknown target, a stream of
// a model that looks ahead), Fault::device for a toolchain that fails. All unsupported layers are
// listed at once, one line each. Thread-safe.
Expected<CompiledPieces> compile_pieces(package::Package package, const Options &options);
Expected<Compiled> compile(package::Package package, const Options &options);

// The names that Options::convolution may have.
std::vector<std::string> algorithm_names();

// For a program that is about to end by a signal: kills what compile() has started and removes its
// temporary folders. A compile() in progress never returns after it. The compiler installs no
// handlers of its own.
void abandon_compiles();

} // namespace longwave::compiler
