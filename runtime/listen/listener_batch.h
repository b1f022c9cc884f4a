// Objects on listeners, spotters or speech detectors, whose streams run together.
#pragma once
#include "runtime/core/model.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/listen/listener.h"
#include "runtime/stream/batch.h"
#include "runtime/stream/state.h"

namespace longwave::runtime {

// The arguments of such a call.
template <class Object> struct PushedAudio {
    Object *const *objects;
    size_t n;
    const void *const *samples;
    const size_t *counts;
    size_t *taken;
};

template <class Object> lw_stream *stream_of_object(const void *list, size_t i) {
    return static_cast<Object *const *>(list)[i]->listener.stream;
}

// Decides on the rows of object i, and hands it samples up to the end of its block. *more: it took
// some. `decide` as for push_all.
template <class Object, class Decide>
lw_status hear_piece(const PushedAudio<Object> &of, size_t i, const Decide &decide, bool *more) {
    Listener &listener = of.objects[i]->listener;
    if (listener.stream->state->life != Life::open) return LW_OK; // it has failed, and said so
    bool full = false;
    if (lw_status status = decide(*of.objects[i], &full)) return status;
    if (full || of.taken[i] == of.counts[i]) return LW_OK;
    size_t now = 0;
    const uint8_t *from =
        static_cast<const uint8_t *>(of.samples[i]) + of.taken[i] * sample_bytes(listener.format);
    const lw_status status = push_piece(listener, from, of.counts[i] - of.taken[i], &now);
    of.taken[i] += now;
    *more = *more || now > 0;
    return status;
}

// `what`: "spotter". takes_input(object): LW_OK, or why it takes no samples.
template <class Object, class TakesInput, class Decide>
lw_status push_together(lw_batch *batch, const char *what, const PushedAudio<Object> &of,
                        const TakesInput &takes_input, const Decide &decide) {
    if (!batch || (of.n > 0 && (!of.objects || !of.samples || !of.counts || !of.taken)))
        return fail(LW_INVALID_ARGUMENT, {"batch, ", what, "s, samples, counts or taken is NULL"});
    for (size_t i = 0; i < of.n; ++i) of.taken[i] = 0;
    for (size_t i = 0; i < of.n; ++i)
        if (!of.objects[i])
            return fail(LW_INVALID_ARGUMENT, {what, " ", uint64_t(i), " of the call is NULL"});
    const StreamList list = {of.objects, of.n, stream_of_object<Object>};
    if (lw_status status = hold_streams(*batch, list)) return status;
    lw_status first = LW_OK;
    for (size_t i = 0; first == LW_OK && i < of.n; ++i)
        first =
            of.counts[i] > 0 && !of.samples[i]
                ? fail(LW_INVALID_ARGUMENT, {"samples of ", what, " ", uint64_t(i), " of the call are NULL"})
                : takes_input(*of.objects[i]);
    for (bool more = first == LW_OK, ran = false; more || ran;) {
        more = false;
        for (size_t i = 0; i < of.n; ++i) keep_first(first, hear_piece(of, i, decide, &more));
        keep_first(first, run_pending(*batch, list, &ran));
    }
    release_streams(list);
    return first;
}

} // namespace longwave::runtime
