/* Longwave keyword spotting: audio in, one event for each spoken word.
 *
 * Works on top of a stream (longwave.h). Each row of class scores is averaged with those before it; a word
 * fires when its average is the highest and at its threshold for `min_count` rows in a row. Then nothing
 * fires until that word's average has fallen below `release` times its threshold, and `refractory_ms` more
 * have passed: one utterance is one event, however long it stays on top. Ignored labels never fire.
 *
 * A row with a score that is not finite decides nothing. Its stream would give such rows from then on, so the
 * spotter resets it at once, as lw_spotter_reset does but for the events that wait and the count of ticks and
 * rows, and counts that in lw_stream_stats.resets. Where that happens does not depend on how the audio was
 * cut.
 *
 * A spotter belongs to one thread at a time. Everything is allocated by create; push, pull, finish and reset
 * never allocate, lock or call the system.
 */
#ifndef LONGWAVE_SPOTTER_H
#define LONGWAVE_SPOTTER_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_spotter lw_spotter;

typedef struct lw_word_threshold {
    const char *word; /* a label of the model */
    float threshold;  /* in (0, 1]; more than 1: the word never fires */
} lw_word_threshold;

/* Overrides of the settings in the artifact; a zero field keeps what the artifact says. */
typedef struct lw_spotter_options {
    size_t struct_size;
    lw_format format;               /* of pushed samples */
    float threshold;                /* of every word not named below, in (0, 1] */
    const lw_word_threshold *words; /* read during create only */
    size_t n_words;
    float smoothing_ms;  /* length of the moving average; negative: none */
    uint32_t min_count;  /* rows in a row */
    float release;       /* in (0, 1], times the threshold */
    float refractory_ms; /* from the end of the run; negative: none */
    uint32_t entry;      /* of the stream: lw_stream_options.entry */
} lw_spotter_options;

typedef struct lw_event {
    size_t struct_size;
    uint32_t label;
    const char *word;    /* belongs to the model */
    float score;         /* the average that fired */
    uint64_t tick;       /* samples covered when it fired: divide by the sample rate for seconds */
    uint64_t tick_start; /* where the word's own score began to be above its release level, at most a
                          * smoothing window before the run began */
    uint64_t row;        /* number of the row that fired */
} lw_event;

/* LW_NOT_FOUND: the artifact has no decision settings, its output is no output of the stream, or a word of
 * `options` is no label. LW_INVALID_ARGUMENT: a value out of range. Otherwise what lw_stream_create
 * returns. */
LW_API lw_status lw_spotter_create(const lw_model *model, const lw_spotter_options *options,
                                   lw_spotter **out);
LW_API void lw_spotter_destroy(lw_spotter *spotter); /* NULL is fine */

/* Takes samples, fewer than n only while 16 events wait: pull, then push the rest. `taken` may be NULL. */
LW_API lw_status lw_spotter_push(lw_spotter *spotter, const void *samples, size_t n, size_t *taken);
/* The next event. LW_AGAIN: none waits. LW_END: finished and none will come. Set event->struct_size first. */
LW_API lw_status lw_spotter_pull(lw_spotter *spotter, lw_event *event);
/* End of the audio: what its last rows decide can be pulled afterwards. */
LW_API lw_status lw_spotter_finish(lw_spotter *spotter);
/* As after create. */
LW_API lw_status lw_spotter_reset(lw_spotter *spotter);

/* The averaged scores after the last push, one a label, and their number: for meters and for choosing
 * thresholds. Valid until the next call. */
LW_API lw_status lw_spotter_scores(const lw_spotter *spotter, const float **scores, uint32_t *n);
/* The threshold in force for a label, 0 for an ignored or unknown one. */
LW_API float lw_spotter_threshold(const lw_spotter *spotter, uint32_t label);
/* Those of its stream since create or lw_spotter_reset, whatever it reset itself. */
LW_API lw_status lw_spotter_get_stats(const lw_spotter *spotter, lw_stream_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
