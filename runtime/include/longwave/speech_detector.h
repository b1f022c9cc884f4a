/** @file
 * Longwave voice activity: audio in, segments of speech out.
 *
 * A speech detector runs a stream (longwave.h) of a model that gives one probability of speech per
 * row. A rule turns the probabilities into segments: that of Silero's function
 * `get_speech_timestamps` (package silero-vad 6.2.3). For the same probabilities the segments are
 * the same, to the sample.
 *
 * The rule
 *   Speech begins with a row at or above `threshold`. It ends where a pause begins that lasts
 *   `min_silence_ms`: rows below `negative_threshold`, and no row at `threshold` after them. Then
 *   segments that are not longer than `min_speech_ms` vanish. `speech_pad_ms` is added on both
 *   sides. Two segments with less than twice the padding between them share what is between them. A
 *   segment that becomes longer than `max_speech_s` is cut in its longest pause of more than
 *   `min_silence_at_max_ms`, or at once if it has none.
 *
 * Events
 *   BEGAN    a row reached the threshold: at the end of this row. START or DROPPED follows.
 *   START    it is surely a segment.
 *   END      the segment is complete, and `start` and `end` are final.
 *   DROPPED  what BEGAN announced is too short for a segment.
 *   The END events are the segments of the offline function, in order. Segments do not overlap, and
 *   START and END alternate. BEGAN may come before the END of the segment in front of it.
 *
 * When they come
 *   START comes as soon as the speech is longer than `min_speech_ms`. END comes with the row that
 *   completes the pause of `min_silence_ms`, or later: when a next segment can no longer begin
 *   within twice the padding. If one did begin, END comes with its START or DROPPED. So END is
 *   known at the latest 2 * speech_pad_ms + min_speech_ms + min_silence_ms + 3 rows after the end
 *   of a segment. Rows between the two thresholds decide nothing, and their time is added.
 *   Where a too long segment is cut is known when it is too long: up to `max_speech_s` later.
 *   With the default options and rows of 32 ms, END comes 160 ms after the last row of speech.
 *
 * Positions count pushed samples, at the rate of the model (lw_input_info.sample_rate).
 *
 * A row that is NaN or infinite decides nothing, and the stream would keep giving such rows. So the
 * detector resets its stream at once and counts that in lw_stream_stats.resets. The segment in
 * progress goes on.
 *
 * A detector belongs to one thread at a time. Only create and destroy allocate. On the CPU, init,
 * push, pull, finish, reset, copy, save and load are real-time safe: they never allocate, lock or
 * make a system call.
 */
#ifndef LONGWAVE_SPEECH_DETECTOR_H
#define LONGWAVE_SPEECH_DETECTOR_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A stream with the rule, and up to 32 events that wait. */
typedef struct lw_speech_detector lw_speech_detector;

/** Settings of lw_speech_detector_create. A field that is 0 means its default. Only `format` has
 * none: push takes untyped samples. Times are below one hour. They are doubles, as in the package:
 * a float of 33.3 is another number. */
typedef struct lw_speech_detector_options {
    size_t struct_size;
    lw_sample_format format;   /**< of pushed samples: LW_S16 or LW_F32 */
    uint32_t block;            /**< of the stream: lw_stream_options.block */
    const char *output;        /**< that has the probability; NULL: the only one of width 1.
                                * Read during create only */
    double threshold;          /**< speech is at or above it, at most 1; 0: 0.5 */
    double negative_threshold; /**< silence is below it, at most `threshold`; 0: threshold - 0.15,
                                * but at least 0.01 */
    double min_speech_ms;      /**< segments must be longer. 0: 250, negative: none */
    double min_silence_ms;     /**< pauses that end a segment. 0: 100, negative: none */
    double speech_pad_ms;      /**< added before and after. 0: 30, negative: none */
    double max_speech_s;       /**< longest segment with its padding; 0: no limit */
    double min_silence_at_max_ms; /**< pauses where a too long segment may be cut are longer.
                                   * 0: 98, negative: none */
    uint32_t cut_at_last_silence; /**< 1: cuts in the last such pause, not in the longest one */
    uint32_t rows;                /**< 1: each row is an event too, LW_SPEECH_ROW */
    float gain_db;                /**< as lw_spotter_options.gain_db (spotter.h) */
    uint32_t auto_gain;           /**< as lw_spotter_options.auto_gain */
} lw_speech_detector_options;
#define LW_SPEECH_DETECTOR_OPTIONS_INIT LW_INITIAL(lw_speech_detector_options)

/** Kind of an event. */
typedef enum lw_speech_event_kind {
    LW_SPEECH_BEGAN = 1,   /**< provisional: `start`. START with this start follows, or DROPPED */
    LW_SPEECH_DROPPED = 2, /**< it was too short: `start` as in BEGAN, `end` where it ended */
    LW_SPEECH_START = 3,   /**< a segment: `start` is final */
    LW_SPEECH_END = 4,     /**< its end: `start` and `end` are final */
    LW_SPEECH_ROW = 5,     /**< with options.rows: `start`, `end` and `probability` of a row */
    LW_SPEECH_EVENT_FORCE = 0x7fffffff /**< not used: 32 bits */
} lw_speech_event_kind;

/** An event. */
typedef struct lw_speech_event {
    size_t struct_size;
    lw_speech_event_kind kind;
    float probability; /**< of the row that decided; after the end of the audio of the last row */
    int64_t start;     /**< first sample */
    int64_t end;       /**< behind the last sample; BEGAN and START: -1 */
    int64_t tick;      /**< samples that were needed to know it, without the delay of the model */
} lw_speech_event;
#define LW_SPEECH_EVENT_INIT LW_INITIAL(lw_speech_event)

/** Creates a detector and its stream. Not for real-time threads. Any thread.
 * @param options at least struct_size and format.
 * @param out the detector; the caller destroys it. It keeps the model until then.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model, options or out is NULL, struct_size or format is not set, or a
 *         value is out of range.
 * @retval LW_NOT_FOUND The model has no audio input, no such output or stream entry. Or the output
 *         does not have one value for every so many samples, at least 2.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_create(const lw_model *model,
                                           const lw_speech_detector_options *options,
                                           lw_speech_detector **out);
/** Memory that lw_speech_detector_init needs. Any thread; real-time safe.
 * @param size in bytes, with the detector's stream.
 * @param alignment in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_speech_detector_create; size or alignment is NULL.
 * @retval LW_NOT_FOUND as lw_speech_detector_create.
 * @retval LW_NO_STREAM The model has no stream entry (for this device). */
LW_API lw_status lw_speech_detector_size(const lw_model *model,
                                         const lw_speech_detector_options *options, size_t *size,
                                         size_t *alignment);
/** Creates a detector in the caller's memory. On the CPU it is real-time safe. Any thread.
 * @param memory `size` bytes as lw_speech_detector_size says for these options. They are the
 *        caller's again after lw_speech_detector_destroy, which is needed: the detector keeps the
 *        model.
 * @param out the detector, which begins at `memory`.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_speech_detector_create; memory is NULL or not aligned.
 * @retval LW_TOO_SMALL size is too small.
 * @retval LW_NOT_FOUND as lw_speech_detector_create.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_init(const lw_model *model,
                                         const lw_speech_detector_options *options, void *memory,
                                         size_t size, lw_speech_detector **out);
/** Destroys a detector. Not for real-time threads. A detector of lw_speech_detector_init on the CPU
 * is an exception, as long as its model is not closed.
 * @param detector NULL: no effect. */
LW_API void lw_speech_detector_destroy(lw_speech_detector *detector);

/** Takes samples and decides. Real-time safe on the CPU.
 * @param samples n samples in the detector's format. Not kept.
 * @param taken may be NULL. Samples taken: fewer than n only while 25 events or more wait. Then
 *        pull, and push the rest.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT detector is NULL, or samples is NULL and n is not 0.
 * @retval LW_WRONG_STATE The detector is finished, or a kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_speech_detector_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_push(lw_speech_detector *detector, const void *samples,
                                         size_t n, size_t *taken);
/** Takes the next event. Real-time safe on the CPU.
 * @param event set event->struct_size first; filled in on LW_OK.
 * @retval LW_OK
 * @retval LW_AGAIN No event waits: push more audio.
 * @retval LW_END The detector is finished, and no event is left.
 * @retval LW_INVALID_ARGUMENT detector or event is NULL, or struct_size is not set.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_DEVICE A kernel failed. Only lw_speech_detector_reset helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_pull(lw_speech_detector *detector, lw_speech_event *event);
/** Ends the audio. Zeros complete the last row, as in the package. Speech that still lasts ends
 * with the audio. pull then gives the last events. Real-time safe.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT detector is NULL.
 * @retval LW_WRONG_STATE It is finished already, or a kernel failed before. */
LW_API lw_status lw_speech_detector_finish(lw_speech_detector *detector);
/** Makes the detector as new. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT detector is NULL.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_reset(lw_speech_detector *detector);
/** Makes `to` continue as `from` would, with the settings of `to`. The two may have different
 * formats and entries. Both belong to the calling thread. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT A detector is NULL.
 * @retval LW_BAD_STATE They are of different models or different outputs.
 * @retval LW_DEVICE A kernel failed. `to` has failed as in push.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_copy(lw_speech_detector *to, const lw_speech_detector *from);
/** Saves everything that the detector has heard: its stream (lw_stream_save), the rule and the
 * events that wait. Its settings are not saved. Real-time safe on the CPU.
 * @param bytes `capacity` bytes to write to; NULL: only the size is returned.
 * @param n the size of the saved state in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT detector or n is NULL.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_TOO_SMALL capacity is less than *n.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_save(const lw_speech_detector *detector, void *bytes,
                                         size_t capacity, size_t *n);
/** Continues from a saved state, also in the middle of a segment, with the settings of this
 * detector. The two may differ as lw_stream_load allows. Any bytes are safe. Real-time safe on the
 * CPU.
 * @param bytes n bytes that lw_speech_detector_save wrote. Not kept.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT detector or bytes is NULL.
 * @retval LW_BAD_STATE As lw_stream_load, or of another output. The detector does not change.
 * @retval LW_DEVICE A kernel failed. Only lw_speech_detector_reset or lw_speech_detector_load
 *         helps.
 * @note GPU statuses apply. */
LW_API lw_status lw_speech_detector_load(lw_speech_detector *detector, const void *bytes, size_t n);

/** Samples per row of the probabilities. Real-time safe.
 * @return 0 for NULL. */
LW_API uint32_t lw_speech_detector_hop(const lw_speech_detector *detector);
/** The factor that samples are multiplied with now. Real-time safe.
 * @return 1 without gain. */
LW_API float lw_speech_detector_gain(const lw_speech_detector *detector);
/** Counters of the detector's stream since create or lw_speech_detector_reset. Real-time safe.
 * @param stats set stats->struct_size first; filled in. Zeros that finish added count as ticks.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT detector or stats is NULL, or struct_size is not set. */
LW_API lw_status lw_speech_detector_get_stats(const lw_speech_detector *detector,
                                              lw_stream_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
