// lw_batch_push_speech_detectors: speech detectors whose streams run together.
#include "runtime/listen/listener_batch.h"
#include "runtime/vad/detector.h"

using namespace longwave::runtime;

lw_status lw_batch_push_speech_detectors(lw_batch *batch, lw_speech_detector *const *detectors,
                                         size_t n_detectors, const void *const *samples, const size_t *counts,
                                         size_t *taken) {
    return push_together<lw_speech_detector>(batch, "speech detector",
                                             {detectors, n_detectors, samples, counts, taken}, takes_input,
                                             decide_until_full);
}
