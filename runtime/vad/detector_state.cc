// The state of a speech detector: copy, save, load. Saved, all numbers little-endian:
//
//   SavedDetector | its checksum | the stream as lw_stream_save writes it
#include "runtime/core/status.h"
#include "runtime/vad/detector.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace {

struct SavedDetector {
    uint64_t magic;
    uint32_t output, hop;
    SegmentState segments;
    DetectorState state;
    Heard heard;
};
static_assert(sizeof(SavedDetector) == 16 + sizeof(SegmentState) + sizeof(DetectorState) + sizeof(Heard));
constexpr uint64_t magic = 0x314345445354574c; // "LWTSDEC1"
constexpr size_t own_bytes = sizeof(SavedDetector) + sizeof(uint64_t);

lw_status bad_state(const char *what) { return fail(LW_BAD_STATE, {"saved speech detector: ", what}); }

bool same_output(const lw_speech_detector &detector, uint32_t output, uint32_t hop) {
    return detector.listener.output == output && detector.segments.rule().hop == hop;
}

// Positions are added and subtracted, and the others index the list of events.
bool in_range(const SavedDetector &saved) {
    constexpr int64_t most = int64_t{1} << 60;
    const auto good = [](int64_t position) { return position >= SegmentState::none && position <= most; };
    const SegmentState &s = saved.segments;
    for (const int64_t position :
         {s.start, s.padded, s.pause, s.cut, s.cut_length, s.last_cut, s.back, s.ended, s.ended_padded})
        if (!good(position)) return false;
    const DetectorState &state = saved.state;
    if (state.head >= waiting_speech_events || state.count > waiting_speech_events) return false;
    for (uint32_t i = 0; i < state.count; ++i) {
        const DetectorState::Event &e = state.events[(state.head + i) % waiting_speech_events];
        if (e.kind < LW_SPEECH_BEGAN || e.kind > LW_SPEECH_ROW || !good(e.start) || !good(e.end) ||
            !good(e.tick))
            return false;
    }
    return s.certain <= 1 && state.ended <= 1 && (state.length == open_end || good(state.length));
}

} // namespace

lw_status lw_speech_detector_copy(lw_speech_detector *to, const lw_speech_detector *from) {
    if (!to || !from) return fail(LW_INVALID_ARGUMENT, "a speech detector is NULL");
    if (!same_output(*to, from->listener.output, from->segments.rule().hop))
        return bad_state("of another output");
    if (lw_status status = lw_stream_copy(to->listener.stream, from->listener.stream)) return status;
    to->segments.state = from->segments.state;
    to->state = from->state;
    to->listener.heard = from->listener.heard;
    return LW_OK;
}

lw_status lw_speech_detector_save(const lw_speech_detector *detector, void *bytes, size_t capacity,
                                  size_t *n) {
    if (!detector || !n) return fail(LW_INVALID_ARGUMENT, "detector or n is NULL");
    size_t of_stream = 0;
    if (lw_status status = lw_stream_save(detector->listener.stream, nullptr, 0, &of_stream)) return status;
    *n = own_bytes + of_stream;
    if (!bytes) return LW_OK;
    if (capacity < *n)
        return fail(LW_TOO_SMALL, {"the state takes ", uint64_t{*n}, " bytes, given ", uint64_t{capacity}});
    const SavedDetector saved = {
        magic,           detector->listener.output, detector->segments.rule().hop, detector->segments.state,
        detector->state, detector->listener.heard};
    uint8_t *to = static_cast<uint8_t *>(bytes);
    memcpy(to, &saved, sizeof saved);
    const uint64_t sum = saved_checksum(to, sizeof saved);
    memcpy(to + sizeof saved, &sum, sizeof sum);
    return lw_stream_save(detector->listener.stream, to + own_bytes, of_stream, &of_stream);
}

lw_status lw_speech_detector_load(lw_speech_detector *detector, const void *bytes, size_t n) {
    if (!detector || !bytes) return fail(LW_INVALID_ARGUMENT, "detector or bytes is NULL");
    const uint8_t *from = static_cast<const uint8_t *>(bytes);
    SavedDetector saved;
    if (n < own_bytes) return bad_state("too short");
    memcpy(&saved, from, sizeof saved);
    if (saved.magic != magic) return bad_state("these bytes are not the saved state of a speech detector");
    if (!same_output(*detector, saved.output, saved.hop)) return bad_state("of another output");
    uint64_t sum;
    memcpy(&sum, from + sizeof saved, sizeof sum);
    if (sum != saved_checksum(from, sizeof saved) || !in_range(saved) ||
        !detector->listener.gain.valid(saved.heard.gain))
        return bad_state("damaged");
    if (lw_status status = lw_stream_load(detector->listener.stream, from + own_bytes, n - own_bytes))
        return status;
    detector->segments.state = saved.segments;
    detector->state = saved.state;
    detector->listener.heard = saved.heard;
    return LW_OK;
}
