/** @file
 * Longwave audio streams: audio in, audio out.
 *
 * An audio stream runs a stream (longwave.h) of a model with an audio input and an audio output
 * (lw_output_info.sample_rate), such as a denoiser. It takes samples and gives samples of any
 * number at a time, and it knows which output belongs to which input.
 *
 * Time
 *   Output sample i has the time of input sample i * rate_in / rate_out. The lag of the output
 *   (lw_output_info.lag) is gone. After lw_audio_stream_finish there are as many outputs as the
 *   time that was pushed takes: with equal rates as many as inputs.
 *   An audio host needs n samples for n samples at once. With `live`, lw_audio_stream_latency
 *   zeros come first, and then n inputs always bring n outputs. The latency is constant: host
 *   blocks of any sizes have it.
 *
 * The samples do not depend on how the audio is split.
 *
 * A row that is NaN or infinite is heard as silence. The stream would keep giving such rows, so it
 * is reset at once, which lw_audio_stream_info.resets counts. Time goes on.
 *
 * An audio stream belongs to one thread at a time. Only create and destroy allocate. On the CPU,
 * push, pull, process, finish and reset are real-time safe: they never allocate, lock or make a
 * system call.
 */
#ifndef LONGWAVE_AUDIO_STREAM_H
#define LONGWAVE_AUDIO_STREAM_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A stream, samples that wait, and resamplers where the rates ask for them. */
typedef struct lw_audio_stream lw_audio_stream;

/** Settings of lw_audio_stream_create. A field that is 0 means its default. Only `format` has
 * none: push takes untyped samples. */
typedef struct lw_audio_stream_options {
    size_t struct_size;
    lw_sample_format format; /**< of pushed and pulled samples: LW_S16 or LW_F32 */
    uint32_t block;          /**< of the stream: lw_stream_options.block */
    const char *output;      /**< an audio output; NULL: the only one. Read during create only */
    uint32_t rate_in;        /**< of pushed samples, Hz; 0: that of the model's input. Other rates
                              * are converted (resampler.h) */
    uint32_t rate_out;       /**< of pulled samples, Hz; 0: that of the model's output */
    uint32_t live;           /**< 1: zeros come first, so that n inputs bring n outputs */
    uint32_t queue;          /**< outputs that may wait besides those of a block; 0: 1,024 */
} lw_audio_stream_options;
#define LW_AUDIO_STREAM_OPTIONS_INIT LW_INITIAL(lw_audio_stream_options)

/** An audio stream and what it has done since creation or reset. */
typedef struct lw_audio_stream_info {
    size_t struct_size;
    uint32_t rate_in, rate_out; /**< of pushed and of pulled samples, Hz */
    uint32_t latency;           /**< as lw_audio_stream_latency */
    uint64_t taken, given;      /**< samples pushed and pulled */
    uint64_t non_finite;        /**< inputs that are NaN, infinite or too large: they count as 0 */
    uint64_t resets;            /**< because of a row that was not finite */
} lw_audio_stream_info;
#define LW_AUDIO_STREAM_INFO_INIT LW_INITIAL(lw_audio_stream_info)

/** Creates an audio stream. Not for real-time threads. Any thread.
 * @param options at least struct_size and format.
 * @param out the audio stream; the caller destroys it. It keeps the model until then.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model, options or out is NULL, struct_size or format is not set, or a
 *         value is out of range.
 * @retval LW_NOT_FOUND The model has no audio input, no such audio output or stream entry. Or it
 *         has several audio outputs and `output` is NULL.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_UNSUPPORTED No filter between the rates is small enough (resampler.h).
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_create(const lw_model *model,
                                        const lw_audio_stream_options *options,
                                        lw_audio_stream **out);
/** Memory that lw_audio_stream_init needs. Any thread; real-time safe.
 * @param size in bytes, with the stream.
 * @param alignment in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_audio_stream_create; size or alignment is NULL.
 * @retval LW_NOT_FOUND as lw_audio_stream_create.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_UNSUPPORTED as lw_audio_stream_create. */
LW_API lw_status lw_audio_stream_size(const lw_model *model, const lw_audio_stream_options *options,
                                      size_t *size, size_t *alignment);
/** Creates an audio stream in the caller's memory. On the CPU it is real-time safe, where no rate
 * is converted. Any thread.
 * @param memory `size` bytes as lw_audio_stream_size says for these options. They are the caller's
 *        again after lw_audio_stream_destroy, which is needed: the audio stream keeps the model.
 * @param out the audio stream, which begins at `memory`.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_audio_stream_create; memory is NULL or not aligned.
 * @retval LW_TOO_SMALL size is too small.
 * @retval LW_NOT_FOUND as lw_audio_stream_create.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_UNSUPPORTED as lw_audio_stream_create.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_init(const lw_model *model, const lw_audio_stream_options *options,
                                      void *memory, size_t size, lw_audio_stream **out);
/** Destroys an audio stream. Not for real-time threads. One of lw_audio_stream_init on the CPU is
 * an exception, as long as its model is not closed.
 * @param stream NULL: no effect. */
LW_API void lw_audio_stream_destroy(lw_audio_stream *stream);

/** Takes samples and computes. Real-time safe on the CPU.
 * @param samples n samples in the stream's format. Not kept.
 * @param taken may be NULL. Samples taken: fewer than n only while more outputs wait than the
 *        queue has room for. Then pull, and push the rest.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL, or samples is NULL and n is not 0.
 * @retval LW_WRONG_STATE The audio stream is finished, or a kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_audio_stream_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_push(lw_audio_stream *stream, const void *samples, size_t n,
                                      size_t *taken);
/** Takes the outputs that are ready. Real-time safe on the CPU.
 * @param samples room for `capacity` samples in the stream's format. LW_S16 is rounded, and clipped
 *        at full scale.
 * @param n samples written.
 * @retval LW_OK At least one.
 * @retval LW_AGAIN None is ready: push more audio. Or capacity is 0.
 * @retval LW_END The audio stream is finished, and no output is left.
 * @retval LW_INVALID_ARGUMENT stream or n is NULL, or samples is NULL and capacity is not 0.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_audio_stream_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_pull(lw_audio_stream *stream, void *samples, size_t capacity,
                                      size_t *n);
/** Takes n samples and gives n: the body of an audio callback. Only with `live` and equal rates.
 * Real-time safe on the CPU.
 * @param in n samples in the stream's format.
 * @param out n samples; may be `in`. After a failure zeros follow those that were ready.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream, in or out is NULL.
 * @retval LW_WRONG_STATE The audio stream is finished, is not live or has two rates. Or samples
 *         that were pushed were not pulled yet, or a kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_audio_stream_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_process(lw_audio_stream *stream, const void *in, void *out,
                                         size_t n);
/** Ends the audio. pull then gives the rest: the model hears zeros behind the end. Real-time safe.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL.
 * @retval LW_WRONG_STATE It is finished already, or a kernel failed before. */
LW_API lw_status lw_audio_stream_finish(lw_audio_stream *stream);
/** Makes the audio stream as new. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_reset(lw_audio_stream *stream);

/** Sets a scalar of the model, as lw_stream_set: a knob of a plug-in. It holds from the next block
 * on. lw_audio_stream_reset gives the initial value back. A reset by the library
 * (lw_audio_stream_info.resets) keeps the value. Real-time safe on the CPU.
 * @param scalar its name, UTF-8. Not kept.
 * @param value low ... high of lw_scalar_info.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or scalar is NULL, or value is NaN or out of range.
 * @retval LW_NOT_FOUND The model has no such scalar. The detail lists those that it has.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @note GPU statuses apply. */
LW_API lw_status lw_audio_stream_set(lw_audio_stream *stream, const char *scalar, float value);

/** Outputs between a sample that goes in and the same moment that comes out, in the worst case.
 * With `live` it is always so many. They are the lag of the output, its delay, the rest of a block,
 * and the filters of other rates. Real-time safe.
 * @return 0 for NULL. */
LW_API uint32_t lw_audio_stream_latency(const lw_audio_stream *stream);
/** Describes the audio stream. Real-time safe.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or info is NULL, or struct_size is not set. */
LW_API lw_status lw_audio_stream_get_info(const lw_audio_stream *stream,
                                          lw_audio_stream_info *info);

#ifdef __cplusplus
}
#endif
#endif
