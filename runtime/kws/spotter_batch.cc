// lw_batch_push_spotters: spotters whose streams run together.
#include "runtime/core/model.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/kws/spotter.h"
#include "runtime/stream/batch.h"
#include "runtime/stream/state.h"

using namespace longwave;
using namespace longwave::runtime;

namespace {

lw_stream *of_spotters(const void *list, size_t i) { return static_cast<lw_spotter *const *>(list)[i]->listener.stream; }

struct Pushed {
    lw_spotter *const *spotters;
    const void *const *samples;
    const size_t *counts;
    size_t *taken;

    lw_status check(size_t i) const {
        if (counts[i] > 0 && !samples[i]) return fail(LW_INVALID_ARGUMENT, {"samples of spotter ", uint64_t(i), " of the call are NULL"});
        const lw_stream &stream = *spotters[i]->listener.stream;
        return stream.state->life == Life::open ? LW_OK : not_open(stream);
    }
    // Decides on the rows of spotter i, and hands it samples up to the end of its block.
    lw_status go_on(size_t i, bool *more) const {
        lw_spotter &spotter = *spotters[i];
        if (spotter.listener.stream->state->life != Life::open) return LW_OK; // it has failed, and said so
        lw_status last = LW_AGAIN;
        if (lw_status status = decide(spotter, &last)) return status;
        if (taken[i] == counts[i] || spotter.state.count == waiting_events) return LW_OK;
        size_t now = 0;
        const uint8_t *from = static_cast<const uint8_t *>(samples[i]);
        const lw_status status =
            push_piece(spotter.listener, from + taken[i] * sample_bytes(spotter.listener.format), counts[i] - taken[i],
                       &now);
        taken[i] += now;
        *more = *more || now > 0;
        return status;
    }
};

} // namespace

lw_status lw_batch_push_spotters(lw_batch *batch, lw_spotter *const *spotters, size_t n_spotters,
                                 const void *const *samples, const size_t *counts, size_t *taken) {
    if (!batch || (n_spotters > 0 && (!spotters || !samples || !counts || !taken)))
        return fail(LW_INVALID_ARGUMENT, "batch, spotters, samples, counts or taken is NULL");
    for (size_t i = 0; i < n_spotters; ++i) {
        taken[i] = 0;
        if (!spotters[i]) return fail(LW_INVALID_ARGUMENT, {"spotter ", uint64_t(i), " of the call is NULL"});
    }
    const StreamList list = {spotters, n_spotters, of_spotters};
    if (lw_status status = hold_streams(*batch, list)) return status;
    const Pushed pushed = {spotters, samples, counts, taken};
    lw_status first = LW_OK;
    for (size_t i = 0; first == LW_OK && i < n_spotters; ++i) first = pushed.check(i);
    for (bool more = first == LW_OK, ran = false; more || ran;) {
        more = false;
        for (size_t i = 0; i < n_spotters; ++i)
            if (lw_status status = pushed.go_on(i, &more); first == LW_OK) first = status;
        const lw_status status = run_pending(*batch, list, &ran);
        if (first == LW_OK) first = status;
    }
    release_streams(list);
    return first;
}
