/* gstreamer_probe RATE SAMPLES ELEMENT: a pipeline of one element, named f, between floats from standard
 * input, SAMPLES in a buffer, and standard output. Prints on standard error, as JSON: the latency that it
 * reports in nanoseconds, the most samples that were in it between two buffers, and how many buffers had not
 * the time of their first sample. */
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>

static guint64 samples_in, samples_out, longest, wrong_times; /* the source's thread alone changes them */
static int rate;

static GstPadProbeReturn came(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
    (void)pad, (void)data;
    if (samples_in - samples_out > longest) longest = samples_in - samples_out;
    samples_in += gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info)) / 4;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn left(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
    (void)pad, (void)data;
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    const GstClockTime expected = gst_util_uint64_scale_int(samples_out, GST_SECOND, rate);
    wrong_times += GST_BUFFER_PTS(buffer) != expected || GST_BUFFER_OFFSET(buffer) != samples_out;
    samples_out += gst_buffer_get_size(buffer) / 4;
    return GST_PAD_PROBE_OK;
}

static void watch(GstElement *element, const char *name, GstPadProbeCallback probe) {
    GstPad *pad = gst_element_get_static_pad(element, name);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, NULL, NULL);
    gst_object_unref(pad);
}

int main(int argc, char **argv) {
    gst_init(&argc, &argv);
    if (argc != 4) return 2;
    rate = atoi(argv[1]);
    const gsize per_buffer = (gsize)atoi(argv[2]);
    gchar *text = g_strdup_printf(
        "appsrc name=from format=time max-bytes=0 caps=audio/x-raw,format=F32LE,layout=interleaved,"
        "channels=1,rate=%d ! %s name=f ! appsink name=to sync=false",
        rate, argv[3]);
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch(text, &error);
    if (error) return fprintf(stderr, "%s\n", error->message), 1;
    GstElement *from = gst_bin_get_by_name(GST_BIN(pipeline), "from"),
               *to = gst_bin_get_by_name(GST_BIN(pipeline), "to"),
               *element = gst_bin_get_by_name(GST_BIN(pipeline), "f");
    watch(element, "sink", came);
    watch(element, "src", left);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    float *samples = malloc(per_buffer * sizeof *samples);
    guint64 pushed = 0;
    for (size_t n; (n = fread(samples, sizeof *samples, per_buffer, stdin)) > 0; pushed += n) {
        GstBuffer *buffer = gst_buffer_new_memdup(samples, n * sizeof *samples);
        GST_BUFFER_PTS(buffer) = gst_util_uint64_scale_int(pushed, GST_SECOND, rate);
        gst_app_src_push_buffer(GST_APP_SRC(from), buffer);
    }
    gst_app_src_end_of_stream(GST_APP_SRC(from));
    for (GstSample *sample; (sample = gst_app_sink_pull_sample(GST_APP_SINK(to))); gst_sample_unref(sample)) {
        GstMapInfo map;
        if (!gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ)) return 1;
        fwrite(map.data, 1, map.size, stdout);
        gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
    }
    GstQuery *query = gst_query_new_latency();
    GstPad *pad = gst_element_get_static_pad(element, "src");
    GstClockTime latency = GST_CLOCK_TIME_NONE;
    if (gst_pad_query(pad, query)) gst_query_parse_latency(query, NULL, &latency, NULL);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    fprintf(stderr,
            "{\"latency\": %" G_GUINT64_FORMAT ", \"longest\": %" G_GUINT64_FORMAT
            ", \"wrong_times\": %" G_GUINT64_FORMAT "}\n",
            latency, longest, wrong_times);
    return samples_out == pushed ? 0 : 1;
}
