// Speech detectors in one line. The first sample of each row of audio is its probability
// (speech_model, tiny_model.h).
#pragma once
#include "tests/support/session.h"
#include "tests/support/speech_options.h"
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <vector>

namespace longwave::test {

using Detector = std::unique_ptr<lw_speech_detector, void (*)(lw_speech_detector *)>;

inline Detector detector(const lw_model *model, const lw_speech_detector_options &options = f32_speech) {
    lw_speech_detector *made = nullptr;
    REQUIRE_MESSAGE(lw_speech_detector_create(model, &options, &made) == LW_OK, lw_last_error());
    return {made, lw_speech_detector_destroy};
}

// Rows of audio with these probabilities.
inline std::vector<float> rows(const std::vector<float> &probabilities, size_t hop = 512) {
    std::vector<float> x(probabilities.size() * hop);
    for (size_t i = 0; i < probabilities.size(); ++i) x[i * hop] = probabilities[i];
    return x;
}

// `runs` of (rows, probability), one after another.
inline std::vector<float> speech(const std::vector<std::pair<int, float>> &runs, size_t hop = 512) {
    std::vector<float> probabilities;
    for (const auto &[n, p] : runs) probabilities.insert(probabilities.end(), static_cast<size_t>(n), p);
    return rows(probabilities, hop);
}

struct SpeechSeen {
    int kind;
    int64_t start, end, tick;
    float probability;
    bool operator==(const SpeechSeen &) const = default;
};

inline lw_status pull(lw_speech_detector *detector, std::vector<SpeechSeen> &seen) {
    lw_speech_event event = LW_SPEECH_EVENT_INIT;
    lw_status status;
    while ((status = lw_speech_detector_pull(detector, &event)) == LW_OK)
        seen.push_back({event.kind, event.start, event.end, event.tick, event.probability});
    return status;
}

template <class T>
void hear(lw_speech_detector *detector, const T *x, size_t n, size_t cut, std::vector<SpeechSeen> &seen) {
    for (size_t done = 0, taken = 0; done < n; done += taken) {
        REQUIRE(lw_speech_detector_push(detector, x + done, std::min(cut, n - done), &taken) == LW_OK);
        REQUIRE(pull(detector, seen) == LW_AGAIN);
    }
}

// All of it, in pieces of `cut`, and the end.
template <class T>
std::vector<SpeechSeen> heard(lw_speech_detector *detector, const std::vector<T> &x, size_t cut = SIZE_MAX) {
    std::vector<SpeechSeen> seen;
    hear(detector, x.data(), x.size(), cut, seen);
    REQUIRE(lw_speech_detector_finish(detector) == LW_OK);
    REQUIRE(pull(detector, seen) == LW_END);
    return seen;
}

inline std::vector<std::pair<int64_t, int64_t>> segments(const std::vector<SpeechSeen> &seen) {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (const SpeechSeen &event : seen)
        if (event.kind == LW_SPEECH_END) found.emplace_back(event.start, event.end);
    return found;
}

} // namespace longwave::test
