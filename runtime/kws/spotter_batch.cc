// lw_batch_push_spotters: spotters whose streams run together.
#include "runtime/kws/spotter.h"
#include "runtime/listen/listener_batch.h"

using namespace longwave::runtime;

lw_status lw_batch_push_spotters(lw_batch *batch, lw_spotter *const *spotters, size_t n_spotters,
                                 const void *const *samples, const size_t *counts, size_t *taken) {
    return push_together<lw_spotter>(batch, "spotter", {spotters, n_spotters, samples, counts, taken},
                                     takes_input, decide_until_full);
}
