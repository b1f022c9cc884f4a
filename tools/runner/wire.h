/* Messages between the command line and longwave-runner: little-endian, over standard input and
 * output.
 *
 * A request is {u32 what, u32 which, u64 bytes} and its payload. A reply is {i32 status, u32 which,
 * u64 bytes} and its payload; with a status other than LW_OK the payload is the detail as text.
 * `which` is the number of a stream or spotter. Every request gets one reply, in order. A list of
 * rows is {u32 output, u32 width, u64 row} and the floats, for each row. Texts are u32 bytes and
 * the bytes. */
#pragma once

enum {
    wire_version = 1,
    wire_open = 1,         /* text variant, then the artifact; reply: u32 wire_version, the description */
    wire_verify = 2,       /* reply: f64 worst error relative to its limit */
    /* Per input u64 rows, u64 valid rows, u64 bytes, bytes. Reply: per output u64 rows, floats. */
    wire_run = 3,
    wire_stream = 4,       /* u32 block, u32 format; reply: `which` */
    wire_push = 5,         /* u64 ticks, samples; reply: rows */
    wire_finish = 6,       /* reply: rows */
    wire_reset = 7,
    wire_prefill = 8,      /* u64 ticks, samples */
    wire_save = 9,         /* reply: the state */
    wire_load = 10,        /* the state */
    wire_copy = 11,        /* u32 stream to copy from */
    wire_close = 12,       /* destroys a stream */
    wire_spotter = 13,     /* u32 format; reply: `which` */
    /* u64 samples, samples; none: the end. Reply: per event text, f64 score, u64 tick, u64 start. */
    wire_listen = 14,
};

/* Description of a model: texts name, producer, variant, report; u32 has_run, has_stream,
 * run_capacity, stream_block, stream_delay; f32 error_limit; u64 state bytes, stream memory, run
 * memory, memory, artifact bytes; u32 inputs {text name, u32 kind, width, rate, vocabulary}; u32
 * run outputs and u32 stream outputs {text name, u32 width, clock_num, clock_den, delay}; u32
 * labels {text}; u32 stream entries {u32 block, delay, period, u64 calls, cache_bytes, moved_bytes,
 * rebuild_calls}; u32 state fields {text layer, name, u32 kind, elem, u64 bytes, u32 dims
 * {u32}}. */
