/** @file
 * Longwave batches: many streams of one model that have a block ready run together on the CPU.
 *
 * A model that was compiled with `longwave compile --streams 16` has kernels that compute one step
 * of up to 16 streams at once. They read the weights once for all of them. Steps without such a
 * kernel run stream by stream, so every model works. Each stream gets the bits that it would get by
 * itself, whatever streams run beside it.
 *
 * A batch holds no streams. Each call names the streams of that call, in any order and number, so
 * streams come and go freely. Between calls a stream is used as any other: pull, push, finish,
 * reset, copy, save, load, destroy.
 *
 *   lw_batch_create   once for a model
 *   lw_batch_push     samples of many streams in; complete blocks run together
 *   lw_stream_pull    rows of each stream out, until LW_AGAIN
 *
 * A batch and the streams of a call belong to one thread at a time. Only create and destroy
 * allocate. The other functions never allocate, lock or make a system call. Streams on a GPU run
 * together by themselves (longwave/vulkan.h).
 */
#ifndef LONGWAVE_BATCH_H
#define LONGWAVE_BATCH_H
#include "longwave/generator.h"
#include "longwave/longwave.h"
#include "longwave/speech_detector.h"
#include "longwave/spotter.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where the steps of several streams are joined. */
typedef struct lw_batch lw_batch;

/** Creates a batch for streams of a model. Not for real-time threads. Any thread.
 * @param out the batch; the caller destroys it. It keeps the model until then.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or out is NULL.
 * @retval LW_NO_STREAM The model has no stream entry.
 * @retval LW_UNSUPPORTED The model is on a device, which has its own way to run streams together.
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory. */
LW_API lw_status lw_batch_create(const lw_model *model, lw_batch **out);
/** Destroys a batch. Streams stay. Not for real-time threads.
 * @param batch NULL: no effect. */
LW_API void lw_batch_destroy(lw_batch *batch);
/** Most streams that one kernel of the model serves (`--streams`). Real-time safe.
 * @return 1 if the model has no such kernel: then streams run one by one. 0 if batch is NULL. */
LW_API uint32_t lw_batch_streams(const lw_batch *batch);

/** lw_stream_push for many streams: takes samples of each, and runs the blocks that are complete
 * together. Real-time safe.
 * @param streams n_streams different streams of the batch's model.
 * @param samples of each stream, counts[i] ticks in its format; NULL if its count is 0. Not kept.
 * @param taken ticks taken of each stream: fewer than counts[i] only while its queue has no room
 *        for the rows of the next block.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT An argument or a stream is NULL, or samples are NULL where a count is
 *         not 0. Or a stream occurs twice or is of another model. No stream took anything.
 * @retval LW_WRONG_STATE A stream is finished or has failed. No stream took anything.
 * @retval LW_BAD_TOKEN A token id is outside the vocabulary. No stream took anything.
 * @retval LW_DEVICE A kernel failed. The streams that ran together have failed: they accept only
 *         reset, copy and load. All others went on. */
LW_API lw_status lw_batch_push(lw_batch *batch, lw_stream *const *streams, size_t n_streams,
                               const void *const *samples, const size_t *counts, size_t *taken);

/** lw_spotter_push for many spotters. The events are those of single spotters. Real-time safe.
 * @param spotters n_spotters different spotters of the batch's model.
 * @param samples of each spotter, counts[i] samples in its format. Not kept.
 * @param taken samples taken of each spotter: fewer than counts[i] only while 16 of its events
 *        wait.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_batch_push.
 * @retval LW_WRONG_STATE A spotter is finished or has failed. No spotter took anything.
 * @retval LW_DEVICE as lw_batch_push. Only lw_spotter_reset helps. */
LW_API lw_status lw_batch_push_spotters(lw_batch *batch, lw_spotter *const *spotters,
                                        size_t n_spotters, const void *const *samples,
                                        const size_t *counts, size_t *taken);

/** lw_speech_detector_push for many detectors. The events are those of single detectors. Real-time
 * safe.
 * @param detectors n_detectors different speech detectors of the batch's model.
 * @param samples of each detector, counts[i] samples in its format. Not kept.
 * @param taken samples taken of each detector: fewer than counts[i] only while 25 or more of its
 *        events wait.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_batch_push.
 * @retval LW_WRONG_STATE A detector is finished or has failed. No detector took anything.
 * @retval LW_DEVICE as lw_batch_push. Only lw_speech_detector_reset helps. */
LW_API lw_status lw_batch_push_speech_detectors(lw_batch *batch,
                                                lw_speech_detector *const *detectors,
                                                size_t n_detectors, const void *const *samples,
                                                const size_t *counts, size_t *taken);

/** lw_generator_next for many generators, each with its own stream. The ids are those of single
 * generators. Real-time safe.
 * @param generators n_generators generators on different streams of the batch's model.
 * @param tokens of each generator: set struct_size first. Filled in where its status is LW_OK.
 * @param statuses of each generator, as lw_generator_next returns them.
 * @retval LW_OK Also if a status says otherwise.
 * @retval LW_INVALID_ARGUMENT An argument or a generator is NULL, struct_size is not set; a stream
 *         occurs twice or is of another model. No generator went on.
 * @retval LW_DEVICE A kernel failed. The statuses of the generators that ran together say so. */
LW_API lw_status lw_batch_next(lw_batch *batch, lw_generator *const *generators,
                               size_t n_generators, lw_generator_token *tokens,
                               lw_status *statuses);

#ifdef __cplusplus
}
#endif
#endif
