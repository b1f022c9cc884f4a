/* Longwave runtime: opens a compiled artifact and runs it, whole or as a stream.
 *
 * Life of a model
 *   lw_model_open            once; checks every byte, maps code, derives spectra. A model is immutable: any number of threads may share it.
 *   lw_stream_create         one per audio or text stream. A stream belongs to one thread at a time.
 *     lw_stream_push/pull    samples in, outputs out; no allocation, lock or system call.
 *   lw_stream_destroy, lw_model_close (after its last stream and runner).
 *   lw_runner_create/lw_run  whole sequences; a runner belongs to one thread at a time.
 *
 * Conventions
 *   Every function returns an lw_status; `out` parameters come last, are set to NULL first and assigned on success only. A failed call changes nothing
 *   unless it says so. Options structs start with struct_size (set it to sizeof the struct; fields beyond it take their defaults); NULL means defaults.
 *   Strings returned by introspection belong to the model and live as long as it does. The library never prints, exits or aborts.
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
#define LW_VERSION_MINOR 1
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
    LW_BAD_ARTIFACT = 20,     /* rule V1-V20 broken; the detail names rule and byte */
    LW_BAD_VERSION = 21,      /* made by a newer format */
    LW_UNSIGNED_CODE = 22,    /* code without signature and allow_unsigned_code not set */
    LW_NO_VARIANT = 23,       /* no code variant for this processor; the detail lists those present */
    LW_BAD_STATE = 24,        /* saved state of another model, layout or size */
    LW_BAD_TOKEN = 25,        /* id outside the vocabulary */
    LW_NO_MEMORY = 30,
    LW_IO = 31,
    LW_DEVICE = 32,
    LW_CHECK_FAILED = 40 /* verify: an output differs from its golden vector by more than the limit */
} lw_status;

/* Static text of a status. Never NULL. Any thread. */
LW_API const char *lw_status_text(lw_status status);
/* Detail of the last failed call of this thread: which file, rule, byte, layer. Never NULL; valid until the next failing call of the thread. */
LW_API const char *lw_last_error(void);
/* "0.1.0" */
LW_API const char *lw_version(void);

/* ---- model ------------------------------------------------------------------------------------------------------------------------------------ */
typedef struct lw_model lw_model;

typedef struct lw_allocator {
    void *(*allocate)(void *context, size_t size, size_t alignment); /* may return NULL */
    void (*release)(void *context, void *memory, size_t size);
    void *context;
} lw_allocator;

typedef struct lw_open_options {
    size_t struct_size;
    int allow_unsigned_code;       /* 0: refuse code segments without a signature (LW_UNSIGNED_CODE) */
    const char *variant;           /* NULL: the best this processor runs; else a target name such as "x86-64-v3" */
    const lw_allocator *allocator; /* NULL: malloc/free */
    int map_weights;               /* 1: read weights from the mapped file instead of a copy (the file must not change) */
    uint64_t memory_limit;         /* 0: none; else refuse artifacts that need more for the model and one stream (LW_NO_MEMORY) */
    /* Checks the Ed25519 `signature` (64 bytes) of `root` (32 bytes) and whether `key` (32 bytes) is one you trust; nonzero: both hold. Called once, in
     * open, for signed artifacts, after every data check. NULL: a signature counts for nothing and the artifact is treated as unsigned. */
    int (*check_signature)(void *context, const uint8_t *key, const uint8_t *root, const uint8_t *signature);
    void *signature_context;
} lw_open_options;

LW_API lw_status lw_model_open(const char *path, const lw_open_options *options, lw_model **out);
/* The bytes are copied; the caller may free them on return. */
LW_API lw_status lw_model_open_memory(const void *bytes, size_t size, const lw_open_options *options, lw_model **out);
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
} lw_output_info;

typedef struct lw_model_info {
    size_t struct_size;
    const char *name, *producer, *variant; /* variant: code chosen at open */
    uint32_t inputs, labels, run_outputs, stream_outputs;
    int has_run, has_stream;
    uint32_t run_capacity; /* input ticks */
    uint32_t stream_block; /* input ticks */
    uint32_t stream_delay; /* algorithmic delay, input ticks */
    uint64_t stream_state_bytes, stream_memory_bytes, run_memory_bytes, derived_bytes, artifact_bytes;
    const char *report, *certificates; /* JSON text */
} lw_model_info;

LW_API lw_status lw_model_get_info(const lw_model *model, lw_model_info *info); /* set info->struct_size first */
LW_API lw_status lw_model_input(const lw_model *model, uint32_t index, lw_input_info *info);
LW_API lw_status lw_model_run_output(const lw_model *model, uint32_t index, lw_output_info *info);
LW_API lw_status lw_model_stream_output(const lw_model *model, uint32_t index, lw_output_info *info);
LW_API const char *lw_model_label(const lw_model *model, uint32_t index); /* NULL when out of range */
/* Runs the golden vectors of every entry on the variant in use. LW_CHECK_FAILED with a detail; *worst (may be NULL) is the largest error relative to its limit. */
LW_API lw_status lw_model_verify(const lw_model *model, double *worst);

/* ---- stream ----------------------------------------------------------------------------------------------------------------------------------- */
typedef struct lw_stream lw_stream;
typedef enum lw_format { LW_F32 = 0, LW_S16 = 1, LW_I32 = 2 } lw_format; /* LW_S16: audio, divided by 32768. LW_I32: token ids */

typedef struct lw_stream_options {
    size_t struct_size;
    lw_format format; /* of pushed samples */
    uint32_t queue;   /* output rows that may wait; 0: 64 */
} lw_stream_options;

typedef struct lw_output {
    size_t struct_size;
    uint32_t index;    /* which stream output */
    uint32_t width;    /* floats */
    const float *data; /* valid until the next push, pull, reset, copy, load or destroy of this stream */
    uint64_t row;      /* number of this row of this output, from 0 */
    uint64_t end;      /* input ticks consumed when the row became exact: row covers everything before `end` − delay */
} lw_output;

LW_API lw_status lw_stream_create(const lw_model *model, const lw_stream_options *options, lw_stream **out);
LW_API lw_status lw_stream_size(const lw_model *model, const lw_stream_options *options, size_t *size, size_t *alignment);
/* The same in the caller's memory of that size and alignment; do not destroy it, just reuse the memory after the last call. */
LW_API lw_status lw_stream_init(const lw_model *model, const lw_stream_options *options, void *memory, size_t size, lw_stream **out);
LW_API void lw_stream_destroy(lw_stream *stream);

/* Real time: push, pull, reset and copy never allocate, lock or call the system; cost is flat over the period of the plan.
 * push takes whole ticks and may take fewer than n when the output queue is full: pull, then push the rest. Non-finite samples count as 0 (see stats). */
LW_API lw_status lw_stream_push(lw_stream *stream, const void *samples, size_t n, size_t *taken);
LW_API lw_status lw_stream_pull(lw_stream *stream, lw_output *out);
/* Pushes and drops the outputs: brings the stream to where `n` ticks leave it (a prompt, a warm-up), taking all of them. Rows that wait already are dropped too. */
LW_API lw_status lw_stream_prefill(lw_stream *stream, const void *samples, size_t n);
/* End of input: the last, partial block is completed with zeros; outputs that depend on real input only remain valid, later ones are dropped. */
LW_API lw_status lw_stream_finish(lw_stream *stream);
LW_API lw_status lw_stream_reset(lw_stream *stream);
LW_API lw_status lw_stream_copy(lw_stream *to, const lw_stream *from);                             /* same model and options */
LW_API lw_status lw_stream_save(const lw_stream *stream, void *bytes, size_t capacity, size_t *n); /* bytes NULL: only the size */
LW_API lw_status lw_stream_load(lw_stream *stream, const void *bytes, size_t n);

typedef struct lw_stream_stats {
    size_t struct_size;
    uint64_t ticks, blocks, rows_dropped, non_finite;
} lw_stream_stats;
LW_API lw_status lw_stream_get_stats(const lw_stream *stream, lw_stream_stats *stats);

/* ---- whole sequences -------------------------------------------------------------------------------------------------------------------------- */
typedef struct lw_runner lw_runner;
typedef struct lw_run_options {
    size_t struct_size;
    lw_format format; /* of inputs that are audio or features; tokens are always int32 */
} lw_run_options;

typedef struct lw_tensor {
    size_t struct_size;
    void *data;    /* input: rows × width of one sequence; output: room for `rows` × width floats */
    size_t rows;   /* input: rows given (<= capacity); output in: room; output out: rows written */
    size_t length; /* input: valid rows for pooling, 0 = rows. The network runs on all `rows` (the padded form) */
} lw_tensor;

LW_API lw_status lw_runner_create(const lw_model *model, const lw_run_options *options, lw_runner **out);
LW_API void lw_runner_destroy(lw_runner *runner);
/* One sequence: inputs in the model's order (all of equal rows), outputs in the order of lw_model_run_output; an output with data NULL is skipped. */
LW_API lw_status lw_run(lw_runner *runner, const lw_tensor *in, size_t n_in, lw_tensor *out, size_t n_out);

#ifdef __cplusplus
}
#endif
#endif
