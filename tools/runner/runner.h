/* longwave-runner: serves the C library over standard input and output, on machines where the
 * command line does not run: under an emulator, or on a board. It needs the library and standard
 * C. */
#pragma once
#include "longwave/longwave.h"
#include "longwave/spotter.h"
#include "tools/runner/buffer.h"
#include "tools/runner/wire.h"

enum { most_streams = 64 };

typedef struct {
    lw_model *model;
    lw_runner *runner;
    lw_stream *streams[most_streams];
    lw_spotter *spotter;
} Server;

/* describe.c. Appends what wire.h calls the description. */
lw_status describe(const lw_model *model, Buffer *to);
