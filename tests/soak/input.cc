#include "tests/soak/input.h"
#include <algorithm>

namespace longwave::soak {

Input Input::audio(std::vector<float> recording, uint32_t rate) {
    Input input;
    input.piece_ = uint64_t{4} * rate;
    input.sound_ = std::move(recording);
    const size_t noise = 2 * input.piece_;
    for (size_t i = 0; i < noise; i++)
        input.sound_.push_back(static_cast<float>(mixed(i) >> 40) / 16777216.f - 0.5f);
    return input;
}

Input Input::tokens(uint32_t vocabulary) {
    Input input;
    input.vocabulary_ = vocabulary;
    return input;
}

void Input::fill(uint64_t chunk, uint64_t first, size_t n, void *to) const {
    const uint64_t seed = mixed(chunk + 1);
    if (vocabulary_ > 0) {
        for (size_t i = 0; i < n; i++)
            static_cast<int32_t *>(to)[i] = static_cast<int32_t>(mixed(seed ^ (first + i)) % vocabulary_);
        return;
    }
    for (size_t i = 0; i < n;) {
        const uint64_t piece = (first + i) / piece_, at = (first + i) % piece_;
        const size_t part = std::min<size_t>(n - i, piece_ - at);
        const uint64_t random = mixed(seed ^ piece);
        const float *from = sound_.data() + random % (sound_.size() - piece_) + at;
        const float gain = static_cast<float>(1 + (random >> 60)) / 16;
        for (size_t k = 0; k < part; k++) static_cast<float *>(to)[i + k] = gain * from[k];
        i += part;
    }
}

} // namespace longwave::soak
