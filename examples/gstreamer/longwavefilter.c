/* longwavefilter: audio through a model with audio in and audio out, such as a denoiser.
 *
 *     gst-launch-1.0 alsasrc ! audioconvert ! longwavefilter model=dtln.lw ! audioconvert ! autoaudiosink
 *
 * It takes any sample rate, and converts where the model has another one. Each sample leaves with
 * its own time, so nothing is shifted: the element reports the latency, and at the end it gives the
 * samples that it held back. A .lw file contains machine code: name only files of your own.
 */
#include <gst/audio/audio.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <longwave/audio_stream.h>

#define FILTER_TYPE (filter_get_type())
G_DECLARE_FINAL_TYPE(Filter, filter, LONGWAVE, FILTER, GstBaseTransform)

struct _Filter {
    GstBaseTransform parent;
    char *path; /* property "model" */
    lw_model *model;
    lw_audio_stream *stream; /* of the negotiated rate */
    guint rate, latency;     /* latency: samples */
    GstClockTime first;      /* time of sample 0 of the stream */
    guint64 given;           /* samples that left since then */
};
G_DEFINE_TYPE(Filter, filter, GST_TYPE_BASE_TRANSFORM)

enum { MODEL = 1 };

#define AUDIO "audio/x-raw, format=" GST_AUDIO_NE(F32) ", layout=interleaved, channels=1, rate=[1000, 768000]"

/* Ends the pipeline with the reason. */
static gboolean failed(Filter *self, const char *what, lw_status status) {
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s: %s (%s)", what, lw_status_text(status), lw_last_error()),
                      (NULL));
    return FALSE;
}

/* Fills the buffer with at most `room` samples from `done` on, as many as are ready. */
static lw_status pull(Filter *self, float *to, gsize room, gsize *done) {
    lw_status status = LW_OK;
    while (status == LW_OK && *done < room) {
        size_t n = 0;
        status = lw_audio_stream_pull(self->stream, to + *done, room - *done, &n);
        *done += n;
    }
    return status == LW_AGAIN || status == LW_END ? LW_OK : status;
}

/* The time of the next n samples. */
static void stamp(Filter *self, GstBuffer *buffer, gsize n) {
    const guint64 end = self->given + n;
    GST_BUFFER_PTS(buffer) =
        self->first + gst_util_uint64_scale_int(self->given, GST_SECOND, (gint)self->rate);
    GST_BUFFER_DURATION(buffer) =
        self->first + gst_util_uint64_scale_int(end, GST_SECOND, (gint)self->rate) - GST_BUFFER_PTS(buffer);
    GST_BUFFER_OFFSET(buffer) = self->given;
    GST_BUFFER_OFFSET_END(buffer) = end;
    self->given = end;
}

/* No sample was taken since the last reset. */
static void begin(Filter *self) {
    self->first = GST_CLOCK_TIME_NONE;
    self->given = 0;
}

/* Sends the samples that were held back, and begins anew. */
static GstFlowReturn drain(Filter *self) {
    GstFlowReturn flow = GST_FLOW_OK;
    if (!self->stream || !GST_CLOCK_TIME_IS_VALID(self->first)) return flow;
    lw_status status = lw_audio_stream_finish(self->stream);
    gsize n = 0;
    GstBuffer *rest = gst_buffer_new_allocate(NULL, (self->latency + 1) * sizeof(float), NULL);
    GstMapInfo map;
    if (rest && gst_buffer_map(rest, &map, GST_MAP_WRITE)) {
        if (status == LW_OK) status = pull(self, (float *)map.data, self->latency + 1, &n);
        gst_buffer_unmap(rest, &map);
    }
    if (status != LW_OK) failed(self, "finish", status), flow = GST_FLOW_ERROR;
    if (status == LW_OK && n > 0) {
        gst_buffer_set_size(rest, (gssize)(n * sizeof(float)));
        stamp(self, rest, n);
        flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), rest);
    } else if (rest) {
        gst_buffer_unref(rest);
    }
    lw_audio_stream_reset(self->stream);
    begin(self);
    return flow;
}

static GstFlowReturn transform(GstBaseTransform *base, GstBuffer *in, GstBuffer *out) {
    Filter *self = LONGWAVE_FILTER(base);
    if (GST_BUFFER_IS_DISCONT(in)) {
        const GstFlowReturn flow = drain(self);
        if (flow != GST_FLOW_OK) return flow;
    }
    if (!GST_CLOCK_TIME_IS_VALID(self->first))
        self->first = GST_BUFFER_PTS_IS_VALID(in) ? GST_BUFFER_PTS(in) : 0;
    GstMapInfo from, to;
    if (!gst_buffer_map(in, &from, GST_MAP_READ)) return GST_FLOW_ERROR;
    if (!gst_buffer_map(out, &to, GST_MAP_WRITE)) return gst_buffer_unmap(in, &from), GST_FLOW_ERROR;
    const float *samples = (const float *)from.data;
    gsize left = from.size / sizeof *samples, n = 0;
    lw_status status = LW_OK;
    while (status == LW_OK && left > 0) { /* push takes less only while samples wait */
        size_t taken = 0;
        status = lw_audio_stream_push(self->stream, samples, left, &taken);
        if (status == LW_OK) status = pull(self, (float *)to.data, to.size / sizeof(float), &n);
        samples += taken, left -= taken;
    }
    gst_buffer_unmap(out, &to);
    gst_buffer_unmap(in, &from);
    if (status != LW_OK) return failed(self, "push", status), GST_FLOW_ERROR;
    if (n == 0) return GST_BASE_TRANSFORM_FLOW_DROPPED; /* nothing is ready yet */
    gst_buffer_set_size(out, (gssize)(n * sizeof(float)));
    stamp(self, out, n);
    return GST_FLOW_OK;
}

/* With a buffer may come all that was held back before. */
static gboolean transform_size(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, gsize size,
                               GstCaps *other, gsize *other_size) {
    (void)direction, (void)caps, (void)other;
    *other_size = size + LONGWAVE_FILTER(base)->latency * sizeof(float);
    return TRUE;
}

static gboolean set_caps(GstBaseTransform *base, GstCaps *in, GstCaps *out) {
    Filter *self = LONGWAVE_FILTER(base);
    (void)out;
    GstAudioInfo info;
    if (!gst_audio_info_from_caps(&info, in)) return FALSE;
    drain(self);
    lw_audio_stream_destroy(self->stream);
    self->stream = NULL;
    lw_audio_stream_options how = LW_AUDIO_STREAM_OPTIONS_INIT;
    how.format = LW_F32;
    how.rate_in = how.rate_out = self->rate = (guint)info.rate;
    const lw_status status = lw_audio_stream_create(self->model, &how, &self->stream);
    if (status != LW_OK) return failed(self, self->path, status);
    self->latency = lw_audio_stream_latency(self->stream);
    begin(self);
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
    return TRUE;
}

/* The latency of what is in front, and ours. */
static gboolean on_query(GstBaseTransform *base, GstPadDirection direction, GstQuery *query) {
    Filter *self = LONGWAVE_FILTER(base);
    if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY || direction != GST_PAD_SRC || self->rate == 0)
        return GST_BASE_TRANSFORM_CLASS(filter_parent_class)->query(base, direction, query);
    if (!gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(base), query)) return FALSE;
    gboolean live;
    GstClockTime least, most;
    gst_query_parse_latency(query, &live, &least, &most);
    const GstClockTime own = gst_util_uint64_scale_round(self->latency, GST_SECOND, self->rate);
    if (GST_CLOCK_TIME_IS_VALID(most)) most += own;
    gst_query_set_latency(query, live, least + own, most);
    return TRUE;
}

/* The end of the stream: the last samples. After a seek: a new stream. */
static gboolean on_event(GstBaseTransform *base, GstEvent *event) {
    Filter *self = LONGWAVE_FILTER(base);
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) drain(self);
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP && self->stream)
        lw_audio_stream_reset(self->stream), begin(self);
    return GST_BASE_TRANSFORM_CLASS(filter_parent_class)->sink_event(base, event);
}

static gboolean start(GstBaseTransform *base) {
    Filter *self = LONGWAVE_FILTER(base);
    if (!self->path) {
        GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("longwavefilter needs the property model=FILE.lw"),
                          (NULL));
        return FALSE;
    }
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1; /* the user named the file */
    const lw_status status = lw_model_open(self->path, &open, &self->model);
    return status == LW_OK || failed(self, self->path, status);
}

static gboolean stop(GstBaseTransform *base) {
    Filter *self = LONGWAVE_FILTER(base);
    lw_audio_stream_destroy(self->stream);
    lw_model_close(self->model);
    self->stream = NULL;
    self->model = NULL;
    self->rate = 0;
    return TRUE;
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    Filter *self = LONGWAVE_FILTER(object);
    if (id != MODEL) {
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
        return;
    }
    g_free(self->path);
    self->path = g_value_dup_string(value);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    if (id == MODEL) g_value_set_string(value, LONGWAVE_FILTER(object)->path);
    else G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

static void finalize(GObject *object) {
    g_free(LONGWAVE_FILTER(object)->path);
    G_OBJECT_CLASS(filter_parent_class)->finalize(object);
}

static GstStaticPadTemplate sink =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(AUDIO));
static GstStaticPadTemplate source =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(AUDIO));

static void filter_class_init(FilterClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    g_object_class_install_property(object, MODEL,
                                    g_param_spec_string("model", "Model",
                                                        "Compiled model with audio in and audio out (.lw)",
                                                        NULL, G_PARAM_READWRITE | GST_PARAM_MUTABLE_READY));
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    gst_element_class_set_static_metadata(element, "Longwave audio filter", "Filter/Effect/Audio",
                                          "Audio through a model, such as a denoiser", "Longwave");
    gst_element_class_add_static_pad_template(element, &sink);
    gst_element_class_add_static_pad_template(element, &source);
    GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
    base->start = start;
    base->stop = stop;
    base->set_caps = set_caps;
    base->transform_size = transform_size;
    base->query = on_query;
    base->sink_event = on_event;
    base->transform = transform;
}

static void filter_init(Filter *self) { begin(self); /* GObject clears the other fields */ }

static gboolean register_element(GstPlugin *plugin) {
    return gst_element_register(plugin, "longwavefilter", GST_RANK_NONE, FILTER_TYPE);
}

#define PACKAGE "longwave"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, longwavefilter, "Audio through a model",
                  register_element, "0.2.0", "Apache 2.0", "longwave", "longwave")
