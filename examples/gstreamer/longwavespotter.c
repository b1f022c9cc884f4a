/* longwavespotter: keywords as messages on the bus of a GStreamer pipeline. The audio passes
 * unchanged.
 *
 *     gst-launch-1.0 -m alsasrc ! audioconvert ! audioresample ! longwavespotter model=kws.lw ! fakesink
 *
 * A message "longwave-keyword" has the fields word, score, t and t-start (seconds of audio). A .lw
 * file contains machine code: name only files of your own.
 */
#include <gst/audio/audio-format.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <longwave/spotter.h>

#define SPOTTER_TYPE (spotter_get_type())
G_DECLARE_FINAL_TYPE(Spotter, spotter, LONGWAVE, SPOTTER, GstBaseTransform)

struct _Spotter {
    GstBaseTransform parent;
    char *path; /* property "model" */
    lw_model *model;
    lw_spotter *spotter;
    guint rate;
};
G_DEFINE_TYPE(Spotter, spotter, GST_TYPE_BASE_TRANSFORM)

enum { MODEL = 1 };

#define AUDIO "audio/x-raw, format=" GST_AUDIO_NE(S16) ", layout=interleaved, channels=1, rate="

/* Ends the pipeline with the reason. */
static gboolean failed(Spotter *self, const char *what, lw_status status) {
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s: %s (%s)", what, lw_status_text(status), lw_last_error()),
                      (NULL));
    return FALSE;
}

/* Posts the words that were recognised. */
static gboolean post_words(Spotter *self) {
    lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
    lw_status status;
    while ((status = lw_spotter_pull(self->spotter, &event)) == LW_OK) {
        GstStructure *word =
            gst_structure_new("longwave-keyword", "word", G_TYPE_STRING, event.word, "score", G_TYPE_DOUBLE,
                              (double)event.score, "t", G_TYPE_DOUBLE, (double)event.tick / self->rate,
                              "t-start", G_TYPE_DOUBLE, (double)event.tick_start / self->rate, NULL);
        gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), word));
    }
    return status == LW_AGAIN || status == LW_END || failed(self, "pull", status);
}

static GstFlowReturn hear(GstBaseTransform *base, GstBuffer *buffer) {
    Spotter *self = LONGWAVE_SPOTTER(base);
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return GST_FLOW_ERROR;
    const gint16 *samples = (const gint16 *)map.data;
    size_t left = map.size / sizeof *samples, taken = 0;
    gboolean ok = TRUE;
    while (ok && left > 0) { /* push takes less only while events wait */
        const lw_status status = lw_spotter_push(self->spotter, samples, left, &taken);
        ok = status == LW_OK ? post_words(self) : failed(self, "push", status);
        samples += taken, left -= taken;
    }
    gst_buffer_unmap(buffer, &map);
    return ok ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static gboolean start(GstBaseTransform *base) {
    Spotter *self = LONGWAVE_SPOTTER(base);
    if (!self->path) {
        GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("longwavespotter needs the property model=FILE.lw"),
                          (NULL));
        return FALSE;
    }
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1; /* the user named the file */
    lw_status status = lw_model_open(self->path, &open, &self->model);
    if (status) return failed(self, self->path, status);
    lw_input_info input = LW_INPUT_INFO_INIT;
    if ((status = lw_model_input(self->model, 0, &input)) != LW_OK) return failed(self, self->path, status);
    lw_spotter_options how = LW_SPOTTER_OPTIONS_INIT;
    how.format = LW_S16;
    if ((status = lw_spotter_create(self->model, &how, &self->spotter)) != LW_OK)
        return failed(self, self->path, status);
    self->rate = input.sample_rate;
    return TRUE;
}

static gboolean stop(GstBaseTransform *base) {
    Spotter *self = LONGWAVE_SPOTTER(base);
    lw_spotter_destroy(self->spotter);
    lw_model_close(self->model);
    self->spotter = NULL;
    self->model = NULL;
    return TRUE;
}

/* Both sides carry audio as the model wants it, so audioresample in front knows the rate. */
static GstCaps *allowed(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter) {
    Spotter *self = LONGWAVE_SPOTTER(base);
    (void)direction;
    GstCaps *result = gst_caps_copy(caps);
    if (self->model) {
        GstCaps *model = gst_caps_from_string(AUDIO "1");
        gst_caps_set_simple(model, "rate", G_TYPE_INT, (gint)self->rate, NULL);
        gst_caps_take(&result, gst_caps_intersect(result, model));
        gst_caps_unref(model);
    }
    if (filter) gst_caps_take(&result, gst_caps_intersect(result, filter));
    return result;
}

/* The end of the stream: the words in the last incomplete block. After a seek: a new stream. */
static gboolean on_event(GstBaseTransform *base, GstEvent *event) {
    Spotter *self = LONGWAVE_SPOTTER(base);
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && self->spotter) {
        const lw_status status = lw_spotter_finish(self->spotter);
        if (status == LW_OK) post_words(self);
        else failed(self, "finish", status);
    }
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP && self->spotter) lw_spotter_reset(self->spotter);
    return GST_BASE_TRANSFORM_CLASS(spotter_parent_class)->sink_event(base, event);
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    Spotter *self = LONGWAVE_SPOTTER(object);
    if (id != MODEL) {
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
        return;
    }
    g_free(self->path);
    self->path = g_value_dup_string(value);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    if (id == MODEL) g_value_set_string(value, LONGWAVE_SPOTTER(object)->path);
    else G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

static void finalize(GObject *object) {
    g_free(LONGWAVE_SPOTTER(object)->path);
    G_OBJECT_CLASS(spotter_parent_class)->finalize(object);
}

static GstStaticPadTemplate sink =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(AUDIO "[1, MAX]"));
static GstStaticPadTemplate source =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(AUDIO "[1, MAX]"));

static void spotter_class_init(SpotterClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    g_object_class_install_property(object, MODEL,
                                    g_param_spec_string("model", "Model", "Compiled keyword model (.lw)",
                                                        NULL, G_PARAM_READWRITE | GST_PARAM_MUTABLE_READY));
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    gst_element_class_set_static_metadata(element, "Longwave keyword spotter", "Analyzer/Audio",
                                          "Posts a message for each keyword in the audio", "Longwave");
    gst_element_class_add_static_pad_template(element, &sink);
    gst_element_class_add_static_pad_template(element, &source);
    GstBaseTransformClass *transform = GST_BASE_TRANSFORM_CLASS(class);
    transform->passthrough_on_same_caps = TRUE;
    transform->transform_ip_on_passthrough = TRUE;
    transform->start = start;
    transform->stop = stop;
    transform->transform_caps = allowed;
    transform->sink_event = on_event;
    transform->transform_ip = hear;
}

static void spotter_init(Spotter *self) { (void)self; /* GObject clears the fields */ }

static gboolean register_element(GstPlugin *plugin) {
    return gst_element_register(plugin, "longwavespotter", GST_RANK_NONE, SPOTTER_TYPE);
}

#define PACKAGE "longwave"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, longwavespotter, "Keywords in audio",
                  register_element, "0.2.0", "Apache 2.0", "longwave", "longwave")
