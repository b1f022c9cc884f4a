/* A capture device for tests, as a plug-in of ALSA: it plays raw samples at a speed and fails when
 * it is told to.
 *
 *   pcm_type.scripted { lib "/path/to/this.so" }
 *   pcm.mic { type scripted infile "samples.raw" rate 16000 channels 1 speed 20 overrun 8000 sleep 24000 }
 *
 * `overrun` and `sleep`: after so many frames the device reports an overrun, or that the machine
 * slept. After the last frame it is unplugged. No frame is lost by a failure, so whoever recovers
 * hears all of them. With a `speed` (1: real time) a reader that is slower than the device causes
 * an overrun as well. Without one the device waits.
 */
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    snd_pcm_ioplug_t io;
    int file;
    long rate, channels, speed, overrun, sleep;
    long long given, total;     /* frames */
    long long base, base_given; /* when the device started, and what it had given then */
} Device;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int start(snd_pcm_ioplug_t *io) {
    Device *device = io->private_data;
    device->base = now_ns();
    device->base_given = device->given;
    return 0;
}

static int stop(snd_pcm_ioplug_t *io) {
    (void)io;
    return 0;
}

/* Is a failure due that happens once, after `*at` frames? */
static int due(const Device *device, long *at) {
    if (*at < 0 || device->given < *at) return 0;
    *at = -1;
    return 1;
}

static snd_pcm_sframes_t pointer(snd_pcm_ioplug_t *io) {
    Device *device = io->private_data;
    if (due(device, &device->overrun)) return -EPIPE;
    const long long made =
        device->speed == 0
            ? device->given + (long long)io->buffer_size / 2
            : device->base_given + (now_ns() - device->base) / 1000 * device->rate * device->speed / 1000000;
    if (made - device->given > (long long)io->buffer_size) return -EPIPE; /* the reader was too slow */
    return (made - device->base_given) % (long long)io->buffer_size;
}

static snd_pcm_sframes_t transfer(snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas,
                                  snd_pcm_uframes_t offset, snd_pcm_uframes_t size) {
    Device *device = io->private_data;
    if (device->given >= device->total) return -ENODEV;
    if (due(device, &device->sleep)) {
        snd_pcm_ioplug_set_state(io, SND_PCM_STATE_SUSPENDED);
        return -ESTRPIPE;
    }
    const size_t frame = 2 * (size_t)device->channels;
    char *to = (char *)areas->addr + (areas->first + areas->step * offset) / 8;
    const ssize_t n = pread(device->file, to, size * frame, (off_t)(device->given * (long long)frame));
    if (n < 0) return -errno;
    device->given += n / (ssize_t)frame;
    return n / (ssize_t)frame;
}

static int poll_revents(snd_pcm_ioplug_t *io, struct pollfd *files, unsigned int n, unsigned short *events) {
    uint64_t ticks;
    (void)!read(files[0].fd, &ticks, sizeof ticks);
    *events = POLLIN;
    return (void)io, (void)n, 0;
}

static int prepare(snd_pcm_ioplug_t *io) { return start(io); }

static int resume(snd_pcm_ioplug_t *io) {
    (void)io;
    return -ENOSYS; /* as most drivers: the reader has to prepare the device again */
}

static int close_device(snd_pcm_ioplug_t *io) {
    Device *device = io->private_data;
    close(device->io.poll_fd);
    close(device->file);
    free(device);
    return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {.start = start,
                                                    .stop = stop,
                                                    .pointer = pointer,
                                                    .transfer = transfer,
                                                    .poll_revents = poll_revents,
                                                    .prepare = prepare,
                                                    .resume = resume,
                                                    .close = close_device};

SND_PCM_PLUGIN_DEFINE_FUNC(scripted) {
    (void)root;
    Device *device = calloc(1, sizeof *device);
    if (!device) return -ENOMEM;
    device->rate = 16000, device->channels = 1, device->overrun = device->sleep = -1;
    const char *infile = "";
    snd_config_iterator_t i, next;
    snd_config_for_each(i, next, conf) {
        snd_config_t *entry = snd_config_iterator_entry(i);
        const char *id;
        if (snd_config_get_id(entry, &id) < 0) continue;
        if (strcmp(id, "infile") == 0) snd_config_get_string(entry, &infile);
        else if (strcmp(id, "rate") == 0) snd_config_get_integer(entry, &device->rate);
        else if (strcmp(id, "channels") == 0) snd_config_get_integer(entry, &device->channels);
        else if (strcmp(id, "speed") == 0) snd_config_get_integer(entry, &device->speed);
        else if (strcmp(id, "overrun") == 0) snd_config_get_integer(entry, &device->overrun);
        else if (strcmp(id, "sleep") == 0) snd_config_get_integer(entry, &device->sleep);
    }
    device->file = open(infile, O_RDONLY | O_CLOEXEC);
    if (device->file < 0) {
        free(device);
        return -ENOENT;
    }
    device->total = lseek(device->file, 0, SEEK_END) / (2 * device->channels);

    const struct itimerspec every = {{0, 2000000}, {0, 2000000}};
    device->io.version = SND_PCM_IOPLUG_VERSION;
    device->io.name = "scripted capture";
    device->io.poll_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    timerfd_settime(device->io.poll_fd, 0, &every, NULL);
    device->io.poll_events = POLLIN;
    device->io.callback = &callbacks;
    device->io.private_data = device;
    int error = snd_pcm_ioplug_create(&device->io, name, stream, mode);
    if (error < 0) {
        close_device(&device->io);
        return error;
    }
    const unsigned accesses[] = {SND_PCM_ACCESS_RW_INTERLEAVED}, formats[] = {SND_PCM_FORMAT_S16_LE};
    snd_pcm_ioplug_set_param_list(&device->io, SND_PCM_IOPLUG_HW_ACCESS, 1, accesses);
    snd_pcm_ioplug_set_param_list(&device->io, SND_PCM_IOPLUG_HW_FORMAT, 1, formats);
    snd_pcm_ioplug_set_param_minmax(&device->io, SND_PCM_IOPLUG_HW_RATE, (unsigned)device->rate,
                                    (unsigned)device->rate);
    snd_pcm_ioplug_set_param_minmax(&device->io, SND_PCM_IOPLUG_HW_CHANNELS, (unsigned)device->channels,
                                    (unsigned)device->channels);
    *pcmp = device->io.pcm;
    return 0;
}
SND_PCM_PLUGIN_SYMBOL(scripted);
