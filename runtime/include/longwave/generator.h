/* Longwave text generation: ids in, ids out, one at a time.
 *
 * Works on top of a stream (longwave.h) of a language model: one input of token ids, and an output that brings
 * for every id, without delay, one logit for each id that may follow. The stream's own entry has block 1;
 * larger entries of the same artifact read prompts (`longwave compile --blocks 1,64`).
 *
 * How an id is chosen, in this order
 *   1. repetition penalty: the logit of each id among the newest `repetition_window` ones, those of prompts
 *      included, is divided by the penalty when it is positive and multiplied when it is negative (Keskar et
 *      al. 2019, CTRL, section 4.1)
 *   2. biases are added
 *   3. temperature 0: the id with the largest logit, and that is all. Otherwise logits are divided by the
 *      temperature, and probabilities are their softmax
 *   4. top_k: only the k likeliest ids stay
 *   5. top_p: of those only the fewest likeliest whose probabilities add up to at least top_p of their sum
 *      (Holtzman et al. 2020, nucleus sampling)
 *   6. min_p: of those only ids at least min_p times as likely as the likeliest (Nguyen et al. 2024)
 *   7. one of those that are left is drawn, as likely as it is among them
 * Between equal logits the lower id comes first. The sums are float64 and in a fixed order; the random number
 * is a function of the seed and the position in the stream alone (Philox4x32-10: Salmon et al. 2011). So the
 * same logits give the same ids on every machine, and a stream that was saved, loaded or copied goes on as it
 * would have.
 *
 * There is no limit of context: the state of the stream is all that is kept, and a token costs the same after
 * ten ids and after ten million.
 *
 * A generator belongs to one thread at a time, that of its stream. Everything is allocated by create; all
 * other calls but prompt are for real time: they never allocate, lock or call the system.
 */
#ifndef LONGWAVE_GENERATOR_H
#define LONGWAVE_GENERATOR_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_generator lw_generator;

typedef struct lw_logit_bias {
    int32_t id;
    float bias; /* within ± 1e30; −1e30: the id is never chosen while there is another */
} lw_logit_bias;

typedef struct lw_stop_sequence {
    const int32_t *ids;
    size_t n; /* 1 … 65536 */
} lw_stop_sequence;

/* Lists are read during create only. A zero field is the default: the likeliest id, unchanged logits. */
typedef struct lw_generator_options {
    size_t struct_size;
    uint64_t seed;
    float temperature;          /* 0: the likeliest id */
    uint32_t top_k;             /* 0: all */
    float top_p;                /* in [0, 1]; 0: all */
    float min_p;                /* in [0, 1] */
    float repetition_penalty;   /* in [0.01, 100]; 0: none */
    uint32_t repetition_window; /* ids; 0: 64. At most 2^20, as the next */
    uint32_t recent;       /* ids that lw_generator_recent can tell; more where stop sequences are longer */
    int log_probabilities; /* 1: lw_token.log_probability is computed: an exponential for each id */
    const lw_logit_bias *biases;
    size_t n_biases; /* at most 2^20 */
    const lw_stop_sequence *stops;
    size_t n_stops; /* at most 65536 */
    /* 1: what cannot be chosen need not be computed. Of an adaptive softmax, tails whose words these options rule
     * out are then not read: those less likely than the likeliest word (temperature 0), or than min_p^temperature
     * times it (min_p above 0). The same ids follow. Where any word could be chosen (no min_p; top_p below 1, a
     * penalty, biases) or is counted (log_probabilities), all are computed as without it. Rows of the stream that
     * the generator has made have -1e30 for words left out; it goes on with such a row, also a saved or copied one,
     * only where these options allow it. */
    int likely_only;
} lw_generator_options;

typedef struct lw_token {
    size_t struct_size;
    int32_t id;
    /* Natural logarithm of the model's own probability of the id, whatever the settings above: 0 unless
     * asked for. */
    float log_probability;
    uint64_t position; /* ids in the stream before it */
    uint32_t stop;     /* 1 + the stop sequence that ends with it (the first of several); 0: none does */
    /* So many of the newest ids, this one included, are that stop sequence, or the beginning of one: a caller
     * who shows no part of a stop sequence holds them back. */
    uint32_t held;
} lw_token;

/* On a stream that outlives it. Between calls the stream may be used by itself, to copy, save, load, reset
 * or prefill it: the generator takes it as it finds it, but knows only of ids that it has seen itself when it
 * looks for repetitions and stop sequences.
 * LW_NOT_FOUND: the stream is of no language model. LW_INVALID_ARGUMENT: its block is not 1, or an option is
 * out of range. LW_BAD_TOKEN: an id of a list is outside the vocabulary. LW_NO_MEMORY. */
LW_API lw_status lw_generator_create(lw_stream *stream, const lw_generator_options *options,
                                     lw_generator **out);
LW_API void lw_generator_destroy(lw_generator *generator); /* NULL is fine; the stream stays */

/* Reads n ids behind what the stream holds, by the largest entries that fit (lw_stream_prefill; not for real
 * time). A stop sequence begins behind the prompt.
 * LW_INVALID_ARGUMENT: none are given. LW_BAD_TOKEN: one is outside the vocabulary. */
LW_API lw_status lw_generator_prompt(lw_generator *generator, const int32_t *ids, size_t n);
/* The next id, which the stream has read when this returns. Set out->struct_size first.
 * LW_END: a stop sequence is complete; another prompt goes on behind it. LW_WRONG_STATE: nothing was read so
 * far, or the newest logits leave out words that could be chosen (likely_only). LW_NOT_FINITE: a logit is NaN
 * or infinite. LW_DEVICE: a kernel failed, the stream with it. */
LW_API lw_status lw_generator_next(lw_generator *generator, lw_token *out);

/* The newest ids that next has given since the last prompt, oldest first: at most `capacity`, and at most as
 * many as are kept (lw_generator_options.recent). */
LW_API lw_status lw_generator_recent(const lw_generator *generator, int32_t *ids, size_t capacity, size_t *n);
/* As after create, its stream too. */
LW_API lw_status lw_generator_reset(lw_generator *generator);
/* The ids it remembers and the state of its stream (lw_stream_save); options, seed and lists are not in it.
 * bytes NULL: only the size. LW_TOO_SMALL: *n is the size needed. */
LW_API lw_status lw_generator_save(const lw_generator *generator, void *bytes, size_t capacity, size_t *n);
/* Loads what save made from a generator of the same model and weights. Options, code and device may differ. Any
 * bytes are safe. With the same options the same ids follow. LW_BAD_STATE: no such state, of
 * another model, or damaged. LW_DEVICE as lw_stream_load. */
LW_API lw_status lw_generator_load(lw_generator *generator, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
