/** @file
 * Longwave keyword spotting: audio in, one event per spoken word.
 *
 * A spotter runs a stream (longwave.h) and a decision rule on its class scores. The rule averages
 * each row of scores with the rows before it. A word fires when its average is the highest and at
 * its threshold for `min_count` consecutive rows. Then nothing fires until the word's average falls
 * below `release` times its threshold, and `refractory_ms` more have passed. So one utterance is
 * one event, however long it lasts. Ignored labels never fire.
 *
 * A row with a score that is NaN or infinite decides nothing, and the stream would keep giving such
 * rows. So the spotter resets its stream at once and counts that in lw_stream_stats.resets. Waiting
 * events and the numbers of ticks and rows stay. The tick of the reset does not depend on how the
 * audio was split.
 *
 * A spotter belongs to one thread at a time. Only create and destroy allocate. On the CPU, init,
 * push, pull, finish, reset, copy, save and load are real-time safe: they never allocate, lock or
 * make a system call.
 */
#ifndef LONGWAVE_SPOTTER_H
#define LONGWAVE_SPOTTER_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A stream with a decision rule, and up to 16 events that wait. */
typedef struct lw_spotter lw_spotter;

/** A threshold of one word. */
typedef struct lw_word_threshold {
    const char *word; /**< a label of the model */
    float threshold;  /**< in (0, 1]; more than 1: the word never fires */
} lw_word_threshold;

/** Settings of lw_spotter_create. A field that is 0 keeps the setting of the model. Only `format`
 * has no default: push takes untyped samples. */
typedef struct lw_spotter_options {
    size_t struct_size;
    lw_sample_format format;        /**< of pushed samples: LW_S16 or LW_F32 */
    float threshold;                /**< of every word that `words` does not name, in (0, 1] */
    const lw_word_threshold *words; /**< read during create only */
    size_t n_words;
    float smoothing_ms;  /**< length of the moving average in ms; negative: none */
    uint32_t min_count;  /**< consecutive rows at the threshold */
    float release;       /**< in (0, 1], relative to the threshold */
    float refractory_ms; /**< ms without events after a release; negative: none */
    uint32_t block;      /**< of the stream: lw_stream_options.block */
    float gain_db;       /**< amplifies samples, -60 to 60; auto_gain begins with it, -12 to 30 */
    /** 1: the gain slowly follows the level of the sounds, between -12 and 30 dB. Copy, save and
     * load carry it. It does not depend on how the audio is split. */
    uint32_t auto_gain;
} lw_spotter_options;
#define LW_SPOTTER_OPTIONS_INIT LW_INITIAL(lw_spotter_options)

/** A word that was recognised. */
typedef struct lw_spotter_event {
    size_t struct_size;
    uint32_t label;
    const char *word; /**< belongs to the model */
    float score;      /**< the average that fired */
    uint64_t tick;    /**< samples heard when it fired; divide by the sample rate for seconds */
    /** Sample where the word's score rose above its release level, at most one moving average
     * before the first row that counted. */
    uint64_t tick_start;
    uint64_t row; /**< number of the row that fired */
} lw_spotter_event;
#define LW_SPOTTER_EVENT_INIT LW_INITIAL(lw_spotter_event)

/** Creates a spotter and its stream. Not for real-time threads. Any thread.
 * @param options at least struct_size and format.
 * @param out the spotter; the caller destroys it. It keeps the model until then.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model, options or out is NULL, struct_size or format is not set, or a
 *         value is out of range.
 * @retval LW_NOT_FOUND The model has no decision settings, no audio input, no such output or stream
 *         entry; or a word is not a label of the model.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_create(const lw_model *model, const lw_spotter_options *options,
                                   lw_spotter **out);
/** Memory that lw_spotter_init needs. Any thread; real-time safe.
 * @param size in bytes, with the spotter's stream.
 * @param alignment in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_spotter_create; size or alignment is NULL.
 * @retval LW_NOT_FOUND as lw_spotter_create.
 * @retval LW_NO_STREAM The model has no stream entry (for this device). */
LW_API lw_status lw_spotter_size(const lw_model *model, const lw_spotter_options *options,
                                 size_t *size, size_t *alignment);
/** Creates a spotter in the caller's memory. On the CPU it is real-time safe. Any thread.
 * @param memory `size` bytes as lw_spotter_size says for these options. They are the
 *        caller's again after lw_spotter_destroy, which is needed: the spotter keeps the model.
 * @param out the spotter, which begins at `memory`.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_spotter_create; memory is NULL or not aligned.
 * @retval LW_TOO_SMALL size is too small.
 * @retval LW_NOT_FOUND as lw_spotter_create.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_init(const lw_model *model, const lw_spotter_options *options,
                                 void *memory, size_t size, lw_spotter **out);
/** Destroys a spotter. Not for real-time threads. A spotter of lw_spotter_init on the CPU is an
 * exception, as long as its model is not closed.
 * @param spotter NULL: no effect. */
LW_API void lw_spotter_destroy(lw_spotter *spotter);

/** Takes samples and decides. Real-time safe on the CPU.
 * @param samples n samples in the spotter's format. Not kept.
 * @param taken may be NULL. Samples taken: fewer than n only while 16 events wait. Then pull, and
 *        push the rest.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT spotter is NULL, or samples is NULL and n is not 0.
 * @retval LW_WRONG_STATE The spotter is finished, or a kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_spotter_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_push(lw_spotter *spotter, const void *samples, size_t n, size_t *taken);
/** Takes the next event. Real-time safe on the CPU.
 * @param event set event->struct_size first; filled in on LW_OK.
 * @retval LW_OK
 * @retval LW_AGAIN No event waits: push more audio.
 * @retval LW_END The spotter is finished, and no event is left.
 * @retval LW_INVALID_ARGUMENT spotter or event is NULL, or struct_size is not set.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_spotter_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_pull(lw_spotter *spotter, lw_spotter_event *event);
/** Ends the audio. Events of its last rows can be pulled afterwards. Real-time safe.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT spotter is NULL.
 * @retval LW_WRONG_STATE It is finished already, or a kernel failed before. */
LW_API lw_status lw_spotter_finish(lw_spotter *spotter);
/** Makes the spotter as new. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT spotter is NULL.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_reset(lw_spotter *spotter);
/** Makes `to` continue as `from` would, with the thresholds, min_count, release and refractory time
 * of `to`. The two may have different formats and entries. Both belong to the calling thread.
 * Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT A spotter is NULL.
 * @retval LW_BAD_STATE They are of different models, or their moving averages have different
 *         lengths.
 * @retval LW_DEVICE A kernel failed. `to` has failed as in push.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_copy(lw_spotter *to, const lw_spotter *from);
/** Saves everything that the spotter has heard: its stream (lw_stream_save), the decision rule and
 * the events that wait. Its settings are not saved. Real-time safe on the CPU.
 * @param bytes `capacity` bytes to write to; NULL: only the size is returned.
 * @param n the size of the saved state in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT spotter or n is NULL.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_TOO_SMALL capacity is less than *n.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_save(const lw_spotter *spotter, void *bytes, size_t capacity,
                                 size_t *n);
/** Continues from a saved state, also in the middle of a word, with the settings of this spotter.
 * The two may differ as lw_stream_load allows. Any bytes are safe. Real-time safe on the CPU.
 * @param bytes n bytes that lw_spotter_save wrote. Not kept.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT spotter or bytes is NULL.
 * @retval LW_BAD_STATE As lw_stream_load, or of a moving average of another length. The spotter
 *         does not change.
 * @retval LW_DEVICE A kernel failed. Only lw_spotter_reset or lw_spotter_load helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_spotter_load(lw_spotter *spotter, const void *bytes, size_t n);

/** The averaged scores after the last push, for meters and for choosing thresholds. Real-time safe.
 * @param scores one per label; belongs to the spotter and is valid until its next call.
 * @param n their number.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT An argument is NULL. */
LW_API lw_status lw_spotter_scores(const lw_spotter *spotter, const float **scores, uint32_t *n);
/** The threshold in force for a label. Real-time safe.
 * @return 0 for an ignored or unknown label. */
LW_API float lw_spotter_threshold(const lw_spotter *spotter, uint32_t label);
/** The factor that samples are multiplied with now: see lw_spotter_options.gain_db. Real-time safe.
 * @return 1 without gain. */
LW_API float lw_spotter_gain(const lw_spotter *spotter);
/** Counters of the spotter's stream since create or lw_spotter_reset. Real-time safe.
 * @param stats set stats->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT spotter or stats is NULL, or struct_size is not set. */
LW_API lw_status lw_spotter_get_stats(const lw_spotter *spotter, lw_stream_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
