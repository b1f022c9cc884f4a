#include "exchange.h"
#include <lv2/atom/atom.h>
#include <lv2/atom/forge.h>
#include <lv2/atom/util.h>
#include <lv2/core/lv2_util.h>
#include <lv2/log/logger.h>
#include <lv2/patch/patch.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROL, NOTIFY, AUDIO }; /* ports */
enum { FADE = 2048, LONGEST_PATH = 4096 };

typedef struct {
    LV2_URID path, urid, sequence, set, get, property, value, file;
} Uris;

typedef struct {
    const Kind *kind;
    void *stock;
    LV2_URID_Map *map;
    LV2_Worker_Schedule *worker;
    LV2_Log_Logger logger;
    LV2_Atom_Forge forge;
    Uris uris;
    const LV2_Atom_Sequence *control;
    LV2_Atom_Sequence *notify;
    const float *in[VOICE_CHANNELS];
    float *out[VOICE_CHANNELS], *latency;

    /* Of the audio thread. */
    Voice *now, *next, *waiting, *spent; /* spent: a list for the worker to destroy */
    uint64_t since, cut;                 /* samples since `next` began, and of its tail that is cut off */
    float rise[FADE];                    /* from 0 to 1 */
    int asked, tell;                     /* a path waits for the worker, the host wants to know the path */
    const char *ignored;                 /* why a message was, for the worker to say */
    char path[LONGEST_PATH];             /* that was asked for */

    /* Of the worker and of save, which may run at once. */
    pthread_mutex_t chosen_lock;
    char *chosen; /* path of the newest voice */
} Exchange;

/* From the audio thread to the worker. */
typedef enum { LOAD, DESTROY, COMPLAIN } Order;
typedef struct {
    Order order;
    union {
        Voice *voice;
        const char *ignored;
        char path[LONGEST_PATH];
    } of;
} Job;

/* ---- files and voices, not in the audio thread ---------------------------------------------------- */

static void choose(Exchange *self, const char *path) {
    char *copy = strdup(path), *old;
    pthread_mutex_lock(&self->chosen_lock);
    old = self->chosen;
    self->chosen = copy;
    pthread_mutex_unlock(&self->chosen_lock);
    free(old);
}

/* NULL: refused, and the log says why. */
static Voice *load(Exchange *self, const char *path) {
    char reason[REASON] = "";
    Voice *voice = self->kind->load(self->stock, self->kind->channels, path, reason);
    if (!voice) lv2_log_error(&self->logger, "%s: %s\n", path, reason);
    return voice;
}

static LV2_Worker_Status work(LV2_Handle handle, LV2_Worker_Respond_Function respond,
                              LV2_Worker_Respond_Handle to, uint32_t size, const void *data) {
    Exchange *self = handle;
    const Job *job = data;
    if (size < sizeof job->order) return LV2_WORKER_ERR_UNKNOWN;
    if (job->order == DESTROY) {
        voice_destroy(job->of.voice);
        return LV2_WORKER_SUCCESS;
    }
    if (job->order == COMPLAIN) {
        lv2_log_error(&self->logger, "a message that sets <%s> is ignored: %s\n", self->kind->file,
                      job->of.ignored);
        return LV2_WORKER_SUCCESS;
    }
    Voice *voice = load(self, job->of.path);
    if (!voice) return LV2_WORKER_SUCCESS; /* the log says why, and the old voice plays on */
    if (respond(to, sizeof voice, &voice) == LV2_WORKER_SUCCESS) {
        choose(self, job->of.path);
        return LV2_WORKER_SUCCESS;
    }
    lv2_log_error(&self->logger, "%s: the host takes no answer of the worker\n", job->of.path);
    voice_destroy(voice);
    return LV2_WORKER_ERR_NO_SPACE;
}

/* ---- state ------------------------------------------------------------------------------------------ */

static LV2_State_Status save(LV2_Handle handle, LV2_State_Store_Function store, LV2_State_Handle to,
                             uint32_t flags, const LV2_Feature *const *features) {
    (void)flags;
    Exchange *self = handle;
    if (!self->map) return LV2_STATE_ERR_NO_FEATURE;
    LV2_State_Map_Path *paths = NULL;
    LV2_State_Free_Path *frees = NULL;
    lv2_features_query(features, LV2_STATE__mapPath, &paths, false, LV2_STATE__freePath, &frees, false, NULL);
    pthread_mutex_lock(&self->chosen_lock);
    char *path = self->chosen ? strdup(self->chosen) : NULL;
    pthread_mutex_unlock(&self->chosen_lock);
    if (!path) return LV2_STATE_SUCCESS;
    char *kept = paths ? paths->abstract_path(paths->handle, path) : path;
    LV2_State_Status status = LV2_STATE_ERR_UNKNOWN;
    if (kept)
        status = store(to, self->uris.file, kept, strlen(kept) + 1, self->uris.path,
                       LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
    if (kept != path) {
        if (frees) frees->free_path(frees->handle, kept);
        else free(kept);
    }
    free(path);
    return status;
}

static void start(Exchange *self, Voice *voice);

/* The host does not call run meanwhile. */
static LV2_State_Status restore(LV2_Handle handle, LV2_State_Retrieve_Function retrieve,
                                LV2_State_Handle from, uint32_t flags, const LV2_Feature *const *features) {
    (void)flags;
    Exchange *self = handle;
    if (!self->map) return LV2_STATE_ERR_NO_FEATURE;
    LV2_State_Map_Path *paths = NULL;
    LV2_State_Free_Path *frees = NULL;
    lv2_features_query(features, LV2_STATE__mapPath, &paths, false, LV2_STATE__freePath, &frees, false, NULL);
    size_t size = 0;
    uint32_t type = 0, how = 0;
    const char *kept = retrieve(from, self->uris.file, &size, &type, &how);
    if (!kept) return LV2_STATE_SUCCESS; /* no file was chosen */
    if (type != self->uris.path || size == 0 || size > LONGEST_PATH || kept[size - 1] != 0) {
        lv2_log_error(&self->logger, "the saved state has no path of at most %d bytes\n", LONGEST_PATH - 1);
        return LV2_STATE_ERR_BAD_TYPE;
    }
    char *path = paths ? paths->absolute_path(paths->handle, kept) : strdup(kept);
    if (!path) return LV2_STATE_ERR_UNKNOWN;
    Voice *voice = load(self, path);
    if (voice) {
        choose(self, path);
        start(self, voice);
        self->tell = 1;
    }
    if (paths && frees) frees->free_path(frees->handle, path);
    else free(path);
    return voice ? LV2_STATE_SUCCESS : LV2_STATE_ERR_UNKNOWN;
}

/* ---- the audio thread ------------------------------------------------------------------------------- */

static void spend(Exchange *self, Voice *voice) {
    if (!voice) return;
    voice->link = self->spent;
    self->spent = voice;
}

static void start(Exchange *self, Voice *voice) {
    if (self->next) { /* it fades in: so the newest one waits */
        spend(self, self->waiting);
        self->waiting = voice;
        return;
    }
    self->next = voice;
    self->since = self->cut = 0;
}

static void finish(Exchange *self) {
    spend(self, self->now);
    self->now = self->next;
    self->next = NULL;
    Voice *waiting = self->waiting;
    self->waiting = NULL;
    if (waiting) start(self, waiting);
}

static LV2_Worker_Status work_response(LV2_Handle handle, uint32_t size, const void *data) {
    Exchange *self = handle;
    Voice *voice;
    if (size != sizeof voice) return LV2_WORKER_ERR_UNKNOWN;
    memcpy(&voice, data, sizeof voice);
    start(self, voice);
    self->tell = 1;
    return LV2_WORKER_SUCCESS;
}

/* What the host has no room for waits for the next call. */
static int send(Exchange *self, const Job *job, size_t bytes) {
    return !self->worker->schedule_work(self->worker->handle, (uint32_t)(offsetof(Job, of) + bytes), job);
}

static void send_jobs(Exchange *self) {
    Job job;
    while (self->spent) {
        Voice *link = self->spent->link;
        job.order = DESTROY;
        job.of.voice = self->spent;
        if (!send(self, &job, sizeof job.of.voice)) return;
        self->spent = link;
    }
    if (self->ignored) {
        job.order = COMPLAIN;
        job.of.ignored = self->ignored;
        if (!send(self, &job, sizeof job.of.ignored)) return;
        self->ignored = NULL;
    }
    if (!self->asked) return;
    job.order = LOAD;
    const size_t length = strlen(self->path) + 1;
    memcpy(job.of.path, self->path, length);
    if (send(self, &job, length)) self->asked = 0;
}

/* NULL: the value is a path. */
static const char *why_no_path(const Uris *uris, const LV2_Atom *value) {
    if (!value || value->type != uris->path) return "its value is not an atom:Path";
    const char *path = LV2_ATOM_BODY_CONST(value);
    if (!memchr(path, 0, value->size)) return "its path has no terminating zero";
    return strlen(path) < LONGEST_PATH ? NULL : "its path is longer than 4095 bytes";
}

static void read_control(Exchange *self) {
    if (!self->control) return;
    const Uris *uris = &self->uris;
    LV2_ATOM_SEQUENCE_FOREACH(self->control, event) {
        if (!lv2_atom_forge_is_object_type(&self->forge, event->body.type)) continue;
        const LV2_Atom_Object *object = (const LV2_Atom_Object *)&event->body;
        if (object->body.otype == uris->get) self->tell = 1;
        if (object->body.otype != uris->set) continue;
        const LV2_Atom *property = NULL, *value = NULL;
        lv2_atom_object_get(object, uris->property, &property, uris->value, &value, 0);
        if (!property || property->type != uris->urid || property->size != sizeof(LV2_URID)) continue;
        if (((const LV2_Atom_URID *)property)->body != uris->file) continue;
        const char *ignored = why_no_path(uris, value);
        if (ignored) {
            self->ignored = ignored;
            continue;
        }
        strcpy(self->path, LV2_ATOM_BODY_CONST(value));
        self->asked = 1;
    }
}

/* The path of the newest voice, for the host's window. */
static void write_notify(Exchange *self) {
    if (!self->notify) return;
    const uint32_t room = self->notify->atom.size;
    lv2_atom_forge_set_buffer(&self->forge, (uint8_t *)self->notify, room);
    LV2_Atom_Forge_Frame sequence, set;
    lv2_atom_forge_sequence_head(&self->forge, &sequence, 0);
    const Voice *newest = self->waiting ? self->waiting : self->next ? self->next : self->now;
    if (self->tell && newest && room > strlen(newest->path) + 256) {
        const Uris *uris = &self->uris;
        lv2_atom_forge_frame_time(&self->forge, 0);
        lv2_atom_forge_object(&self->forge, &set, 0, uris->set);
        lv2_atom_forge_key(&self->forge, uris->property);
        lv2_atom_forge_urid(&self->forge, uris->file);
        lv2_atom_forge_key(&self->forge, uris->value);
        lv2_atom_forge_path(&self->forge, newest->path, (uint32_t)strlen(newest->path) + 1);
        lv2_atom_forge_pop(&self->forge, &set);
    }
    self->tell = 0;
    lv2_atom_forge_pop(&self->forge, &sequence);
}

static float risen(const Exchange *self, uint64_t at) { return at < FADE ? self->rise[at] : 1; }

/* At most a block of samples. */
static void play(Exchange *self, float in[VOICE_CHANNELS][VOICE_BLOCK],
                 float out[VOICE_CHANNELS][VOICE_BLOCK], uint32_t n) {
    float old_in[VOICE_CHANNELS][VOICE_BLOCK], even[VOICE_BLOCK], fall[VOICE_BLOCK], rise[VOICE_BLOCK];
    for (uint32_t t = 0; t < n; t++) even[t] = 1;
    if (!self->next) {
        if (self->now) voice_run(self->now, in, out, even, n);
        return;
    }
    const int inputs = self->kind->fade == FADE_INPUTS, channels = self->kind->channels;
    const uint64_t warm = inputs ? 0 : self->next->samples + VOICE_LATE;
    for (uint32_t t = 0; t < n; t++) {
        const uint64_t at = self->since + t;
        rise[t] = at < warm ? 0 : risen(self, at - warm);
        fall[t] = 1 - rise[t];
    }
    if (inputs) {
        for (int c = 0; c < channels; c++)
            for (uint32_t t = 0; t < n; t++) {
                old_in[c][t] = fall[t] * in[c][t];
                in[c][t] *= rise[t];
            }
        /* The tail of the old voice is cut off softly when a third one waits. */
        const int cutting = self->waiting && self->since >= FADE;
        for (uint32_t t = 0; t < n; t++) fall[t] = 1 - (cutting ? risen(self, self->cut + t) : 0);
        if (cutting) self->cut += n;
        if (self->now) voice_run(self->now, old_in, out, fall, n);
        voice_run(self->next, in, out, even, n);
    } else {
        if (self->now) voice_run(self->now, in, out, fall, n);
        voice_run(self->next, in, out, rise, n);
    }
    self->since += n;
    const uint64_t tail = inputs && self->now ? self->now->samples + VOICE_LATE : 0;
    if (self->since >= warm + FADE + tail || self->cut >= FADE) finish(self);
}

void exchange_run(LV2_Handle handle, uint32_t n) {
    Exchange *self = handle;
    const int channels = self->kind->channels;
    read_control(self);
    float in[VOICE_CHANNELS][VOICE_BLOCK], out[VOICE_CHANNELS][VOICE_BLOCK];
    for (uint32_t done = 0; done < n;) {
        const uint32_t part = n - done < VOICE_BLOCK ? n - done : VOICE_BLOCK;
        /* A host may replace in place: so all inputs are read before an output is written. */
        for (int c = 0; c < channels; c++) memcpy(in[c], self->in[c] + done, part * sizeof(float));
        memset(out, 0, sizeof out);
        play(self, in, out, part);
        for (int c = 0; c < channels; c++) memcpy(self->out[c] + done, out[c], part * sizeof(float));
        done += part;
    }
    if (self->latency) *self->latency = VOICE_LATE;
    if (self->map) write_notify(self);
    if (self->worker) send_jobs(self);
}

/* ---- life ------------------------------------------------------------------------------------------- */

void exchange_cleanup(LV2_Handle handle) {
    Exchange *self = handle;
    if (self->stock) self->kind->close(self->stock);
    voice_destroy(self->now);
    voice_destroy(self->next);
    voice_destroy(self->waiting);
    for (Voice *voice = self->spent; voice;) {
        Voice *link = voice->link;
        voice_destroy(voice);
        voice = link;
    }
    pthread_mutex_destroy(&self->chosen_lock);
    free(self->chosen);
    free(self);
}

static void map_uris(Exchange *self) {
    LV2_URID_Map *map = self->map;
    self->uris = (Uris){
        .path = map->map(map->handle, LV2_ATOM__Path),
        .urid = map->map(map->handle, LV2_ATOM__URID),
        .sequence = map->map(map->handle, LV2_ATOM__Sequence),
        .set = map->map(map->handle, LV2_PATCH__Set),
        .get = map->map(map->handle, LV2_PATCH__Get),
        .property = map->map(map->handle, LV2_PATCH__property),
        .value = map->map(map->handle, LV2_PATCH__value),
        .file = map->map(map->handle, self->kind->file),
    };
    lv2_atom_forge_init(&self->forge, map);
}

LV2_Handle exchange_create(const Kind *kind, double rate, const char *bundle,
                           const LV2_Feature *const *features) {
    Exchange *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->kind = kind;
    pthread_mutex_init(&self->chosen_lock, NULL);
    LV2_Log_Log *log = NULL;
    static const LV2_Feature *const none[] = {NULL};
    lv2_features_query(features ? features : none, LV2_URID__map, &self->map, false, LV2_WORKER__schedule,
                       &self->worker, false, LV2_LOG__log, &log, false, NULL);
    lv2_log_logger_init(&self->logger, self->map, log);
    if (self->map) map_uris(self);
    for (int i = 0; i < FADE; i++) self->rise[i] = (float)(0.5 - 0.5 * cos(M_PI * (i + 0.5) / FADE));
    char reason[REASON] = "", path[LONGEST_PATH];
    self->stock = kind->open(bundle, rate, reason);
    if (!self->stock) {
        lv2_log_error(&self->logger, "%s: %s\n", bundle, reason);
        exchange_cleanup(self);
        return NULL;
    }
    if (!self->map || !self->worker)
        lv2_log_warning(&self->logger, "the host lacks urid:map or work:schedule: the file stays %s\n",
                        kind->initial);
    FILE *initial = NULL;
    if (snprintf(path, sizeof path, "%s/%s", bundle, kind->initial) < (int)sizeof path)
        initial = fopen(path, "rb");
    if (initial) {
        fclose(initial);
        self->now = load(self, path);
    }
    return self;
}

void exchange_connect(LV2_Handle handle, uint32_t port, void *data) {
    Exchange *self = handle;
    const uint32_t channels = (uint32_t)self->kind->channels;
    if (port == CONTROL) self->control = data;
    else if (port == NOTIFY) self->notify = data;
    else if (port < AUDIO + channels) self->in[port - AUDIO] = data;
    else if (port < AUDIO + 2 * channels) self->out[port - AUDIO - channels] = data;
    else self->latency = data;
}

void exchange_activate(LV2_Handle handle) {
    Exchange *self = handle;
    while (self->next) finish(self); /* silence: nothing to fade */
    if (!self->now) return;
    voice_reset(self->now);
    if (self->kind->fade == FADE_INPUTS) return;
    Voice *voice = self->now; /* warms up before it is heard */
    self->now = NULL;
    start(self, voice);
}

const void *exchange_extension(const char *uri) {
    static const LV2_Worker_Interface worker = {work, work_response, NULL};
    static const LV2_State_Interface state = {save, restore};
    if (!strcmp(uri, LV2_WORKER__interface)) return &worker;
    if (!strcmp(uri, LV2_STATE__interface)) return &state;
    return NULL;
}
