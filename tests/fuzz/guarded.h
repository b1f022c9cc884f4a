// Runs what a verified artifact says, with memory around every space that nobody may touch: not the
// runtime's way, but the plainest there is, so that what is tried is the verifier alone. Spaces
// that a step may not write are read only while it runs.
#pragma once
#include "formats/artifact/view.h"
#include <cstdint>
#include <string>

namespace longwave::fuzz {

struct Guarded {
    std::string fault; // which step touched what it may not; empty: none
    bool ran = false;  // false when it would take more memory or calls than a test has
    uint64_t calls = 0;
};

// Prepare, then every run entry at a few lengths, every stream entry at a few blocks, early and
// late, and its rebuild. Spaces end where their guard begins, or, with `at_front`, begin where one
// ends.
Guarded run_guarded(const artifact::View &view, bool at_front);

} // namespace longwave::fuzz
