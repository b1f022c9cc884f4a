/** @file
 * Longwave runtime: opens a compiled model and runs it, as a stream or offline.
 *
 * Life of a model
 *   lw_model_open             once. Checks every byte, loads the code, prepares tables. A model is
 *                             immutable, and any number of threads may share it.
 *   lw_stream_create          one per audio or text stream. A stream belongs to one thread at a
 *                             time.
 *     lw_stream_push / pull   samples in, rows out. On the CPU they never allocate, lock or make a
 *                             system call.
 *   lw_runner_create, lw_run  offline runs. A runner belongs to one thread at a time.
 *   lw_stream_destroy, lw_runner_destroy, lw_model_close
 *                             in any order. Whatever was made on a model keeps it. Its memory is
 *                             released with the last of them.
 *
 * Time
 *   A tick is one input step: an audio sample, a feature vector or a token id. A row is one vector
 *   of an output. A block is the number of ticks that a stream computes at a time.
 *   A model may have several stream entries with different blocks. All of them advance the same
 *   state. A stream is created for one entry, its own. A saved state loads into a stream of any
 *   entry. Through one entry the rows are bit-identical, however the input is split. Different
 *   entries add in different orders: their rows agree within 1e-5 of the largest value.
 *
 * Conventions
 *   - Functions that can fail return an lw_status. LW_OK is 0. lw_last_error() has the detail. It
 *     is empty after LW_AGAIN and LW_END.
 *   - `out` parameters come last. They are set to NULL first and assigned on success only.
 *   - A failed call changes nothing, unless its comment says otherwise.
 *   - Structs begin with struct_size, the sizeof of the caller's struct. Their initialisers set it:
 *     lw_open_options options = LW_OPEN_OPTIONS_INIT. Fields of options beyond it take their
 *     defaults. Fields of results beyond it are not written.
 *   - NULL options, and zero in a field of options, mean the default. The format of audio has none.
 *   - No enumerator of a setting is 0, unless 0 is its default.
 *   - Strings and lists that describe a model belong to it and live as long as it does.
 *   - The library never prints, exits or aborts.
 *
 * GPU statuses
 *   A function with the note "GPU statuses apply" works on lw_open_options.device, if that is set
 *   (longwave/vulkan.h). Then it can also return:
 *     LW_DEVICE         the driver failed.
 *     LW_DEVICE_LOST    the device is gone.
 *     LW_TIMEOUT        the device does not answer in time.
 *     LW_DEVICE_WRONG   the device is disabled, because it gave wrong results.
 *     LW_NO_MEMORY      the device, the driver or the process has no memory.
 *     LW_UNSUPPORTED    the device lacks a limit or feature, or the model has no code for it.
 *     LW_NOT_FINITE     a value exceeds float16 in a model with `--gpu-storage f16`.
 */
#ifndef LONGWAVE_H
#define LONGWAVE_H
#include <stddef.h>
#include <stdint.h>

/* A program for Windows that links the static libraries defines LW_STATIC. */
#if defined(_WIN32) && !defined(LW_STATIC)
#define LW_API __declspec(dllimport)
#elif defined(_WIN32)
#define LW_API
#else
#define LW_API __attribute__((visibility("default")))
#endif

/* The initialiser of a struct: struct_size is set, and all other fields are 0. */
#ifdef __cplusplus
template <class Struct> inline Struct lw_initial() {
    Struct made = Struct();
    made.struct_size = sizeof made;
    return made;
}
#define LW_INITIAL(type) (lw_initial<type>())
extern "C" {
#else
#define LW_INITIAL(type) {.struct_size = sizeof(type)}
#endif

#define LW_VERSION_MAJOR 0
#define LW_VERSION_MINOR 2
#define LW_VERSION_PATCH 0
/** The version of this header in one number, which grows with it: 2000 is 0.2.0. */
#define LW_VERSION_NUMBER (LW_VERSION_MAJOR * 1000000 + LW_VERSION_MINOR * 1000 + LW_VERSION_PATCH)
/** For `#if`: whether this header is of that version or a later one. */
#define LW_VERSION_AT_LEAST(major, minor, patch)                                                   \
    (LW_VERSION_NUMBER >= (major) * 1000000 + (minor) * 1000 + (patch))

/** Results of functions. The comment of each function says when it returns which. */
typedef enum lw_status {
    LW_OK = 0,
    LW_AGAIN = 1,             /**< pull: no row waits; push more input */
    LW_END = 2,               /**< pull: the stream is finished and every row was pulled */
    LW_INVALID_ARGUMENT = 10, /**< a NULL, an unset struct_size or a value out of range */
    LW_WRONG_STATE = 11,      /**< not possible now, for example push after finish */
    LW_TOO_SMALL = 12,        /**< the caller's buffer is too small; the needed size is written */
    LW_NOT_FOUND = 13,        /**< no such file, entry, input, output or label */
    LW_NO_STREAM = 14,        /**< the model has no stream entry, or no offline entry */
    LW_TOO_LONG = 15,         /**< more rows than the longest offline entry takes */
    LW_TOO_SHORT = 16,        /**< fewer rows than a layer takes; the detail names the layer */
    LW_BAD_ARTIFACT = 20,     /**< the file breaks a rule (V1-V21); the detail names it */
    LW_BAD_VERSION = 21,      /**< the file has a newer format than this library */
    LW_UNSIGNED_CODE = 22,    /**< no trusted signature, and the options ask for one */
    LW_NO_VARIANT = 23,       /**< no code for this CPU; the detail lists the targets */
    LW_BAD_STATE = 24,        /**< saved state of another model, or damaged */
    LW_BAD_TOKEN = 25,        /**< a token id outside the vocabulary */
    LW_NO_CODE = 26,          /**< the file has no code, and lw_open_options.kernels lacks it */
    LW_OLD_VERSION = 27,      /**< the model's version is below lw_open_options.least_version */
    LW_NO_MEMORY = 30,        /**< no memory, or more than memory_limit */
    LW_IO = 31,               /**< the file cannot be read */
    LW_DEVICE = 32,           /**< a kernel failed, or the system forbids to execute code */
    LW_NOT_FINITE = 33,       /**< a logit is NaN or infinite; a value exceeds float16 on a GPU */
    LW_NO_DEVICE = 34,        /**< no such GPU, or no Vulkan driver */
    LW_UNSUPPORTED = 35,      /**< the device lacks a limit or feature that the model needs */
    LW_DEVICE_LOST = 36,      /**< the device is gone: close everything made on it */
    LW_TIMEOUT = 37,          /**< the device does not answer in time; treat it as lost */
    LW_DEVICE_WRONG = 38,     /**< the device gave wrong results and is disabled until reopened */
    LW_CHECK_FAILED = 40,     /**< verify: an output differs from its reference beyond the limit */
    LW_STATUS_FORCE = 0x7fffffff /**< not used: every compiler makes the enum 32 bits wide */
} lw_status;

/** For libraries on top of this one, whose failures use lw_last_error too: keeps the detail of one.
 * @param detail text, copied and cut to 511 bytes; NULL: no detail. Any thread. */
LW_API void lw_set_last_error(const char *detail);
/** The meaning of a status in a few words. Any thread.
 * @return static text, never NULL. */
LW_API const char *lw_status_text(lw_status status);
/** Detail of the last call of this thread that failed: which file, rule, byte or layer. It is empty
 * after LW_AGAIN and LW_END. All libraries of Longwave share it. Any thread.
 * @return text that is valid until the thread's next call of any function; never NULL. */
LW_API const char *lw_last_error(void);
/** Version of the library. Any thread.
 * @return static text, as in "0.2.0". */
LW_API const char *lw_version(void);
/** The same as a number, to compare with the header that the program was compiled with. Before 1.0,
 * libraries of another minor version have another interface. Any thread.
 * @return LW_VERSION_NUMBER of the library. */
LW_API uint32_t lw_version_number(void);

/* ---- model ---------------------------------------------------------------------------------- */
/** A compiled model, ready to run. Immutable: any number of threads may use it at once. */
typedef struct lw_model lw_model;

/** A device other than the CPU. A library of its own makes it (longwave/vulkan.h). */
typedef struct lw_device lw_device;

/** Where the library takes memory from. `open` and `create` call it, and the matching `close` and
 * `destroy`; no other function does. */
typedef struct lw_allocator {
    void *(*allocate)(void *context, size_t size, size_t alignment); /**< may return NULL */
    void (*release)(void *context, void *memory, size_t size);
    void *context; /**< passed to both functions */
} lw_allocator;

/** A function of a model's code. In a list, the next element follows after struct_size bytes. */
typedef struct lw_model_kernel {
    size_t struct_size;
    uint8_t hash[32];       /**< of its specification and its arguments */
    uint64_t scratch_bytes; /**< of memory that it needs */
    int (*function)(void **args);
} lw_model_kernel;
#define LW_MODEL_KERNEL_INIT LW_INITIAL(lw_model_kernel)

/** The code of a model whose file contains none. `longwave compile --no-code` writes it as a C
 * file, which the program contains. */
typedef struct lw_model_kernels {
    size_t struct_size;
    uint8_t code[32];            /**< hash of the code; the file of the model has the same */
    const lw_model_kernel *list; /**< in the model's order */
    size_t n;
} lw_model_kernels;
#define LW_MODEL_KERNELS_INIT LW_INITIAL(lw_model_kernels)

/** Options of lw_model_open. */
typedef struct lw_open_options {
    size_t struct_size;
    int allow_unsigned_code;       /**< 1: run code of unsigned files */
    const char *variant;           /**< a target such as "x86-64-v3"; NULL: the best for this CPU */
    const lw_allocator *allocator; /**< NULL: malloc. Copied; its context must outlive the model */
    int map_weights; /**< 1: read weights from the mapped file, which must not change */
    /** Most bytes that the model and one stream, runner, spotter or verification take together.
     * The file counts unless it is mapped. Every call checks the limit before it takes memory.
     * On a GPU this counts host and device together: weights, tables, all buffers, and the code
     * of the pipelines. Excluded is what the driver takes beyond that: rounded sizes, compiled
     * pipelines and its own objects. Each stream is counted alone. So free places in a pool are
     * excluded too, and so is the second copy of a pool while it grows.
     * 0: 64 MiB or 64 times the file, whichever is more. */
    uint64_t memory_limit;
    /** Checks the Ed25519 `signature` (64 bytes) of `root` (32 bytes), and that you trust `key`
     * (32 bytes). Returns nonzero if both hold. lw_model_open calls it once, for signed files,
     * after every other check of the data. If it returns 0, the file is rejected, whatever it
     * contains. Unless allow_unsigned_code is 1, unsigned files are rejected too.
     * NULL: signatures count for nothing. */
    int (*check_signature)(void *context, const uint8_t *key, const uint8_t *root,
                           const uint8_t *signature);
    void *signature_context; /**< passed to check_signature */
    /** NULL: the CPU. Otherwise the device that runs the entries compiled for it. It must outlive
     * the model. The CPU's code is needed too, because the CPU prepares the model. */
    const lw_device *device;
    /** 1: open only files whose signature check_signature accepts, also if they contain no code.
     * Overrides allow_unsigned_code. */
    int require_signature;
    /** The accepted public keys, 32 bytes each, one after another. lw_model_open compares the key
     * of a signed file with them before it calls check_signature. A list of 0 keys accepts none.
     * NULL with check_signature: LW_INVALID_ARGUMENT, unless check_compares_key is 1. */
    const uint8_t *trusted_keys;
    size_t n_trusted_keys;
    /** Against the return of an older file: the smallest lw_model_info.version to open. Store it on
     * the device and raise it with each update. Above 0, it implies require_signature, because a
     * version counts only under a signature. */
    uint64_t least_version;
    /** Code of a file that was compiled with --no-code. Must outlive the model. It has no effect
     * on files that contain their code. */
    const lw_model_kernels *kernels;
    /** 1: trusted_keys is NULL, and check_signature itself decides whether you trust the key. */
    int check_compares_key;
} lw_open_options;
#define LW_OPEN_OPTIONS_INIT LW_INITIAL(lw_open_options)

/** Opens a compiled model from a file. Not for real-time threads. Any thread.
 * @param path a regular file. It may be deleted afterwards, unless map_weights is 1.
 * @param options NULL: defaults.
 * @param out the model; the caller closes it with lw_model_close.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT out or path is NULL, struct_size is not set, the allocator lacks a
 *         function, or the device is from another version of the library. Or a signature is
 *         required without check_signature, or check_signature comes without trusted_keys.
 * @retval LW_NOT_FOUND No such file.
 * @retval LW_IO Not a regular file, or not readable.
 * @retval LW_BAD_ARTIFACT The bytes break a rule of the format. The detail names the rule.
 * @retval LW_BAD_VERSION The format is newer than this library.
 * @retval LW_UNSIGNED_CODE No signature is trusted, and the options ask for one.
 * @retval LW_OLD_VERSION The version of the model is below options.least_version.
 * @retval LW_NO_CODE The file contains no code, and options.kernels is NULL or of another file.
 * @retval LW_NO_VARIANT No code for this CPU, or options.variant is not there.
 * @retval LW_NO_MEMORY memory_limit is too low, or the allocator returns NULL.
 * @retval LW_DEVICE A kernel failed, or the system forbids to execute loaded code.
 * @note GPU statuses apply. */
LW_API lw_status lw_model_open(const char *path, const lw_open_options *options, lw_model **out);
/** Opens a compiled model from memory. Not for real-time threads. Any thread.
 * @param bytes the file's `size` bytes; copied, so the caller may free them on return.
 * @param options NULL: defaults. map_weights has no effect.
 * @param out the model; the caller closes it with lw_model_close.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT out or bytes is NULL, struct_size is not set, the allocator lacks a
 *         function, or the device is from another version of the library. Or a signature is
 *         required without check_signature, or check_signature comes without trusted_keys.
 * @retval LW_BAD_ARTIFACT The bytes break a rule of the format. The detail names the rule.
 * @retval LW_BAD_VERSION The format is newer than this library.
 * @retval LW_UNSIGNED_CODE No signature is trusted, and the options ask for one.
 * @retval LW_OLD_VERSION The version of the model is below options.least_version.
 * @retval LW_NO_CODE The file contains no code, and options.kernels is NULL or of another file.
 * @retval LW_NO_VARIANT No code for this CPU, or options.variant is not there.
 * @retval LW_NO_MEMORY memory_limit is too low, or the allocator returns NULL.
 * @retval LW_DEVICE A kernel failed, or the system forbids to execute loaded code.
 * @note GPU statuses apply. */
LW_API lw_status lw_model_open_memory(const void *bytes, size_t size,
                                      const lw_open_options *options, lw_model **out);

/** A model that the program contains. `longwave compile --emit static` writes it as a library with
 * a header that declares it. Code, plan, weights and tables are constants, used where they lie. */
typedef struct lw_static_model lw_static_model;

/** How much memory lw_model_open_static needs. The header of the model has the same number as a
 * macro.
 * @param size bytes; any CPU may ask for any model.
 * @param alignment of the memory, a power of two.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT An argument is NULL.
 * @retval LW_BAD_ARTIFACT model is not what the compiler wrote.
 * @retval LW_BAD_VERSION The model is from another version of the compiler. */
LW_API lw_status lw_model_static_size(const lw_static_model *model, size_t *size,
                                      size_t *alignment);
/** Opens a model that the program contains. Copies nothing, prepares nothing and needs only the
 * caller's memory. The compiler checked the model against every rule of the format, so this checks
 * its stamp alone. Any thread.
 * @param memory belongs to the model until it is closed and the last object on it is destroyed.
 *        lw_stream_create, lw_runner_create and lw_generator_create use the rest of it. Destroy
 *        what they made in reverse order.
 * @param size at least lw_model_static_size.
 * @param out the model; the caller closes it with lw_model_close.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT out, model or memory is NULL, or memory is not aligned.
 * @retval LW_TOO_SMALL size is less than lw_model_static_size. The detail has both numbers.
 * @retval LW_BAD_ARTIFACT model is not what the compiler wrote.
 * @retval LW_BAD_VERSION The model is from another version of the compiler.
 * @retval LW_NO_VARIANT The model was compiled for another CPU. */
LW_API lw_status lw_model_open_static(const lw_static_model *model, void *memory, size_t size,
                                      lw_model **out);
/** The same for a model whose weights are a file beside it, as those of target `wasm32` are.
 * @param weights the bytes of the file, aligned to 64. Used in place, as long as the memory.
 * @param weights_bytes size of the file.
 * @param memory as above.
 * @param size as above.
 * @param out as above.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as above, or weights is NULL or not aligned, or the model contains
 *         its weights.
 * @retval LW_BAD_ARTIFACT as above, or the file is cut short, or belongs to another model.
 * @retval LW_TOO_SMALL as above.
 * @retval LW_BAD_VERSION as above.
 * @retval LW_NO_VARIANT as above. */
LW_API lw_status lw_model_open_static_weights(const lw_static_model *model, const void *weights,
                                              size_t weights_bytes, void *memory, size_t size,
                                              lw_model **out);
/** Closes a model: the caller uses it no more. Streams, runners, spotters and generators on it go
 * on working. The library releases the model with the last of them. Until then it needs what
 * it was opened with: device, allocator, mapped file, kernels and memory of the caller. Any thread,
 * but not a real-time thread.
 * @param model NULL: no effect. */
LW_API void lw_model_close(lw_model *model);

/** Kind of an input: a sample, a row of features or a token id per tick. */
typedef enum lw_input_kind {
    LW_INPUT_AUDIO = 1,
    LW_INPUT_FEATURES = 2,
    LW_INPUT_TOKENS = 3,
    LW_INPUT_KIND_FORCE = 0x7fffffff /**< not used: 32 bits */
} lw_input_kind;

/** An input of the model. */
typedef struct lw_input_info {
    size_t struct_size;
    const char *name;
    lw_input_kind kind;
    uint32_t width;       /**< floats per tick (tokens: 1 id) */
    uint32_t sample_rate; /**< Hz; of features: rows per second, or 0 if unknown */
    uint32_t vocabulary;  /**< tokens: number of ids */
} lw_input_info;
#define LW_INPUT_INFO_INIT LW_INITIAL(lw_input_info)

/** An output of the model. */
typedef struct lw_output_info {
    size_t struct_size;
    const char *name;
    uint32_t width;                /**< floats per row */
    uint32_t clock_num, clock_den; /**< rows per input tick; 0/1: one row for the whole sequence */
    uint32_t delay;                /**< algorithmic delay of a stream, in input ticks */
    uint32_t sample_rate;          /**< Hz: a row is `width` samples, in order; 0: no audio */
    uint32_t lag; /**< audio: its samples lag by so many, in runs and streams. Sample `lag` has the
                   * time of the first input. audio_stream.h removes it */
    uint32_t whole; /**< rows come for so many input ticks together: a sequence of t ticks has
                     * floor((t - t mod whole) * clock_num / clock_den) rows */
} lw_output_info;
#define LW_OUTPUT_INFO_INIT LW_INITIAL(lw_output_info)

/** A stream entry: code for one block. */
typedef struct lw_stream_entry_info {
    size_t struct_size;
    uint32_t block;         /**< input ticks per block */
    uint32_t delay;         /**< algorithmic delay of its slowest output, in input ticks */
    uint32_t period;        /**< blocks after which the same kernels are called again */
    uint64_t calls;         /**< kernel calls in one period */
    uint64_t cache_bytes;   /**< in addition to the state, in every stream of the model */
    uint64_t moved_bytes;   /**< that kernels read and write per block: the mean over a period */
    uint64_t rebuild_calls; /**< most kernel calls to fill its caches (lw_stream_load) */
} lw_stream_entry_info;
#define LW_STREAM_ENTRY_INFO_INIT LW_INITIAL(lw_stream_entry_info)

/** Element type of a state field. */
typedef enum lw_state_elem {
    LW_STATE_ELEM_F32 = 1,
    LW_STATE_ELEM_I32 = 2,
    LW_STATE_ELEM_F64 = 3,
    LW_STATE_ELEM_FORCE = 0x7fffffff /**< not used: 32 bits */
} lw_state_elem;
/** Kind of a state field. */
typedef enum lw_state_kind {
    LW_STATE_HISTORY = 1, /**< the newest rows of a value: dims [rows, elements per row] */
    LW_STATE_CARRY = 2,   /**< recurrent state: a running value of a layer */
    LW_STATE_SPECTRA = 3, /**< derived past; only in artifacts up to format 2.3 */
    LW_STATE_KIND_FORCE = 0x7fffffff /**< not used: 32 bits */
} lw_state_kind;

/** A part of the stream state. */
typedef struct lw_state_field {
    size_t struct_size;
    const char *layer, *name;
    lw_state_kind kind;
    lw_state_elem elem;
    const uint32_t *dims; /**< outermost first */
    uint32_t n_dims;
    uint64_t bytes;
} lw_state_field;
#define LW_STATE_FIELD_INIT LW_INITIAL(lw_state_field)

/** A scalar: a number that the host may change while a stream runs, such as a gain. */
typedef struct lw_scalar_info {
    size_t struct_size;
    const char *name;
    const char *unit; /**< such as "dB"; "": none */
    float initial;    /**< in new and reset streams, and always in offline runs */
    float low, high;  /**< the range that lw_stream_set takes */
    int smoothed;     /**< 1: the rows of a block go in equal steps from the old value to the new
                       * one. 0: all rows of the block have the new one */
} lw_scalar_info;
#define LW_SCALAR_INFO_INIT LW_INITIAL(lw_scalar_info)

/** A model. */
typedef struct lw_model_info {
    size_t struct_size;
    const char *name, *producer, *variant; /**< variant: the target whose code runs */
    uint32_t inputs, labels, run_outputs, stream_outputs;
    int has_run, has_stream;
    uint32_t run_capacity;       /**< input ticks of the longest offline run */
    uint32_t stream_block;       /**< input ticks per block of the default stream entry */
    uint32_t stream_delay;       /**< algorithmic delay of that entry, in input ticks */
    uint64_t stream_state_bytes; /**< the state of a stream, the same for all its entries */
    /** Of one with default options; on a GPU with its memory on the device. */
    uint64_t stream_memory_bytes, run_memory_bytes;
    uint64_t derived_bytes, artifact_bytes;
    const char *report, *certificates;   /**< JSON text */
    uint32_t stream_entries;             /**< their number: lw_model_stream_entry */
    uint32_t state_fields;               /**< their number: lw_model_state_field */
    uint64_t memory_bytes, memory_limit; /**< taken by the model itself; the limit in force */
    float error_limit; /**< largest error of outputs on this device, relative to the peak of
                        * all its reference outputs. The file may lack them. 0: it never had any */
    uint64_t version;  /**< counted by who signed the file; 0: none */
    int trusted;       /**< 1: check_signature accepted its signature */
    uint32_t scalars;  /**< their number: lw_model_scalar */
} lw_model_info;
#define LW_MODEL_INFO_INIT LW_INITIAL(lw_model_info)

/** Describes the model. Any thread; real-time safe.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or info is NULL, or struct_size is not set. */
LW_API lw_status lw_model_get_info(const lw_model *model, lw_model_info *info);
/** Describes an input. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.inputs - 1.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or info is NULL, or struct_size is not set.
 * @retval LW_NOT_FOUND No such input. */
LW_API lw_status lw_model_input(const lw_model *model, uint32_t index, lw_input_info *info);
/** Describes an output of offline runs. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.run_outputs - 1.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or info is NULL, or struct_size is not set.
 * @retval LW_NO_STREAM The model has no offline entry.
 * @retval LW_NOT_FOUND No such output. */
LW_API lw_status lw_model_run_output(const lw_model *model, uint32_t index, lw_output_info *info);
/** Describes an output of streams. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.stream_outputs - 1.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or info is NULL, or struct_size is not set.
 * @retval LW_NO_STREAM The model has no stream entry.
 * @retval LW_NOT_FOUND No such output. */
LW_API lw_status lw_model_stream_output(const lw_model *model, uint32_t index,
                                        lw_output_info *info);
/** Describes a stream entry. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.stream_entries - 1; 0 is the default entry.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or info is NULL, or struct_size is not set.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NOT_FOUND No such entry. */
LW_API lw_status lw_model_stream_entry(const lw_model *model, uint32_t index,
                                       lw_stream_entry_info *info);
/** Describes a field of the stream state. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.state_fields - 1.
 * @param field set field->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or field is NULL, or struct_size is not set.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NOT_FOUND No such field. */
LW_API lw_status lw_model_state_field(const lw_model *model, uint32_t index, lw_state_field *field);
/** Describes a scalar. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.scalars - 1.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or info is NULL, or struct_size is not set.
 * @retval LW_NOT_FOUND No such scalar. */
LW_API lw_status lw_model_scalar(const lw_model *model, uint32_t index, lw_scalar_info *info);
/** Label of a class. Any thread; real-time safe.
 * @param index 0 ... lw_model_info.labels - 1.
 * @return text that belongs to the model; NULL: no such label. */
LW_API const char *lw_model_label(const lw_model *model, uint32_t index);
/** Runs the reference inputs of every entry and compares the outputs with the stored ones. Checks
 * the code in use on this machine. Allocates and takes seconds. Any thread.
 * @param worst may be NULL. The largest error of all, relative to its limit: at most 1 is good.
 * @retval LW_OK All agree, or the model has no reference outputs.
 * @retval LW_INVALID_ARGUMENT model is NULL.
 * @retval LW_CHECK_FAILED An output differs too much. The detail names the first.
 * @retval LW_NO_MEMORY memory_limit is too low, or the allocator returns NULL.
 * @retval LW_DEVICE A kernel failed.
 * @note GPU statuses apply. */
LW_API lw_status lw_model_verify(const lw_model *model, double *worst);

/* ---- stream --------------------------------------------------------------------------------- */
/** The state of one input sequence and the rows that wait to be pulled. A stream belongs to one
 * thread at a time. It may go to another thread, on a device after a flush. */
typedef struct lw_stream lw_stream;
/** Type of samples. 0 is none, because a wrong type is read wrongly and past the end. */
typedef enum lw_sample_format {
    LW_F32 = 1,                  /**< float */
    LW_S16 = 2,                  /**< 16-bit audio, divided by 32768 */
    LW_I32 = 3,                  /**< token ids */
    LW_FORMAT_FORCE = 0x7fffffff /**< not used: 32 bits */
} lw_sample_format;

/** Options of lw_stream_create. */
typedef struct lw_stream_options {
    size_t struct_size;
    lw_sample_format format; /**< of pushed samples. 0: of features LW_F32, of tokens LW_I32. Audio
                              * has no default */
    uint32_t queue; /**< output rows that may wait. 0: 64. At least those of a block that it runs;
                       GPU: of 2 */
    uint32_t block; /**< of the own entry (lw_stream_entry_info.block); 0: the default entry */
    uint32_t no_larger_blocks; /**< 1: lw_stream_prefill runs no larger blocks than push. On a CPU
                                * the stream then needs no memory for them */
} lw_stream_options;
#define LW_STREAM_OPTIONS_INIT LW_INITIAL(lw_stream_options)

/** One row of one output. */
typedef struct lw_stream_row {
    size_t struct_size;
    uint32_t index;    /**< which stream output */
    uint32_t width;    /**< floats in `data` */
    const float *data; /**< belongs to the stream; valid until its next call other than get_stats */
    uint64_t row;      /**< number of this row of this output, from 0 */
    uint64_t end; /**< input ticks that the row needed; it covers the input before `end` - delay */
} lw_stream_row;
#define LW_STREAM_ROW_INIT LW_INITIAL(lw_stream_row)

/** Consecutive rows of one output. */
typedef struct lw_stream_rows {
    size_t struct_size;
    float *data;     /**< in: where the rows go, without gaps */
    size_t capacity; /**< in: room in floats */
    size_t rows;     /**< out: number of rows, at least 1 */
    uint64_t row;    /**< out: number of the first row */
    uint64_t end;    /**< out: lw_stream_row.end of the last row */
    uint32_t index;  /**< out: which stream output */
    uint32_t width;  /**< out: floats per row */
} lw_stream_rows;
#define LW_STREAM_ROWS_INIT LW_INITIAL(lw_stream_rows)

/** Creates a stream. Not for real-time threads. Any thread.
 * @param options at least struct_size and format; for features and tokens NULL: defaults.
 * @param out the stream; the caller destroys it. It keeps the model until then.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or out is NULL, or struct_size is not set. The format is not
 *         set or does not fit the input. Or the queue is longer than 2^20 rows.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NOT_FOUND No stream entry of options.block. The detail lists the blocks.
 * @retval LW_NO_MEMORY memory_limit is too low, or there is no memory.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_create(const lw_model *model, const lw_stream_options *options,
                                  lw_stream **out);
/** Memory that lw_stream_init needs. Any thread; real-time safe.
 * @param size in bytes.
 * @param alignment in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_stream_create; size or alignment is NULL.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NOT_FOUND No stream entry of options.block. The detail lists the blocks. */
LW_API lw_status lw_stream_size(const lw_model *model, const lw_stream_options *options,
                                size_t *size, size_t *alignment);
/** Creates a stream in the caller's memory. On the CPU it is real-time safe. Any thread.
 * @param memory `size` bytes as lw_stream_size says. They are the caller's again after
 *        lw_stream_destroy, which is needed: the stream keeps the model.
 * @param out the stream, which begins at `memory`.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_stream_create; memory is NULL or not aligned.
 * @retval LW_TOO_SMALL size is too small.
 * @retval LW_NO_STREAM The model has no stream entry (for this device).
 * @retval LW_NOT_FOUND No stream entry of options.block. The detail lists the blocks.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_init(const lw_model *model, const lw_stream_options *options,
                                void *memory, size_t size, lw_stream **out);
/** Destroys a stream. Rows that wait are lost. A generator on it goes on working, and keeps the
 * stream until its own end. Not for real-time threads. A stream of lw_stream_init on the CPU is an
 * exception, as long as its model is not closed.
 * @param stream NULL: no effect. */
LW_API void lw_stream_destroy(lw_stream *stream);

/** Takes input, and runs every block that it completes.
 *
 * Real-time safe on the CPU: it never allocates, locks or makes a system call. The cost of a block
 * is bounded, and the compile report states the worst case. On a GPU it leaves the last whole block
 * waiting (lw_device_submit). It waits for the device if two blocks are in flight.
 *
 * Values that are NaN, infinite or beyond the model's sample limit (1e6 unless the model says
 * otherwise) count as 0; lw_stream_stats.non_finite counts them. After lw_stream_load or
 * lw_stream_copy the stream may be inside a block. It then uses smaller blocks until it reaches a
 * block boundary.
 * @param samples n ticks of lw_input_info.width values each, in the stream's format. Not kept.
 * @param n number of ticks.
 * @param taken may be NULL. Ticks taken: fewer than n when the queue is full. Then pull, and push
 *        the rest.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL, or samples is NULL and n is not 0.
 * @retval LW_WRONG_STATE The stream is finished, or a kernel failed before.
 * @retval LW_BAD_TOKEN An id is outside the vocabulary. Nothing was taken.
 * @retval LW_DEVICE A kernel failed. From now on the stream accepts only reset, copy and load.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_push(lw_stream *stream, const void *samples, size_t n, size_t *taken);
/** Takes the next row. Runs blocks first if none waits and a whole block is pending, or if the
 * stream is finished. Real-time safe on the CPU.
 * @param out set out->struct_size first; filled in on LW_OK. The values stay in the stream.
 * @retval LW_OK
 * @retval LW_AGAIN No row waits: push more input, or flush.
 * @retval LW_END The stream is finished, and no row is left.
 * @retval LW_INVALID_ARGUMENT stream or out is NULL, or struct_size is not set.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_DEVICE A kernel failed. From now on the stream accepts only reset, copy and load.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_pull(lw_stream *stream, lw_stream_row *out);
/** Takes the next row and those that follow it: as many as wait, fit into out->data and belong to
 * the same output. Otherwise as lw_stream_pull. Real-time safe on the CPU.
 * @param out set struct_size, data and capacity first.
 * @retval LW_OK
 * @retval LW_AGAIN No row waits: push more input, or flush.
 * @retval LW_END The stream is finished, and no row is left.
 * @retval LW_INVALID_ARGUMENT stream, out or data is NULL, or struct_size is not set.
 * @retval LW_TOO_SMALL No room for one row.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_DEVICE A kernel failed. From now on the stream accepts only reset, copy and load.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_pull_rows(lw_stream *stream, lw_stream_rows *out);
/** Takes all n ticks with the largest entries that fit: for a prompt, a warm-up or a file. Rows
 * that waited are dropped. Afterwards the rows of the last block of the own entry wait; of an
 * output without such a row, the newest row of the call. Ticks that fill no block stay pending.
 * Not for real-time threads: the cost grows with n (and lw_stream_entry_info.rebuild_calls).
 * @param samples as for lw_stream_push.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL, or samples is NULL and n is not 0.
 * @retval LW_WRONG_STATE The stream is finished, or a kernel failed before.
 * @retval LW_BAD_TOKEN An id is outside the vocabulary. Nothing was taken.
 * @retval LW_DEVICE A kernel failed. From now on the stream accepts only reset, copy and load.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_prefill(lw_stream *stream, const void *samples, size_t n);
/** Ends the input. pull then runs the stream on with zeros, until the last row that depends on real
 * input is out. Later rows are dropped and counted. Real-time safe.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL.
 * @retval LW_WRONG_STATE The stream is finished already, or a kernel failed before. */
LW_API lw_status lw_stream_finish(lw_stream *stream);
/** Makes the stream as new. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream is NULL.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_reset(lw_stream *stream);
/** Sets a scalar of the model (lw_scalar_info), in its unit. It holds from the next block that the
 * stream begins, for input that was pushed before and waits as well. Of several values before that
 * block the last one counts. Values are a part of the state: they are saved, loaded and copied, and
 * reset gives the initial ones back. Call it between the other calls of the stream, on the thread
 * that the stream belongs to. Real-time safe on the CPU. On a GPU it waits for blocks in flight.
 * @param name of the scalar, UTF-8. Not kept.
 * @param value low ... high of lw_scalar_info.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or name is NULL, or value is NaN or out of range.
 * @retval LW_NOT_FOUND The model has no such scalar. The detail lists those that it has.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_set(lw_stream *stream, const char *name, float value);
/** The value that the next block will have: the last one set, or the initial one. Real-time safe on
 * the CPU. On a GPU it waits for blocks in flight.
 * @param name of the scalar, UTF-8. Not kept.
 * @param value the result, written on LW_OK.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT An argument is NULL.
 * @retval LW_NOT_FOUND The model has no such scalar. The detail lists those that it has.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_get(const lw_stream *stream, const char *name, float *value);
/** Makes `to` continue as `from` would. The two may have different options; with the same entry the
 * same bits follow. Both belong to the calling thread. Real-time safe on the CPU.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT A stream is NULL.
 * @retval LW_BAD_STATE They are of different models, or more rows wait than the queue of `to`
 *         holds.
 * @retval LW_DEVICE A kernel failed while caches were filled. `to` has failed as in push.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_copy(lw_stream *to, const lw_stream *from);
/** Saves the state, the pending input and the rows that wait. Real-time safe on the CPU.
 * @param bytes `capacity` bytes to write to; NULL: only the size is returned.
 * @param n the size of the saved state in bytes.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or n is NULL.
 * @retval LW_WRONG_STATE A kernel failed before.
 * @retval LW_TOO_SMALL capacity is less than *n.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_save(const lw_stream *stream, void *bytes, size_t capacity, size_t *n);
/** Continues from a saved state of the same model and weights. The other compiled file may have
 * other targets, lengths or algorithms, and the other stream another entry or device. Rows then
 * agree within 1e-5 of the peak. With the same file, entry and device they have the same bits.
 * Files of formats before 2.4 load only what the same file saved. Any bytes are safe. Then fills
 * the caches of the entries that push will run, which is a bounded cost
 * (lw_stream_entry_info.rebuild_calls). Real-time safe on the CPU.
 * @param bytes n bytes that lw_stream_save wrote. Not kept.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or bytes is NULL.
 * @retval LW_BAD_STATE Of another model, other weights or another state schema, damaged, or with
 *         more rows than the queue holds. The detail says which, and the stream does not change.
 * @retval LW_DEVICE A kernel failed while caches were filled. The stream has failed as in push.
 * @note GPU statuses apply. */
LW_API lw_status lw_stream_load(lw_stream *stream, const void *bytes, size_t n);

/** Counters of a stream since creation, or since the state that it loaded was new. */
typedef struct lw_stream_stats {
    size_t struct_size;
    uint64_t ticks;              /**< received */
    uint64_t blocks;             /**< processed, in blocks of the own entry, with final zeros */
    uint64_t rows_dropped;       /**< after the end of a finished stream */
    uint64_t non_finite;         /**< input values that were taken as 0 */
    uint64_t non_finite_outputs; /**< NaN or infinite values in rows that came to wait */
    uint64_t resets;             /**< spotter: how often it reset its stream (spotter.h) */
    int poisoned; /**< 1: the newest row of an output contains NaN or Inf. If this lasts, the state
                   * is lost: reset, copy or load the stream */
    int unchecked_state; /**< 1: the state that it loaded has no checksum, because an earlier
                          * version of the library saved it: damage would not be noticed */
} lw_stream_stats;
#define LW_STREAM_STATS_INIT LW_INITIAL(lw_stream_stats)
/** Reads the counters. Real-time safe.
 * @param stats set stats->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT stream or stats is NULL, or struct_size is not set. */
LW_API lw_status lw_stream_get_stats(const lw_stream *stream, lw_stream_stats *stats);

/* ---- offline runs --------------------------------------------------------------------------- */
/** Memory and threads for offline runs. A runner belongs to one thread at a time. */
typedef struct lw_runner lw_runner;
/** Options of lw_runner_create. */
typedef struct lw_runner_options {
    size_t struct_size;
    lw_sample_format format; /**< of audio and features; tokens are always int32. 0: LW_F32, if no
                              * input is audio. Audio has no default */
    uint32_t threads; /**< 0 or 1: the caller's thread alone. n: it and n - 1 more, at most 256 in
                       * all, asleep between runs. The outputs are the same bits for any number */
    /** 0 or 1: one at a time. n: lw_run_batch works on up to n at once, each on a thread and in
     * memory of its own, so at most `threads` of them */
    uint32_t sequences;
} lw_runner_options;
#define LW_RUNNER_OPTIONS_INIT LW_INITIAL(lw_runner_options)

/** One input or output of one sequence. In an array, the next element follows after struct_size
 * bytes, which is the same in all elements. */
typedef struct lw_run_tensor {
    size_t struct_size;
    void *data;  /**< rows x width values; an output has room for `rows` rows of floats */
    size_t rows; /**< input: rows given. Output, in: rows of room; out: rows written */
    /** Input: number of valid rows for pooling; 0: all. The network itself runs on all rows of the
     * input; only pooling ignores the rows from `length` on. */
    size_t length;
} lw_run_tensor;
#define LW_RUN_TENSOR_INIT LW_INITIAL(lw_run_tensor)

/** Creates a runner. Not for real-time threads. Any thread.
 * @param options at least struct_size and format; for models without audio NULL: defaults.
 * @param out the runner; the caller destroys it. It keeps the model until then.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or out is NULL, or struct_size is not set. The format is not
 *         set or does not fit an input. Or there are more than 256 threads.
 * @retval LW_NO_STREAM The model has no offline entry (for this device).
 * @retval LW_NO_MEMORY memory_limit is too low, there is no memory, or the system gives no thread.
 * @note GPU statuses apply. */
LW_API lw_status lw_runner_create(const lw_model *model, const lw_runner_options *options,
                                  lw_runner **out);
/** Destroys a runner and ends its threads. Not for real-time threads.
 * @param runner NULL: no effect. */
LW_API void lw_runner_destroy(lw_runner *runner);
/** Runs one sequence. Values that are NaN, infinite or beyond the model's sample limit count as 0.
 * With one thread on the CPU it never allocates, locks or makes a system call.
 * @param in n_in inputs in the model's order, all with the same `rows`. Not kept.
 * @param out n_out outputs in the order of lw_model_run_output. With data NULL one is skipped.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT A NULL, an unset struct_size, a wrong number of inputs or outputs, an
 *         empty input, different rows, or a length of more than the rows.
 * @retval LW_TOO_LONG More rows than the longest offline entry takes.
 * @retval LW_TOO_SHORT The sequence is too short for a layer. The detail names it.
 * @retval LW_TOO_SMALL An output has less room than rows. The needed rows were written.
 * @retval LW_BAD_TOKEN An id is outside the vocabulary.
 * @retval LW_DEVICE A kernel or the driver failed. The outputs are undefined.
 * @note GPU statuses apply. */
LW_API lw_status lw_run(lw_runner *runner, const lw_run_tensor *in, size_t n_in, lw_run_tensor *out,
                        size_t n_out);
/** Runs several sequences, each with the same bits as by lw_run. They may differ in rows. Each
 * thread takes complete sequences (lw_runner_options.sequences), not parts of one. All sequences
 * are checked before any runs; lw_last_error names the first that is rejected.
 * @param sequences their number.
 * @param in sequences x n_in inputs, sequence by sequence.
 * @param out sequences x n_out outputs, sequence by sequence.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT as lw_run.
 * @retval LW_TOO_LONG More rows than the longest offline entry takes.
 * @retval LW_TOO_SHORT The sequence is too short for a layer. The detail names it.
 * @retval LW_TOO_SMALL An output has less room than rows. The needed rows were written.
 * @retval LW_BAD_TOKEN An id is outside the vocabulary.
 * @retval LW_DEVICE A kernel or the driver failed. The outputs are undefined.
 * @note GPU statuses apply. */
LW_API lw_status lw_run_batch(lw_runner *runner, size_t sequences, const lw_run_tensor *in,
                              size_t n_in, lw_run_tensor *out, size_t n_out);

#ifdef __cplusplus
}
#endif
#endif
