/* Messages between the command line and longwave-runner: little-endian, over standard input and
 * output. Neither side trusts the sizes that the other one states.
 *
 * A request is {u32 what, u32 which, u64 bytes} and its payload. A reply is {i32 status, u32 which,
 * u64 bytes} and its payload; with a status other than LW_OK the payload is the detail as text, at
 * most wire_text bytes. `which` is the number of a stream: a reply repeats that of its request, and
 * the reply to wire_stream brings a new one. Every request gets one reply, in order. A list of rows
 * is {u32 output, u32 width, u64 row} and the floats, for each row. Texts are u32 bytes and the
 * bytes. A request or reply without a comment has no payload. */
#pragma once

enum {
    wire_version = 2,
    wire_text = 4096,
    wire_streams = 64, /* `which` is less */
    wire_open = 1,     /* text variant, then the artifact; reply: u32 wire_version */
    wire_verify = 2,   /* reply: f64 worst error relative to its limit */
    /* Per input u64 rows, u64 valid rows, u64 bytes, bytes. Reply: per output u64 rows, floats. */
    wire_run = 3,
    wire_stream = 4, /* u32 block, u32 format; reply: `which` */
    wire_push = 5,   /* u64 ticks, samples; reply: rows */
    wire_finish = 6, /* reply: rows */
    wire_reset = 7,
    wire_prefill = 8, /* u64 ticks, samples */
    wire_save = 9,    /* reply: the state */
    wire_load = 10,   /* the state */
    wire_copy = 11,   /* u32 stream to copy from */
    wire_close = 12,  /* destroys a stream */
};
