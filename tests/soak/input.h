// What a soak test feeds: any tick of any chunk from its number, the same on every run and without
// files that grow.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::soak {

inline uint64_t mixed(uint64_t x) { // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

class Input {
public:
    // Pieces of four seconds, cut at random from a recording and from noise, at loudnesses from a
    // whisper to full.
    static Input audio(std::vector<float> recording, uint32_t rate);
    static Input tokens(uint32_t vocabulary);

    // Ticks first ... first + n - 1 of a chunk: float, or int32 ids.
    void fill(uint64_t chunk, uint64_t first, size_t n, void *to) const;

private:
    std::vector<float> sound_;
    uint64_t piece_ = 0;
    uint32_t vocabulary_ = 0; // 0: audio
};

} // namespace longwave::soak
