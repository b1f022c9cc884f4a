// The keyword model of examples/kws, compiled by this build's `longwave compile`, and audio to try
// it with.
#pragma once
#include "longwave/longwave.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace longwave::test {

inline constexpr uint32_t rate = 16000, block = 320; // samples a second, samples a row
inline constexpr const char *variants[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

// build/tests/<name>, written by the tests that set up the fixture `keyword_model`. Ends the
// program as skipped when it is missing.
std::string compiled(const char *name);

using ModelHandle = std::unique_ptr<lw_model, void (*)(lw_model *)>;
// Null when this CPU cannot run the variant: says so on stdout.
ModelHandle open_variant(const std::string &path, const char *variant);

// Made-up talk: words of voiced and hissing sounds with pauses between them, over a little noise.
// The same for the same seed, without end.
class Talk {
public:
    explicit Talk(uint64_t seed) : state_(seed) {}
    std::vector<float> next(size_t n);

private:
    double uniform(); // [0, 1)
    uint64_t state_;
    size_t left_ = 0; // samples of the sound under way
    double level_ = 0, loudness_ = 0, pitch_ = 0.01, phase_ = 0, voiced_ = 0, formant_ = 0, a_ = 0, b_ = 0;
};

} // namespace longwave::test
