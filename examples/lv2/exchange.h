/* A plug-in whose user chooses a file while it plays. The parts that room.c and amp.c share:
 *
 * - The file is a parameter of the patch extension, an atom:Path. Hosts save it with their state.
 * - The worker thread makes a voice of it. The audio thread never allocates, locks or reads a file.
 * - The audio thread fades from the old voice to the new one.
 *
 * A file that does not fit is refused with the reason in the log, and the old voice plays on.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H
#include "reason.h"
#include "voice.h"
#include <lv2/core/lv2.h>

typedef enum {
    /* The old voice hears less and less of the input, the new one more and more, and the tail of the old one
     * rings out. For what adds up: each sample is heard through both voices with weights of 1 in all. */
    FADE_INPUTS,
    /* Both hear all. The new voice is silent until it has heard as much as it remembers. For amplifiers,
     * which a weight would change. */
    FADE_OUTPUTS,
} Fade;

typedef struct {
    const char *uri, *file; /* of the plug-in and of its parameter */
    const char *initial; /* a file of the bundle, played until the user chooses another; it may be missing */
    int channels;        /* in and out */
    Fade fade;
    /* What voices are made of, such as the shapes in the bundle. NULL: `reason` says why. */
    void *(*open)(const char *bundle, double rate, char reason[REASON]);
    void (*close)(void *stock);
    /* NULL: `reason` says why. Not in the audio thread. */
    Voice *(*load)(void *stock, int channels, const char *path, char reason[REASON]);
} Kind;

/* Ports: control, notify, the inputs, the outputs, the latency. */
LV2_Handle exchange_create(const Kind *kind, double rate, const char *bundle,
                           const LV2_Feature *const *features);
void exchange_connect(LV2_Handle handle, uint32_t port, void *data);
void exchange_activate(LV2_Handle handle);
void exchange_run(LV2_Handle handle, uint32_t n);
void exchange_cleanup(LV2_Handle handle);
const void *exchange_extension(const char *uri);

#endif
