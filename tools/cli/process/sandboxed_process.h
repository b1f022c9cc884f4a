// A program that may crash or hang, and is allowed to.
#pragma once
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::cli {

struct Outcome {
    std::string output;  // what it printed to stdout, the beginning of it
    std::string failure; // why there is none: its last line on stderr, the signal, the time; empty: exit 0
};

// arguments[0] is a path. It leads a process group, which is killed whole when the time is over. Fault::device
// when it cannot be started.
Expected<Outcome> run_candidate(const std::vector<std::string> &arguments, double seconds);

// For such a program itself: it ends with the one that started it.
void end_with_parent();

} // namespace longwave::cli
