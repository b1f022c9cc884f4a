// What must hold for model folders from outside, whatever their format: a folder is rejected in clean lines,
// or its package lowers to a graph that verifies, or lowering rejects it in the same manner.
#pragma once
#include "compiler/ir/verify.h"
#include "compiler/layers/lower.h"
#include "formats/package/package.h"
#include "tests/fuzz/refusal.h"

namespace longwave::fuzz {

inline void must_be_refused(const Status &status) {
    if (status.fault() != Fault::input) std::fprintf(stderr, "%s\n", status.message().c_str());
    must(status.fault() == Fault::input, "a folder from outside is never an internal failure");
    must_be_clean(status.message());
}

inline void must_lower(const Expected<package::Package> &package) {
    if (!package) return must_be_refused(package.status());
    const auto graph = compiler::lower(*package);
    if (!graph) return must_be_refused(graph.status());
    const Status verified = ir::verify(*graph);
    if (!verified) std::fprintf(stderr, "%s\n", verified.message().c_str());
    must(bool(verified), "a folder that lowers gives a sound graph");
}

} // namespace longwave::fuzz
