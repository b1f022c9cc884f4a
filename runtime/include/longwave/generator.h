/** @file
 * Longwave text generation: token ids in, token ids out, one at a time.
 *
 * A generator runs the stream (longwave.h) of a language model. The model has one input of token
 * ids, and one output with a logit for every id that may follow, without delay. The own entry of
 * the stream has block 1. Larger entries of the same model read prompts (`longwave compile
 * --blocks 1,64`).
 *
 * How an id is chosen, in this order
 *   1. repetition penalty: of each id among the newest `repetition_window` ids, prompts included.
 *      A positive logit is divided by the penalty, a negative one is multiplied by it (Keskar et
 *      al. 2019, CTRL, section 4.1)
 *   2. biases are added
 *   3. temperature 0: the id with the largest logit is chosen, and the other steps do not apply.
 *      Otherwise logits are divided by the temperature, and probabilities are their softmax
 *   4. top_k: only the k most probable ids stay
 *   5. top_p: of these, only the smallest set of probable ids whose share of the probability is
 *      at least top_p (nucleus sampling, Holtzman et al. 2020)
 *   6. min_p: of these, only ids with at least min_p times the largest probability (Nguyen et al.
 *      2024)
 *   7. one of the ids that are left is drawn by its probability
 * Of equal logits the lower id comes first. Sums are float64 in a fixed order. The random number is
 * a function of the seed and the position in the stream (Philox4x32-10: Salmon et al. 2011). So the
 * same logits give the same ids on every machine. A stream that was saved, loaded or copied
 * continues exactly as it would have.
 *
 * The context has no limit: a token costs the same after ten ids and after ten million.
 *
 * A generator belongs to one thread at a time, together with its stream. Only create and destroy
 * allocate. On the CPU every other call except lw_generator_prompt is real-time safe: it never
 * allocates, locks or makes a system call.
 */
#ifndef LONGWAVE_GENERATOR_H
#define LONGWAVE_GENERATOR_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sampling settings, and the newest ids of a stream. */
typedef struct lw_generator lw_generator;

/** A number that is added to the logit of an id. */
typedef struct lw_logit_bias {
    int32_t id;
    float bias; /**< within +-1e30; -1e30: the id is never chosen while there is another */
} lw_logit_bias;

/** Ids that end the text. */
typedef struct lw_stop_sequence {
    const int32_t *ids;
    size_t n; /**< 1 ... 65536 */
} lw_stop_sequence;

/** Settings of lw_generator_create. Lists are read during create only. With all fields 0, the most
 * probable id is chosen and the logits are unchanged. */
typedef struct lw_generator_options {
    size_t struct_size;
    uint64_t seed;
    float temperature;          /**< 0: the most probable id */
    uint32_t top_k;             /**< 0: all */
    float top_p;                /**< in [0, 1]; 0: all */
    float min_p;                /**< in [0, 1] */
    float repetition_penalty;   /**< in [0.01, 100]; 0: none */
    uint32_t repetition_window; /**< ids, at most 2^20. 0: 64 */
    /** Ids that lw_generator_recent can return, at most 2^20. Raised to the longest stop
     * sequence. */
    uint32_t recent;
    /** 1: compute lw_generator_token.log_probability, an exponential per id. */
    int log_probabilities;
    const lw_logit_bias *biases;
    size_t n_biases; /**< at most 2^20 */
    const lw_stop_sequence *stops;
    size_t n_stops; /**< at most 65536 */
    /** 1: do not compute logits that cannot be chosen. An adaptive softmax then skips clusters of
     * words below the most probable word (temperature 0) or below min_p^temperature times it (min_p
     * above 0). The same ids follow. All logits are computed if any word could be chosen (no min_p;
     * top_p below 1, a penalty, biases) or counts (log_probabilities). In rows of the stream,
     * skipped words have the logit -1e30. A generator continues from such a row, also a saved or
     * copied one, only if its options need no more. */
    int likely_only;
} lw_generator_options;
#define LW_GENERATOR_OPTIONS_INIT LW_INITIAL(lw_generator_options)

/** A chosen id. */
typedef struct lw_generator_token {
    size_t struct_size;
    int32_t id;
    /** Natural logarithm of the model's own probability of the id, whatever the settings. 0 without
     * lw_generator_options.log_probabilities. */
    float log_probability;
    uint64_t position; /**< ids in the stream before it */
    uint32_t stop;     /**< 1 + number of the first stop sequence that ends with it; 0: none */
    /** So many of the newest ids, this one included, are that stop sequence or may begin one. Hold
     * them back to show no part of a stop sequence. */
    uint32_t held;
} lw_generator_token;
#define LW_GENERATOR_TOKEN_INIT LW_INITIAL(lw_generator_token)

/** Creates a generator on a stream. Not for real-time threads.
 *
 * Between calls you may copy, save, load, reset or prefill the stream yourself. The generator then
 * continues from the stream as it is. Repetitions and stop sequences are found only among ids that
 * the generator has seen.
 * @param stream stays the caller's, who may destroy it first: the generator keeps it.
 * @param options NULL: defaults.
 * @param out the generator; the caller destroys it.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or out is NULL, struct_size is not set, the block of the
 *         stream is not 1, or an option is out of range.
 * @retval LW_NOT_FOUND The model is not a language model. The detail says why.
 * @retval LW_BAD_TOKEN An id of a list is outside the vocabulary.
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory. */
LW_API lw_status lw_generator_create(lw_stream *stream, const lw_generator_options *options,
                                     lw_generator **out);
/** Destroys a generator. Its stream stays. Not for real-time threads.
 * @param generator NULL: no effect. */
LW_API void lw_generator_destroy(lw_generator *generator);

/** Reads n ids after those that the stream has read, with the largest entries that fit
 * (lw_stream_prefill). Stop sequences begin after the prompt. Not for real-time threads.
 * @param ids n ids, n at least 1. Not kept.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT generator or ids is NULL, or n is 0.
 * @retval LW_BAD_TOKEN An id is outside the vocabulary. Nothing was read.
 * @retval LW_WRONG_STATE The stream is finished, or a kernel failed before.
 * @retval LW_DEVICE A kernel failed. The generator accepts only reset and load.
 * @note GPU statuses apply. */
LW_API lw_status lw_generator_prompt(lw_generator *generator, const int32_t *ids, size_t n);
/** Chooses the next id and lets the stream read it. Real-time safe on the CPU.
 * @param out set out->struct_size first; filled in on LW_OK.
 * @retval LW_OK
 * @retval LW_END A stop sequence is complete. Another prompt continues after it.
 * @retval LW_INVALID_ARGUMENT generator or out is NULL, or struct_size is not set.
 * @retval LW_WRONG_STATE Nothing was read yet, the newest logits lack words that these options
 *         could choose (likely_only), the stream is finished, or a kernel failed before.
 * @retval LW_NOT_FINITE A logit is NaN or infinite.
 * @retval LW_DEVICE A kernel failed. The generator accepts only reset and load.
 * @note GPU statuses apply. */
LW_API lw_status lw_generator_next(lw_generator *generator, lw_generator_token *out);

/** The newest ids that lw_generator_next has given since the last prompt, oldest first. Real-time
 * safe.
 * @param ids room for `capacity` ids; may be NULL if capacity is 0.
 * @param n ids written: at most capacity, and at most as many as are kept
 *        (lw_generator_options.recent).
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT generator or n is NULL, or ids is NULL and capacity is not 0. */
LW_API lw_status lw_generator_recent(const lw_generator *generator, int32_t *ids, size_t capacity,
                                     size_t *n);
/** Makes the generator and its stream as new. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT generator is NULL.
 * @note GPU statuses apply. */
LW_API lw_status lw_generator_reset(lw_generator *generator);
/** Saves the ids that the generator remembers and the state of its stream (lw_stream_save).
 * Options, seed and lists are not saved. Real-time safe on the CPU.
 * @param bytes `capacity` bytes to write to; NULL: only the size is returned.
 * @param n the size of the saved state in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT generator or n is NULL.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_TOO_SMALL capacity is less than *n.
 * @note GPU statuses apply. */
LW_API lw_status lw_generator_save(const lw_generator *generator, void *bytes, size_t capacity,
                                   size_t *n);
/** Continues from a saved state of the same model and weights. Options, target and CPU or GPU may
 * differ. With the same options the same ids follow. Any bytes are safe. Real-time safe on the CPU.
 * @param bytes n bytes that lw_generator_save wrote. Not kept.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT generator is NULL, or bytes is NULL and n is not 0.
 * @retval LW_BAD_STATE Not a generator's state, of another model, or damaged.
 * @retval LW_DEVICE A kernel failed while caches were filled. Only reset and load help.
 * @note GPU statuses apply. */
LW_API lw_status lw_generator_load(lw_generator *generator, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
