/** Longwave pack: other weights for a compiled model, without the compiler.
 *
 * `longwave compile --pack` writes a file that says how its weights follow from the tensors of the
 * model folder. It is the shape. lw_pack puts other tensors of the same names and shapes into it.
 * Plan and code stay, so the file needs no compiler. A room of a convolver is exchanged so.
 * The library is liblongwave-pack. It depends on liblongwave and on the C++ library.
 *
 * Conventions are those of longwave.h. lw_last_error has the detail. Calls allocate and take
 * milliseconds to seconds: none is for real-time threads. Any thread may call. Any bytes are safe
 * as weights. A shape contains code: who may run it, lw_pack_options.open decides.
 */
#ifndef LONGWAVE_PACK_H
#define LONGWAVE_PACK_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_pack_options {
    size_t struct_size;
    /** How the shape is opened: whether its code may run unsigned, or who must have signed it. Read
     * during the call. NULL: the defaults of lw_model_open, which refuse unsigned code. The device
     * must be NULL. */
    const lw_open_options *open;
    /** 1: leave out the comparison of every entry with the golden vectors. Call lw_model_verify on
     * the new model later. */
    int no_check;
    /** Signs the new file: writes the Ed25519 `signature` (64 bytes) of `root` (32 bytes) and
     * returns nonzero. NULL: the new file is unsigned. It is as trusted as the shape, and as who
     * chose the weights. */
    int (*sign)(void *context, const uint8_t *root, uint8_t *signature);
    void *sign_context;      /**< passed to sign */
    const uint8_t *sign_key; /**< with sign: the public key, 32 bytes */
    uint64_t version;        /**< with sign: lw_model_info.version of the new file */
} lw_pack_options;
#define LW_PACK_OPTIONS_INIT LW_INITIAL(lw_pack_options)

/** Results of lw_pack. */
typedef struct lw_pack_report {
    size_t struct_size;
    uint32_t tensors; /**< of the shape, all replaced */
    uint32_t vectors; /**< golden vectors, made by an offline run of the new file */
    double worst;     /**< largest error of an entry against them, relative to its limit */
} lw_pack_report;
#define LW_PACK_REPORT_INIT LW_INITIAL(lw_pack_report)

/** Makes a compiled model of a shape and other weights. For offline runs and streams the new file
 * computes what compiling the model folder with these weights and --pack computes.
 * @param shape a file of `longwave compile --pack`, `shape_bytes` of it. Not kept.
 * @param weights the bytes of a weights.safetensors with all tensors of the model folder. Not kept.
 * @param options NULL: defaults.
 * @param report may be NULL. Set report->struct_size first; filled in.
 * @param out the new file of *out_bytes bytes; the caller frees it with lw_pack_free.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT A NULL, an unset struct_size, or sign without sign_key. Or a tensor
 *         is missing, foreign, of another shape or not finite, or the bytes are not a safetensors
 *         file. The detail names each tensor.
 * @retval LW_BAD_ARTIFACT The shape breaks a rule of the format, or was compiled without --pack.
 * @retval LW_CHECK_FAILED With these weights an entry differs too much from the offline run.
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory.
 * @note Further statuses: as lw_model_open_memory and lw_run. */
LW_API lw_status lw_pack(const void *shape, size_t shape_bytes, const void *weights,
                         size_t weights_bytes, const lw_pack_options *options,
                         lw_pack_report *report, void **out, size_t *out_bytes);
/** lw_stream_load, also of a state that a stream with other weights saved. The models must be equal
 * in inputs, layers and outputs, as before and after lw_pack. The state was computed with the old
 * weights. A filter remembers its input only, so it continues as if it had always had the new taps.
 * A deeper model has the rows of the new weights as soon as it has forgotten the old ones. This
 * function is in liblongwave. Real-time safe on the CPU.
 * @param bytes n bytes that lw_stream_save wrote. Not kept.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or bytes is NULL.
 * @retval LW_BAD_STATE As lw_stream_load, but for the weights. The stream does not change.
 * @retval LW_DEVICE A kernel failed while caches were filled. The stream has failed as in push.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_load_shape(lw_stream *stream, const void *bytes, size_t n);
/** Frees what lw_pack made. @param bytes NULL: no effect. */
LW_API void lw_pack_free(void *bytes);

#ifdef __cplusplus
}
#endif
#endif
