/* Longwave runtime: opens a compiled artifact and runs it, whole or as a stream.
 *
 * Life of a model
 *   lw_model_open            once; checks every byte, loads code, derives spectra. A model is immutable: any
 *                            number of threads may share it.
 *   lw_stream_create         one per audio or text stream. A stream belongs to one thread at a time.
 *     lw_stream_push/pull    samples in, outputs out; no allocation, lock or system call.
 *   lw_stream_destroy, lw_model_close (after its last stream and runner).
 *   lw_runner_create/lw_run  whole sequences; a runner belongs to one thread at a time.
 *
 * Time
 *   A tick is one step of the input: a sample, a row of features, a token. An artifact may hold several
 *   stream entries; each advances the same state by a block of so many ticks. A stream is made for one of
 *   them (its own), and a state saved from it loads into a stream made for any other. Sums are ordered
 *   differently from block to block: the same ticks through different entries agree within 1e-5 of the
 *   largest value, through one entry bit for bit, however they are cut.
 *
 * Conventions
 *   Every function returns an lw_status; `out` parameters come last, are set to NULL first and assigned on
 *   success only. A failed call changes nothing unless it says so. Structs start with struct_size (set it to
 *   sizeof the struct; fields of options beyond it take their defaults, fields of results beyond it are not
 *   written); NULL options mean defaults. Strings and lists returned by introspection belong to the model and
 *   live as long as it does. The library never prints, exits or aborts.
 */
#ifndef LONGWAVE_H
#define LONGWAVE_H
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define LW_API
#else
#define LW_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LW_VERSION_MAJOR 0
#define LW_VERSION_MINOR 2
#define LW_VERSION_PATCH 0

typedef enum lw_status {
    LW_OK = 0,
    LW_AGAIN = 1,             /* pull: no output yet, push more input */
    LW_END = 2,               /* pull: finished and every output was pulled */
    LW_INVALID_ARGUMENT = 10, /* NULL, wrong struct_size, out of range */
    LW_WRONG_STATE = 11,      /* e.g. push after finish */
    LW_TOO_SMALL = 12,        /* the caller's buffer is too small; the size needed was written */
    LW_NOT_FOUND = 13,        /* no such file, entry, output or label */
    LW_NO_STREAM = 14,        /* the artifact has no stream entry (or no run entry) */
    LW_TOO_LONG = 15,         /* more rows than the capacity of the run entry */
    LW_TOO_SHORT = 16,        /* fewer rows than a layer can take; the detail names it */
    LW_BAD_ARTIFACT = 20,     /* rule V1-V21 broken; the detail names rule and byte */
    LW_BAD_VERSION = 21,      /* made by a newer format */
    LW_UNSIGNED_CODE = 22,    /* code without signature and allow_unsigned_code not set */
    LW_NO_VARIANT = 23,       /* no code variant for this CPU; the detail lists those present */
    LW_BAD_STATE = 24,        /* saved state of another model, layout or size */
    LW_BAD_TOKEN = 25,        /* id outside the vocabulary */
    LW_NO_MEMORY = 30,        /* there is none, or memory_limit allows none */
    LW_IO = 31,
    LW_DEVICE = 32,       /* a kernel failed, or code may not be executed */
    LW_NOT_FINITE = 33,   /* generator: a logit is not finite; run: nor what a GPU is to store as float16 */
    LW_NO_DEVICE = 34,    /* no such device here, or nothing to reach one with */
    LW_UNSUPPORTED = 35,  /* the device lacks a limit or feature that the model needs, or cannot do this */
    LW_DEVICE_LOST = 36,  /* the device is gone: close what was made on it */
    LW_TIMEOUT = 37,      /* the device did not answer in time; as LW_DEVICE_LOST */
    LW_DEVICE_WRONG = 38, /* the device answered wrongly, or not the same twice, and was put aside */
    LW_CHECK_FAILED = 40  /* verify: an output differs from its golden vector by more than the limit */
} lw_status;

/* For libraries that add devices: keeps the detail of their failure for lw_last_error. NULL: none. */
LW_API void lw_device_error(const char *detail);
/* Static text of a status. Never NULL. Any thread. */
LW_API const char *lw_status_text(lw_status status);
/* Detail of the last failed call of this thread: which file, rule, byte, layer. Never NULL; valid until the
 * next failing call of the thread. */
LW_API const char *lw_last_error(void);
/* "0.2.0" */
LW_API const char *lw_version(void);

/* ---- model --------------------------------------------------------------------------------------------- */
typedef struct lw_model lw_model;

/* What computes in place of the CPU: made by a library of its own (longwave/vulkan.h). */
typedef struct lw_device lw_device;

typedef struct lw_allocator {
    void *(*allocate)(void *context, size_t size, size_t alignment); /* may return NULL */
    void (*release)(void *context, void *memory, size_t size);
    void *context;
} lw_allocator;

typedef struct lw_open_options {
    size_t struct_size;
    int allow_unsigned_code; /* 0: refuse code segments without a signature (LW_UNSIGNED_CODE) */
    const char *variant;     /* NULL: the best this CPU runs; else a target name such as "x86-64-v3" */
    const lw_allocator *allocator; /* NULL: malloc/free. Copied; its context must outlive the model */
    int map_weights; /* 1: read weights from the mapped file instead of a copy (it must not change) */
    /* Bytes that the model and any one stream, runner, spotter or verification made from it may take
     * together, the bytes of the file included unless it is mapped. Every call asks before it takes anything
     * and returns LW_NO_MEMORY with the bytes needed. 0: 64 MiB or 64 times the artifact, whichever is
     * more. */
    uint64_t memory_limit;
    /* Checks the Ed25519 `signature` (64 bytes) of `root` (32 bytes) and whether `key` (32 bytes) is one you
     * trust; nonzero: both hold. Called once, in open, for signed artifacts, after every data check. NULL: a
     * signature counts for nothing and the artifact is treated as unsigned. */
    int (*check_signature)(void *context, const uint8_t *key, const uint8_t *root, const uint8_t *signature);
    void *signature_context;
    /* NULL: the CPU. Else what runs the entries that the artifact has for it: whole sequences, streams, or
     * both. It must outlive the model. LW_UNSUPPORTED: the artifact has nothing for it, or it lacks what that needs. Code is
     * needed and trusted as without one, for the CPU prepares the model. */
    const lw_device *device;
} lw_open_options;

/* Regular files only: a pipe or device is LW_IO at once. */
LW_API lw_status lw_model_open(const char *path, const lw_open_options *options, lw_model **out);
/* The bytes are copied; the caller may free them on return. */
LW_API lw_status lw_model_open_memory(const void *bytes, size_t size, const lw_open_options *options,
                                      lw_model **out);
LW_API void lw_model_close(lw_model *model); /* NULL is fine */

typedef enum lw_input_kind { LW_AUDIO = 0, LW_FEATURES = 1, LW_TOKENS = 2 } lw_input_kind;

typedef struct lw_input_info {
    size_t struct_size;
    const char *name;
    lw_input_kind kind;
    uint32_t width;       /* floats a tick (tokens: 1 id) */
    uint32_t sample_rate; /* Hz; 0 unless audio */
    uint32_t vocabulary;  /* tokens: number of ids */
} lw_input_info;

typedef struct lw_output_info {
    size_t struct_size;
    const char *name;
    uint32_t width;                /* floats a row */
    uint32_t clock_num, clock_den; /* rows for each input tick; 0/1: one row for the whole sequence */
    uint32_t delay;                /* algorithmic delay of a stream, input ticks */
} lw_output_info;

/* A way forward for streams. In a list of these the next one lies struct_size bytes on. */
typedef struct lw_entry_info {
    size_t struct_size;
    uint32_t block;       /* input ticks */
    uint32_t delay;       /* algorithmic delay, input ticks: that of its slowest output */
    uint32_t period;      /* blocks after which the same kernels are called again */
    uint64_t calls;       /* kernel calls in a period */
    uint64_t cache_bytes; /* beside the state, in every stream of the model */
    uint64_t moved_bytes; /* that the kernels of a block read and write: the mean over a period */
    uint64_t
        rebuild_calls; /* most kernel calls to fill its caches when it takes a stream over (lw_stream_load) */
} lw_entry_info;

typedef enum lw_elem { LW_ELEM_F32 = 0, LW_ELEM_I32 = 1, LW_ELEM_F64 = 2 } lw_elem;
typedef enum lw_state_kind {
    LW_STATE_HISTORY = 0, /* the newest rows of a value: dims [rows, elements of a row] */
    LW_STATE_CARRY = 1,   /* what a layer hands from row to row */
    LW_STATE_SPECTRA = 2  /* derived past; only in artifacts up to format 2.3 */
} lw_state_kind;

/* A part of what a stream remembers. In a list of these the next one lies struct_size bytes on. */
typedef struct lw_state_field {
    size_t struct_size;
    const char *layer, *name;
    lw_state_kind kind;
    lw_elem elem;
    const uint32_t *dims; /* outermost first */
    uint32_t n_dims;
    uint64_t bytes;
} lw_state_field;

typedef struct lw_model_info {
    size_t struct_size;
    const char *name, *producer, *variant; /* variant: code chosen at open */
    uint32_t inputs, labels, run_outputs, stream_outputs;
    int has_run, has_stream;
    uint32_t run_capacity;       /* input ticks */
    uint32_t stream_block;       /* input ticks: of the default stream entry, as the next field */
    uint32_t stream_delay;       /* algorithmic delay, input ticks */
    uint64_t stream_state_bytes; /* the record: what a stream remembers, whatever its entry */
    uint64_t stream_memory_bytes, run_memory_bytes; /* of one with default options */
    uint64_t derived_bytes, artifact_bytes;
    const char *report, *certificates; /* JSON text */
    uint32_t n_stream_entries, n_state_fields;
    const lw_entry_info *stream_entries; /* the first is the default */
    const lw_state_field *state_fields;
    uint64_t memory_bytes, memory_limit; /* taken by the model itself; the limit in force */
    float error_limit; /* of its golden vectors on this device, of the peak of an output; 0: it has none */
} lw_model_info;

/* Set info->struct_size first, here and below. LW_NOT_FOUND: no such input or output. */
LW_API lw_status lw_model_get_info(const lw_model *model, lw_model_info *info);
LW_API lw_status lw_model_input(const lw_model *model, uint32_t index, lw_input_info *info);
LW_API lw_status lw_model_run_output(const lw_model *model, uint32_t index, lw_output_info *info);
LW_API lw_status lw_model_stream_output(const lw_model *model, uint32_t index, lw_output_info *info);
LW_API const char *lw_model_label(const lw_model *model, uint32_t index); /* NULL when out of range */
/* Runs the golden vectors of every entry on the variant in use. LW_CHECK_FAILED with a detail; *worst (may be
 * NULL) is the largest error relative to its limit. */
LW_API lw_status lw_model_verify(const lw_model *model, double *worst);

/* ---- stream -------------------------------------------------------------------------------------------- */
typedef struct lw_stream lw_stream;
typedef enum lw_format {
    LW_F32 = 0,
    LW_S16 = 1, /* audio, divided by 32768 */
    LW_I32 = 2  /* token ids */
} lw_format;

typedef struct lw_stream_options {
    size_t struct_size;
    lw_format format; /* of pushed samples */
    uint32_t queue;   /* output rows that may wait; 0: 64. Raised to what one block may bring */
    uint32_t entry;   /* the stream's own entry: index into lw_model_info.stream_entries. 0: the default */
} lw_stream_options;

typedef struct lw_output {
    size_t struct_size;
    uint32_t index;    /* which stream output */
    uint32_t width;    /* floats */
    const float *data; /* until the next push, prefill, pull, reset, copy, load or destroy of this stream */
    uint64_t row;      /* number of this row of this output, from 0 */
    uint64_t
        end; /* input ticks consumed when the row became exact: it covers everything before `end` − delay */
} lw_output;

/* Rows of one output that follow each other. */
typedef struct lw_rows {
    size_t struct_size;
    float *data;     /* in: where they go, one behind the other without gaps */
    size_t capacity; /* in: floats there is room for */
    size_t rows;     /* out: how many there are, at least 1 */
    uint64_t row;    /* out: number of the first */
    uint64_t end;    /* out: lw_output.end of the last */
    uint32_t index;  /* out: which stream output */
    uint32_t width;  /* out: floats of a row */
} lw_rows;

/* LW_NO_STREAM: none was compiled. LW_NOT_FOUND: no such entry. LW_INVALID_ARGUMENT: the format does not fit
 * the input, or the queue is longer than 2^20. LW_NO_MEMORY. */
LW_API lw_status lw_stream_create(const lw_model *model, const lw_stream_options *options, lw_stream **out);
LW_API lw_status lw_stream_size(const lw_model *model, const lw_stream_options *options, size_t *size,
                                size_t *alignment);
/* The same in the caller's memory of that size and alignment; the memory may be reused after the last
 * call; on a device after lw_stream_destroy, which gives back what lies there and leaves the memory alone. */
LW_API lw_status lw_stream_init(const lw_model *model, const lw_stream_options *options, void *memory,
                                size_t size, lw_stream **out);
LW_API void lw_stream_destroy(lw_stream *stream); /* NULL is fine */

/* Real time: push, pull, pull_rows, reset, copy, save and load never allocate, lock or call the system; the
 * cost of a block is bounded, and the compile report predicts the dearest of an entry's period.
 *
 * push takes whole ticks and may take fewer than n when the output queue is full: pull, then push the rest.
 * `taken` may be NULL. Samples that are not finite, or beyond what the artifact calls its sample limit (1e6
 * unless it says otherwise), count as 0 (see stats). A token outside the vocabulary is LW_BAD_TOKEN and
 * nothing is taken. LW_DEVICE: a kernel failed; the stream accepts nothing but reset, copy and load from then
 * on.
 *
 * At a tick that is a multiple of the own entry's block that entry runs. At others, which only a loaded or
 * copied state brings, it is the largest entry whose block divides the own block and the tick, until the
 * own block is reached. */
LW_API lw_status lw_stream_push(lw_stream *stream, const void *samples, size_t n, size_t *taken);
/* Streams on a device (lw_open_options.device) run their blocks together: push leaves a whole block waiting, and
 * flush runs what waits of all streams of the device in the same few submissions. pull, finding no row, does so by
 * itself, as does push behind a whole block: a program with one stream need not call it. The first failure of a
 * stream is returned, the others go on. All streams of one device belong to one thread at a time; their functions
 * wait and call the system. Destroy them before their model and device. NULL is fine. */
LW_API lw_status lw_device_flush(lw_device *device);
/* The next row. LW_AGAIN: none waits. LW_END: finished and none will come. Set out->struct_size first. */
LW_API lw_status lw_stream_pull(lw_stream *stream, lw_output *out);
/* The next row and those behind it, as many as wait, fit into out->data and are of the same output: a block
 * brings the rows of each output together, so one call takes them all. LW_AGAIN, LW_END as pull.
 * LW_TOO_SMALL: no room for one row; out is unchanged. Set struct_size, data and capacity first. */
LW_API lw_status lw_stream_pull_rows(lw_stream *stream, lw_rows *out);
/* Takes all n ticks, by the largest entries that fit, and goes on with the stream's own: a prompt, a warm-up,
 * a file. Rows that waited before the call are dropped. Afterwards there wait, for each output, the rows that
 * the last block of the own entry brought; where it brought none of an output (a slow clock), the newest row
 * that the call brought. All others are dropped. Ticks that fill no block wait as with push. Not for real
 * time: the cost is that of all blocks, and that of filling the caches of each entry taken up
 * (lw_entry_info.rebuild_calls). */
LW_API lw_status lw_stream_prefill(lw_stream *stream, const void *samples, size_t n);
/* End of input: the stream runs on with zeros while its rows are pulled, until the last row that depends on
 * real input is out; later ones are dropped and counted. */
LW_API lw_status lw_stream_finish(lw_stream *stream);
LW_API lw_status lw_stream_reset(lw_stream *stream); /* as after create */
/* `to` goes on as `from` would. Both are of one model; they may differ in options. LW_BAD_STATE: another
 * model, or more rows wait than the queue of `to` holds. With the same entry the same bits follow. */
LW_API lw_status lw_stream_copy(lw_stream *to, const lw_stream *from);
/* What the stream remembers, its pending input and the rows that wait; neither caches nor addresses. bytes
 * NULL: only the size. LW_TOO_SMALL: *n is the size needed. */
LW_API lw_status lw_stream_save(const lw_stream *stream, void *bytes, size_t capacity, size_t *n);
/* Loads what save made from a stream of the same model and weights. The other artifact may have other targets,
 * lengths or algorithms; the other stream may have another entry or run on another device. Rows then agree
 * within 1e-5 of the peak. With the same artifact, entry and device they have the same bits. Any bytes are safe.
 * LW_BAD_STATE: lw_last_error says what differs (model, weights, state schema, a field) or that the bytes are
 * damaged; the stream does not change. load rebuilds the caches of the entries that push will run, a bounded
 * cost (lw_entry_info.rebuild_calls). LW_DEVICE: a kernel failed in that, and the stream has failed as in push.
 * Artifacts of a format before 2.4 load only what the same artifact saved. */
LW_API lw_status lw_stream_load(lw_stream *stream, const void *bytes, size_t n);

typedef struct lw_stream_stats {
    size_t struct_size;
    uint64_t ticks;        /* received */
    uint64_t blocks;       /* of the own entry's size, processed; the zeros of a finished stream included */
    uint64_t rows_dropped; /* behind the end of a finished stream */
    uint64_t non_finite;   /* samples that were taken as 0 */
    uint64_t non_finite_outputs; /* values of rows that came to wait */
    uint64_t resets;             /* spotter: how often it reset its stream, see spotter.h */
    int poisoned; /* 1: the newest row of an output holds values that are not finite. Its state may be lost
                   * for good: reset, copy or load the stream when this lasts */
} lw_stream_stats;
/* Set stats->struct_size first. */
LW_API lw_status lw_stream_get_stats(const lw_stream *stream, lw_stream_stats *stats);

/* ---- whole sequences ----------------------------------------------------------------------------------- */
typedef struct lw_runner lw_runner;
typedef struct lw_run_options {
    size_t struct_size;
    lw_format format; /* of inputs that are audio or features; tokens are always int32 */
    uint32_t threads; /* 0 or 1: the caller's thread alone. n: it and n − 1 more (at most 255), asleep between
                       * runs. The outputs are the same bits for any number */
    uint32_t sequences; /* 0 or 1: one at a time. n: lw_run_batch works on up to n at once, each on a thread
                         * and in memory of its own (so at most `threads` of them) */
} lw_run_options;

/* In an array of these the next one lies struct_size bytes on: all have the same. */
typedef struct lw_tensor {
    size_t struct_size;
    void *data;    /* input: rows × width of one sequence; output: room for `rows` × width floats */
    size_t rows;   /* input: rows given (<= capacity); output in: room; output out: rows written */
    size_t length; /* input: valid rows for pooling, 0 = rows. The network runs on all `rows` (padded) */
} lw_tensor;

/* LW_NO_STREAM: no run entry was compiled. LW_NO_MEMORY: the limit, the allocator or the system's threads. */
LW_API lw_status lw_runner_create(const lw_model *model, const lw_run_options *options, lw_runner **out);
LW_API void lw_runner_destroy(lw_runner *runner); /* NULL is fine */
/* One sequence: inputs in the model's order (all of equal rows), outputs in the order of lw_model_run_output;
 * an output with data NULL is skipped. Values that are not finite, or beyond the artifact's sample limit,
 * count as 0. LW_TOO_LONG: beyond the capacity. LW_TOO_SHORT: a layer takes no sequence as short as this.
 * LW_TOO_SMALL: an output has less room than it has rows; the rows needed were written. */
LW_API lw_status lw_run(lw_runner *runner, const lw_tensor *in, size_t n_in, lw_tensor *out, size_t n_out);
/* Several sequences, each as by lw_run and with the same bits, `sequences` × n_in inputs and `sequences` × n_out
 * outputs, one sequence behind the other; they may differ in rows. Threads work on whole sequences (see
 * lw_run_options.sequences) instead of parts of one. All are checked before any is run; lw_last_error names the
 * first that is refused. LW_DEVICE: a kernel failed, the outputs are undefined. */
LW_API lw_status lw_run_batch(lw_runner *runner, size_t sequences, const lw_tensor *in, size_t n_in,
                              lw_tensor *out, size_t n_out);

#ifdef __cplusplus
}
#endif
#endif
