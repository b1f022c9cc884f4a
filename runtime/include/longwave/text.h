/** Longwave text: token ids from text, and text from token ids.
 *
 * Reads byte-level BPE from a `tokenizer.json` (Sennrich et al. 2016, on bytes as in GPT-2).
 * The library is liblongwave-text. It depends on PCRE2 and utf8proc, and on liblongwave for
 * lw_last_error.
 *
 * Life of a tokenizer
 *   lw_tokenizer_open         once per file. It is immutable: threads may share it.
 *   lw_tokenizer_encode       text in, ids out.
 *   lw_text_decoder_create    one per written text. It belongs to one thread at a time.
 *     lw_text_decoder_push    one id in, complete UTF-8 characters out.
 *   lw_text_decoder_destroy, then lw_tokenizer_close.
 *
 * Conventions
 *   Every function returns an lw_status unless it says so. lw_last_error has the detail. `out`
 *   parameters come last. They are set to NULL first and assigned on success only. A failed call
 *   changes nothing. Structs start with struct_size, which LW_TOKENIZER_OPTIONS_INIT sets. NULL
 *   options mean defaults. All calls may allocate: none is for real-time threads. The library never
 *   prints, exits or aborts. Any bytes are safe as a file and as a text.
 */
#ifndef LONGWAVE_TEXT_H
#define LONGWAVE_TEXT_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_tokenizer lw_tokenizer;
typedef struct lw_text_decoder lw_text_decoder;

typedef struct lw_tokenizer_options {
    size_t struct_size;
    /** Number of ids of the model (lw_input_info.vocabulary). A file with a larger id is
     * LW_BAD_TOKEN. 0: as many as the file has, at most 2^20. */
    uint32_t vocabulary;
    const char *name; /**< Name of the file in errors; read during the call. NULL: the path. */
} lw_tokenizer_options;
#define LW_TOKENIZER_OPTIONS_INIT LW_INITIAL(lw_tokenizer_options)

/** Reads a tokenizer.json of at most 256 MiB.
 * The file must hold a BPE model with a token for every byte, and a `ByteLevel` pre-tokenizer.
 * docs/text.md lists the other parts that it may have. A file with any other part is rejected,
 * because the ids would be wrong.
 * LW_NOT_FOUND: the file does not exist. LW_IO: the file cannot be read. LW_UNSUPPORTED: the
 * file is not such a tokenizer. LW_BAD_TOKEN: an id exceeds the vocabulary. LW_NO_MEMORY.
 * LW_INVALID_ARGUMENT. */
LW_API lw_status lw_tokenizer_open(const char *path, const lw_tokenizer_options *options,
                                   lw_tokenizer **out);
/** The same from memory. The bytes may be freed on return. */
LW_API lw_status lw_tokenizer_open_memory(const void *bytes, size_t size,
                                          const lw_tokenizer_options *options, lw_tokenizer **out);
/** The tokenizer of byte-level models: 256 ids, each the value of a byte. */
LW_API lw_status lw_tokenizer_open_bytes(lw_tokenizer **out);
/** NULL is allowed. Destroy its decoders first. */
LW_API void lw_tokenizer_close(lw_tokenizer *tokenizer);

/** Number of ids: the largest id is smaller. 0 for NULL. */
LW_API uint32_t lw_tokenizer_vocabulary(const lw_tokenizer *tokenizer);
/** 1: the ids of a text are the ids of its pieces, wherever it is cut. 0: encode a text in one
 * call. */
LW_API int lw_tokenizer_divisible(const lw_tokenizer *tokenizer);

/** Where the ids of special tokens go, as those of BOS and EOS. The file's `post_processor` says
 * which they are. Most files put some before a text, few put some after it. */
enum {
    LW_TEXT_BEGIN = 1, /**< before the text: for a prompt that starts a text */
    LW_TEXT_END = 2    /**< after the text: for a text that is complete */
};
/** The ids of one side, LW_TEXT_BEGIN or LW_TEXT_END: their number, and where they are. They belong
 * to the tokenizer. `ids` may be NULL. */
LW_API size_t lw_tokenizer_special(const lw_tokenizer *tokenizer, uint32_t side,
                                   const int32_t **ids);

/** Token ids of any bytes, valid UTF-8 or not, without special tokens. *n is the number of ids.
 * ids NULL: only the number. LW_TOO_SMALL: `capacity` is less than *n, and nothing is written. A
 * text has at most as many ids as bytes. Added spaces and normalizers may add some.
 * LW_UNSUPPORTED: a regular expression of the tokenizer takes too many steps on this text.
 * LW_NO_MEMORY. LW_INVALID_ARGUMENT. */
LW_API lw_status lw_tokenizer_encode(const lw_tokenizer *tokenizer, const char *text, size_t size,
                                     int32_t *ids, size_t capacity, size_t *n);
/** The same with special tokens: LW_TEXT_BEGIN, LW_TEXT_END, both, or 0. */
LW_API lw_status lw_tokenizer_encode_special(const lw_tokenizer *tokenizer, const char *text,
                                             size_t size, uint32_t special, int32_t *ids,
                                             size_t capacity, size_t *n);
/** The bytes of one id, without a zero at the end. They belong to the tokenizer. An id that the
 * file does not use has no bytes. The bytes of encoded ids, in order, are the text again. The
 * exceptions are tokenizers that add spaces, normalize the text, or remove parts of it.
 * LW_BAD_TOKEN: the id is outside the vocabulary. */
LW_API lw_status lw_tokenizer_token(const lw_tokenizer *tokenizer, int32_t id, const char **bytes,
                                    size_t *size);

/** A token may end inside a UTF-8 character. A decoder holds such bytes back until the
 * character is complete. The tokenizer must outlive it. LW_NO_MEMORY. */
LW_API lw_status lw_text_decoder_create(const lw_tokenizer *tokenizer, lw_text_decoder **out);
LW_API void lw_text_decoder_destroy(lw_text_decoder *decoder); /**< NULL is allowed. */
/** Adds an id. *text is the text that is complete now, *size bytes without a zero at the end;
 * it may be empty. It belongs to the decoder and is valid until the next call. Bytes that
 * cannot be UTF-8 are given as they are. LW_BAD_TOKEN: the id is outside the vocabulary.
 * LW_NO_MEMORY. */
LW_API lw_status lw_text_decoder_push(lw_text_decoder *decoder, int32_t id, const char **text,
                                      size_t *size);
/** Gives the bytes that are held back, for the end of a text, and resets the decoder. */
LW_API lw_status lw_text_decoder_finish(lw_text_decoder *decoder, const char **text, size_t *size);

/** Number of bytes at the end of a text that begin an incomplete UTF-8 character: 0 to 3. */
LW_API size_t lw_utf8_incomplete(const char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
