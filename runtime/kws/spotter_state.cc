// The state of a spotter: copy, save, load. Saved, all numbers little-endian:
//
//   SavedSpotter | arrays of the decision rule | checksum of both | the stream as lw_stream_save writes it
#include "runtime/core/status.h"
#include "runtime/kws/spotter.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace {

struct SavedSpotter {
    uint64_t magic;
    uint32_t labels, window;
    DecisionState decision;
    SpotterState state;
    Heard heard;
};
static_assert(sizeof(SavedSpotter) == 16 + 24 + sizeof(SpotterState) + sizeof(Heard));
constexpr uint64_t magic = 0x32544f505354574c; // "LWTSPOT2"

lw_status bad_state(const char *what) { return fail(LW_BAD_STATE, {"saved spotter: ", what}); }

// Bytes of the saved spotter before its checksum.
uint64_t own_bytes(const lw_spotter &spotter) {
    return sizeof(SavedSpotter) + spotter.decision.array_bytes();
}

bool same_rule(const DecisionSettings &a, uint32_t labels, uint32_t window) {
    return a.labels == labels && a.window == window;
}

// Labels index tables.
bool labels_in_range(const SavedSpotter &saved) {
    const auto good = [&](uint32_t label) { return label < saved.labels || label == DecisionState::nobody; };
    const SpotterState &state = saved.state;
    if (state.head >= waiting_events || state.count > waiting_events) return false;
    for (uint32_t i = 0; i < state.count; ++i)
        if (state.events[(state.head + i) % waiting_events].detection.label >= saved.labels) return false;
    return good(saved.decision.top) && good(saved.decision.holding);
}

} // namespace

lw_status lw_spotter_copy(lw_spotter *to, const lw_spotter *from) {
    if (!to || !from) return fail(LW_INVALID_ARGUMENT, "a spotter is NULL");
    const DecisionSettings &rule = from->decision.settings();
    if (!same_rule(to->decision.settings(), rule.labels, rule.window))
        return bad_state("of another smoothing_ms");
    if (lw_status status = lw_stream_copy(to->listener.stream, from->listener.stream)) return status;
    if (to == from) return LW_OK;
    memcpy(to->decision.arrays(), from->decision.arrays(), from->decision.array_bytes());
    to->decision.state = from->decision.state;
    to->state = from->state;
    to->listener.heard = from->listener.heard;
    return LW_OK;
}

lw_status lw_spotter_save(const lw_spotter *spotter, void *bytes, size_t capacity, size_t *n) {
    if (!spotter || !n) return fail(LW_INVALID_ARGUMENT, "spotter or n is NULL");
    const uint64_t own = own_bytes(*spotter);
    size_t of_stream = 0;
    if (lw_status status = lw_stream_save(spotter->listener.stream, nullptr, 0, &of_stream)) return status;
    *n = own + sizeof(uint64_t) + of_stream;
    if (!bytes) return LW_OK;
    if (capacity < *n)
        return fail(LW_TOO_SMALL, {"the state takes ", uint64_t{*n}, " bytes, given ", uint64_t{capacity}});
    const DecisionSettings &rule = spotter->decision.settings();
    const SavedSpotter saved = {
        magic, rule.labels, rule.window, spotter->decision.state, spotter->state, spotter->listener.heard};
    uint8_t *to = static_cast<uint8_t *>(bytes);
    memcpy(to, &saved, sizeof saved);
    memcpy(to + sizeof saved, spotter->decision.arrays(), own - sizeof saved);
    const uint64_t sum = saved_checksum(to, own);
    memcpy(to + own, &sum, sizeof sum);
    return lw_stream_save(spotter->listener.stream, to + own + sizeof sum, of_stream, &of_stream);
}

lw_status lw_spotter_load(lw_spotter *spotter, const void *bytes, size_t n) {
    if (!spotter || !bytes) return fail(LW_INVALID_ARGUMENT, "spotter or bytes is NULL");
    const uint8_t *from = static_cast<const uint8_t *>(bytes);
    SavedSpotter saved;
    if (n < sizeof saved) return bad_state("too short");
    memcpy(&saved, from, sizeof saved);
    if (saved.magic != magic) return bad_state("these bytes are not the saved state of a spotter");
    if (!same_rule(spotter->decision.settings(), saved.labels, saved.window))
        return bad_state("of another smoothing_ms or other labels");
    const uint64_t own = own_bytes(*spotter);
    uint64_t sum;
    if (n < own + sizeof sum) return bad_state("too short");
    memcpy(&sum, from + own, sizeof sum);
    if (sum != saved_checksum(from, own) || !labels_in_range(saved) ||
        !spotter->listener.gain.valid(saved.heard.gain))
        return bad_state("damaged");
    const uint64_t before_stream = own + sizeof sum;
    if (lw_status status = lw_stream_load(spotter->listener.stream, from + before_stream, n - before_stream))
        return status;
    memcpy(spotter->decision.arrays(), from + sizeof saved, own - sizeof saved);
    spotter->decision.state = saved.decision;
    spotter->state = saved.state;
    spotter->listener.heard = saved.heard;
    return LW_OK;
}
