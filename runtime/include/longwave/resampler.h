/** @file
 * Longwave resampler: audio of any rate and number of channels becomes what a model listens to, one
 * channel of floats at another rate.
 *
 * A model has one sample rate (lw_input_info.sample_rate), and a microphone often has another. At a
 * wrong rate a spotter finds nothing. The resampler converts between two rates with a windowed sinc
 * (Kaiser) in polyphase form. Of the channels it takes the mean.
 *
 * N is the Nyquist frequency of the lower rate. Up to 0.9 N the gain is 1 within 0.001 dB. From N
 * on it is below -100 dB, for aliases and for images. Between them it falls.
 * Output i has the time of input frame i * rate_in / rate_out: nothing is shifted. An output comes
 * when lw_resampler_info.delay more frames are there: about 4 ms from 48,000 to 16,000 Hz. The
 * outputs are the same bits, however the input is split, and on every CPU.
 *
 * A resampler belongs to one thread at a time. Only create and destroy allocate. push, finish and
 * reset are real-time safe: they never allocate, lock or make a system call.
 */
#ifndef LONGWAVE_RESAMPLER_H
#define LONGWAVE_RESAMPLER_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A filter, and the newest frames that it reads. */
typedef struct lw_resampler lw_resampler;

/** Settings of lw_resampler_create. */
typedef struct lw_resampler_options {
    size_t struct_size;
    lw_sample_format format;       /**< of pushed samples: LW_S16 or LW_F32 */
    uint32_t channels;             /**< of pushed frames, at most 256; 0: 1 */
    uint32_t rate_in;              /**< of pushed frames, 1,000 to 768,000 Hz */
    uint32_t rate_out;             /**< of what comes out: lw_input_info.sample_rate of the model */
    const lw_allocator *allocator; /**< NULL: malloc. Copied; lw_resampler_init does not use it */
} lw_resampler_options;
#define LW_RESAMPLER_OPTIONS_INIT LW_INITIAL(lw_resampler_options)

/** A resampler and what it has done since creation or reset. */
typedef struct lw_resampler_info {
    size_t struct_size;
    uint32_t delay;      /**< frames after its own time that an output needs; 0 at equal rates */
    uint64_t taken;      /**< frames pushed */
    uint64_t given;      /**< outputs */
    uint64_t non_finite; /**< values that are NaN, infinite or beyond 1e6: they count as 0 */
} lw_resampler_info;
#define LW_RESAMPLER_INFO_INIT LW_INITIAL(lw_resampler_info)

/** Creates a resampler and computes its filter. Not for real-time threads. Any thread.
 * @param options all fields but channels and allocator are needed.
 * @param out the resampler; the caller destroys it.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT options or out is NULL, struct_size or a field is not set, a field is
 *         out of range, or the allocator lacks a function.
 * @retval LW_UNSUPPORTED The two rates have too small a common divisor: the filter would be larger
 *         than 4 MiB.
 * @retval LW_NO_MEMORY There is no memory. */
LW_API lw_status lw_resampler_create(const lw_resampler_options *options, lw_resampler **out);
/** Memory that lw_resampler_init needs. Any thread; real-time safe.
 * @param size in bytes.
 * @param alignment in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_resampler_create; size or alignment is NULL.
 * @retval LW_UNSUPPORTED as lw_resampler_create. */
LW_API lw_status lw_resampler_size(const lw_resampler_options *options, size_t *size,
                                   size_t *alignment);
/** Creates a resampler in the caller's memory. Computes the filter: some milliseconds. Any thread.
 * @param memory `size` bytes as lw_resampler_size says. They are the caller's again after the last
 *        call on the resampler.
 * @param out the resampler, which begins at `memory`.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_resampler_create; memory is NULL or not aligned.
 * @retval LW_TOO_SMALL size is too small.
 * @retval LW_UNSUPPORTED as lw_resampler_create. */
LW_API lw_status lw_resampler_init(const lw_resampler_options *options, void *memory, size_t size,
                                   lw_resampler **out);
/** Destroys a resampler. Not for real-time threads.
 * @param resampler NULL: no effect. */
LW_API void lw_resampler_destroy(lw_resampler *resampler);

/** Takes frames and gives the outputs that they complete. Real-time safe.
 * @param samples `frames` times options.channels samples, interleaved. Not kept.
 * @param frames at most 2^40.
 * @param out room for `capacity` floats. frames * rate_out / rate_in + 1 floats are always enough.
 * @param n floats written. After LW_TOO_SMALL: floats needed.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT resampler or n is NULL, or there are more than 2^40 frames. Or
 *         samples is NULL and frames is not 0, or out is NULL and capacity is not 0.
 * @retval LW_TOO_SMALL capacity is less than *n. Nothing was taken.
 * @retval LW_WRONG_STATE The resampler is finished. */
LW_API lw_status lw_resampler_push(lw_resampler *resampler, const void *samples, size_t frames,
                                   float *out, size_t capacity, size_t *n);
/** Ends the input and gives the last outputs, as if zeros followed. Real-time safe.
 * @param out room for `capacity` floats. lw_resampler_info.delay * rate_out / rate_in + 1 floats
 *        are always enough.
 * @param n floats written. After LW_TOO_SMALL: floats needed.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT resampler or n is NULL, or out is NULL and capacity is not 0.
 * @retval LW_TOO_SMALL capacity is less than *n. The resampler is not finished.
 * @retval LW_WRONG_STATE The resampler is finished already. */
LW_API lw_status lw_resampler_finish(lw_resampler *resampler, float *out, size_t capacity,
                                     size_t *n);
/** Makes the resampler as new. Real-time safe.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT resampler is NULL. */
LW_API lw_status lw_resampler_reset(lw_resampler *resampler);
/** Describes the resampler. Real-time safe.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT resampler or info is NULL, or struct_size is not set. */
LW_API lw_status lw_resampler_get_info(const lw_resampler *resampler, lw_resampler_info *info);

#ifdef __cplusplus
}
#endif
#endif
