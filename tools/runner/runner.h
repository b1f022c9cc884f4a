/* longwave-runner: serves the C library over standard input and output, on machines where the
 * command line does not run: under an emulator, or on a board. It needs the library and standard
 * C. Linked with contained.c in place of loaded.c, it serves one model that it contains.
 *
 * It executes the code that it is sent, so it trusts the host with the machine. It does not trust
 * sizes and numbers in messages. */
#pragma once
#include "longwave/longwave.h"
#include "tools/runner/buffer.h"
#include "tools/runner/wire.h"
#include <stdio.h>

typedef struct {
    lw_stream *stream; /* NULL: not in use */
    size_t tick_bytes; /* of its samples */
} Served;

typedef struct {
    lw_model *model;
    lw_runner *runner;
    Served streams[wire_streams];
} Server;

/* serve.c. The status of a request, whose reply is appended. */
lw_status answer(Server *s, uint32_t what, uint32_t *which, Reader *in, Buffer *reply);
void close_all(Server *s);
/* Answers requests until `in` ends. 0: it ended, and every answer was written. */
int serve(FILE *in, FILE *out);

/* loaded.c or contained.c: where the model and the memory of what uses it come from. `bytes` are
 * those of the message, a compiled file or the weights beside a library. `variant` may be NULL. */
lw_status open_bytes(const char *variant, const uint8_t *bytes, size_t n, lw_model **model);
void close_model(lw_model *model);
lw_status new_stream(const lw_model *model, const lw_stream_options *options, lw_stream **stream);
void end_stream(lw_stream *stream);
lw_status verify_model(const lw_model *model, double *worst);
