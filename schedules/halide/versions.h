// The version of each kernel: a hash of the sources that decide its code (versions.py), of Halide's
// version and of the C++ compiler's. Equal versions, specifications and targets give equal code, so
// a cache of compiled kernels uses the three as its key. The build computes the table.
#pragma once
#include "schedules/halide/registry.h"
#include <nlohmann/json.hpp>

namespace longwave::schedules {

// 32 hexadecimal digits. Throws SpecError when the table lacks the schedule's file, which only a
// build with an incomplete table can cause.
std::string version_of(const Schedule &schedule);

// {"cpu":{"linear":"<version>",…},"gpu":{"linear":"<version>",…},"program":"<version>"}: all kernels, and
// the version of all sources together. Answers to queries depend on that.
nlohmann::json versions();

} // namespace longwave::schedules
