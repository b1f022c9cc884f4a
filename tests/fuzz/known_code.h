// Which artifacts a test may run: only those whose machine code is one it knows, entered where that
// one's kernels begin, each with the argument list it was written for. A mutated plan around
// untouched code is then the only thing that is tried, and V12 the only thing that keeps it in
// bounds.
#pragma once
#include "formats/artifact/hash.h"
#include "formats/artifact/view.h"
#include <cstdint>
#include <map>
#include <vector>

namespace longwave::fuzz {

class KnownCode {
public:
    // Code and kernels of a sound artifact, as this machine would run it. Several may share one
    // code image.
    void learn(const std::vector<uint8_t> &artifact);
    bool may_run(const artifact::View &view) const;

private:
    uint8_t code_[artifact::hash_bytes] = {};
    std::map<uint64_t, uint32_t> kernels_; // ABI hash -> where it begins
};

// That of the test kernels (tests/support/kernels.c). Without the kernel that follows indices in
// its input (token ids): what lies there is the compiler's promise, not the verifier's.
const KnownCode &test_kernels();

} // namespace longwave::fuzz
