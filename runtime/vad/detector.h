// A speech detector: a listener, the rule on one of its outputs, and events that wait. The stream's
// memory follows in the same block.
#pragma once
#include "longwave/speech_detector.h"
#include "runtime/listen/listener.h"
#include "runtime/vad/segments.h"

namespace longwave::runtime {

inline constexpr uint32_t waiting_speech_events = 32;
inline constexpr uint32_t speech_events_of_row = SpeechEvents::most + 1; // and LW_SPEECH_ROW
inline constexpr int64_t open_end = INT64_MAX;

// What a detector remembers besides its listener and its rule. It has no gaps, for it is saved as
// it is.
struct DetectorState {
    struct Event {
        uint32_t kind; // lw_speech_event_kind
        float probability;
        int64_t start, end, tick;
    } events[waiting_speech_events];
    uint32_t head = 0, count = 0;
    int64_t length = open_end; // of the audio, once it is finished
    uint64_t ended = 0;        // the rule knows that it is
};
static_assert(sizeof(DetectorState) == 32 * 32 + 8 + 2 * 8);

} // namespace longwave::runtime

struct lw_speech_detector {
    const lw_model *model;
    uint64_t owned_bytes; // that lw_speech_detector_destroy releases; 0: the caller's memory
    bool rows;            // each row is an event
    longwave::runtime::Listener listener;
    longwave::runtime::Segments segments;
    longwave::runtime::DetectorState state;
};

namespace longwave::runtime {

// LW_OK, or why it takes no samples.
lw_status takes_input(const lw_speech_detector &detector);
// Turns waiting rows into events while events fit.
lw_status decide_until_full(lw_speech_detector &detector, bool *full);

} // namespace longwave::runtime
