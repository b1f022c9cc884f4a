// A stream whose rows, or a spotter whose events, become one number.
#pragma once
#include "longwave/longwave.h"
#include "longwave/spotter.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::soak {

class Listener {
public:
    enum class Kind { rows, events };

    // `kept`: how many values of the newest rows to keep. Throws std::runtime_error, as all members
    // do.
    Listener(const lw_model *model, Kind kind, bool tokens, size_t kept = 0);
    ~Listener();
    Listener(const Listener &) = delete;

    void push(const void *samples, size_t n, size_t width_bytes); // all of them; allocates nothing
    void finish();
    void reset(); // also the hash

    uint64_t hash() const { return hash_; }   // of every bit that came out
    uint64_t given() const { return given_; } // rows or events
    std::vector<float> newest() const;        // the kept values, oldest first

private:
    void pull();
    void take(const void *bytes, size_t size);

    lw_stream *stream_ = nullptr;
    lw_spotter *spotter_ = nullptr;
    uint64_t hash_ = 0, given_ = 0;
    std::vector<float> ring_;
    size_t next_ = 0;
};

} // namespace longwave::soak
