/* Reads requests until standard input ends. */
#include "tools/runner/runner.h"
#include <stdio.h>

static lw_status malformed(Buffer *reply) {
    put(reply, "malformed message", 17);
    return LW_INVALID_ARGUMENT;
}
/* The detail of a failed call. */
static lw_status failed(Buffer *reply, lw_status status) {
    const char *detail = lw_last_error();
    if (status != LW_OK) put(reply, detail, strlen(detail));
    return status;
}

static void close_all(Server *s) {
    for (int i = 0; i < most_streams; i++) end_stream(s->streams[i]);
    end_spotter(s->spotter);
    lw_runner_destroy(s->runner);
    close_model(s->model);
    memset(s, 0, sizeof *s);
}

static lw_status open_model(Server *s, Reader *in, Buffer *reply) {
    close_all(s);
    const uint32_t n = take_u32(in);
    const uint8_t *name = take(in, n);
    char variant[257] = "";
    if (!name || n >= sizeof variant) return malformed(reply);
    memcpy(variant, name, n);
    const lw_status status = open_bytes(n > 0 ? variant : NULL, in->at, in->left, &s->model);
    if (status != LW_OK) return failed(reply, status);
    put_u32(reply, wire_version);
    return failed(reply, describe(s->model, reply));
}

static lw_status run(Server *s, Reader *in, Buffer *reply) {
    enum { most = 64 };
    lw_run_tensor inputs[most], outputs[most];
    memset(inputs, 0, sizeof inputs);
    memset(outputs, 0, sizeof outputs);
    lw_model_info info = LW_MODEL_INFO_INIT;
    lw_status status = lw_model_get_info(s->model, &info);
    if (status == LW_OK && !s->runner) {
        lw_runner_options options = LW_RUNNER_OPTIONS_INIT;
        options.format = LW_F32;
        status = lw_runner_create(s->model, &options, &s->runner);
    }
    if (status != LW_OK) return failed(reply, status);
    if (info.inputs > most || info.run_outputs > most) return malformed(reply);
    for (uint32_t i = 0; i < info.inputs; i++) {
        inputs[i] = (lw_run_tensor)LW_RUN_TENSOR_INIT;
        inputs[i].rows = (size_t)take_u64(in);
        inputs[i].length = (size_t)take_u64(in);
        const uint64_t bytes = take_u64(in);
        lw_input_info input = LW_INPUT_INFO_INIT;
        lw_model_input(s->model, i, &input);
        const uint64_t row = input.kind == LW_INPUT_TOKENS ? 4 : 4 * (uint64_t)input.width;
        inputs[i].data = (void *)take(in, bytes);
        if (in->failed || inputs[i].rows > bytes / row) return malformed(reply);
    }
    /* Room for every row of the capacity; the rows that came say how much of it is told. */
    uint8_t *data[most] = {0};
    uint32_t widths[most];
    for (uint32_t i = 0; i < info.run_outputs; i++) {
        lw_output_info output = LW_OUTPUT_INFO_INIT;
        lw_model_run_output(s->model, i, &output);
        const uint64_t rows = output.clock_num == 0 ? 1 : (uint64_t)info.run_capacity * output.clock_num / output.clock_den + 1;
        widths[i] = output.width;
        outputs[i] = (lw_run_tensor)LW_RUN_TENSOR_INIT;
        outputs[i].rows = (size_t)rows;
        outputs[i].data = data[i] = (uint8_t *)malloc((size_t)(rows * output.width * 4));
        if (!data[i]) status = LW_NO_MEMORY;
    }
    if (status == LW_OK) status = failed(reply, lw_run(s->runner, inputs, info.inputs, outputs, info.run_outputs));
    for (uint32_t i = 0; i < info.run_outputs; i++) {
        if (status == LW_OK) {
            put_u64(reply, outputs[i].rows);
            put(reply, data[i], outputs[i].rows * widths[i] * 4);
        }
        free(data[i]);
    }
    return status;
}

static lw_status put_rows(lw_stream *stream, Buffer *reply) {
    lw_stream_row row = LW_STREAM_ROW_INIT;
    lw_status status;
    while ((status = lw_stream_pull(stream, &row)) == LW_OK) {
        put_u32(reply, row.index);
        put_u32(reply, row.width);
        put_u64(reply, row.row);
        put(reply, row.data, row.width * sizeof *row.data);
    }
    return status == LW_AGAIN || status == LW_END ? LW_OK : failed(reply, status);
}

/* Samples of a message: `ticks` of them, whose size follows from what is left. NULL: malformed. */
static const uint8_t *take_samples(Reader *in, uint64_t *ticks, size_t *each) {
    *ticks = take_u64(in);
    if (in->failed || (*ticks > 0 && in->left % *ticks != 0) || (*ticks == 0 && in->left > 0)) return NULL;
    *each = *ticks > 0 ? (size_t)(in->left / *ticks) : 0;
    return in->at;
}

static lw_status push(lw_stream *stream, Reader *in, Buffer *reply) {
    uint64_t ticks;
    size_t each;
    const uint8_t *at = take_samples(in, &ticks, &each);
    if (!at) return malformed(reply);
    while (ticks > 0) {
        size_t taken = 0;
        const lw_status pushed = lw_stream_push(stream, at, (size_t)ticks, &taken);
        if (pushed != LW_OK) return failed(reply, pushed);
        const size_t before = reply->size;
        const lw_status pulled = put_rows(stream, reply);
        if (pulled != LW_OK) return pulled;
        if (taken == 0 && reply->size == before) return malformed(reply);
        at += taken * each;
        ticks -= taken;
    }
    return LW_OK;
}

static lw_status save(const lw_stream *stream, Buffer *reply) {
    size_t size = 0;
    lw_status status = lw_stream_save(stream, NULL, 0, &size);
    if (status != LW_OK) return failed(reply, status);
    uint8_t *to = buffer_grow(reply, size);
    if (!to) return LW_NO_MEMORY;
    status = lw_stream_save(stream, to, size, &size);
    if (status == LW_OK) return LW_OK;
    reply->size = 0;
    return failed(reply, status);
}

static lw_status listen_to(Server *s, Reader *in, Buffer *reply) {
    uint64_t n;
    size_t each;
    const uint8_t *at = take_samples(in, &n, &each);
    if (!at || !s->spotter) return malformed(reply);
    lw_status status = n == 0 ? lw_spotter_finish(s->spotter) : LW_OK;
    do {
        size_t taken = 0;
        if (status == LW_OK && n > 0) status = lw_spotter_push(s->spotter, at, (size_t)n, &taken);
        if (status != LW_OK) return failed(reply, status);
        at += taken * each;
        n -= taken;
        lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
        while ((status = lw_spotter_pull(s->spotter, &event)) == LW_OK) {
            put_text(reply, event.word);
            put_f64(reply, event.score);
            put_u64(reply, event.tick);
            put_u64(reply, event.tick_start);
        }
        status = status == LW_AGAIN || status == LW_END ? LW_OK : status;
    } while (n > 0);
    return failed(reply, status);
}

static lw_status create_stream(Server *s, Reader *in, uint32_t *which, Buffer *reply) {
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.block = take_u32(in);
    options.format = (lw_sample_format)take_u32(in);
    uint32_t free_one = 0;
    while (free_one < most_streams && s->streams[free_one]) free_one++;
    if (in->failed || free_one == most_streams) return malformed(reply);
    *which = free_one;
    return failed(reply, new_stream(s->model, &options, &s->streams[free_one]));
}

static lw_status create_spotter(Server *s, Reader *in, Buffer *reply) {
    end_spotter(s->spotter);
    s->spotter = NULL;
    lw_spotter_options options = LW_SPOTTER_OPTIONS_INIT;
    options.format = (lw_sample_format)take_u32(in);
    return failed(reply, new_spotter(s->model, &options, &s->spotter));
}

static lw_status of_stream(Server *s, uint32_t what, uint32_t which, Reader *in, Buffer *reply) {
    lw_stream *stream = which < most_streams ? s->streams[which] : NULL;
    if (!stream) return malformed(reply);
    lw_status status;
    switch (what) {
    case wire_push: return push(stream, in, reply);
    case wire_finish: return (status = lw_stream_finish(stream)) == LW_OK ? put_rows(stream, reply) : failed(reply, status);
    case wire_reset: return failed(reply, lw_stream_reset(stream));
    case wire_prefill: {
        uint64_t ticks;
        size_t each;
        const uint8_t *at = take_samples(in, &ticks, &each);
        return at ? failed(reply, lw_stream_prefill(stream, at, (size_t)ticks)) : malformed(reply);
    }
    case wire_save: return save(stream, reply);
    case wire_load: return failed(reply, lw_stream_load(stream, in->at, in->left));
    case wire_copy: {
        const uint32_t from = take_u32(in);
        if (in->failed || from >= most_streams || !s->streams[from]) return malformed(reply);
        return failed(reply, lw_stream_copy(stream, s->streams[from]));
    }
    case wire_close:
        end_stream(stream);
        s->streams[which] = NULL;
        return LW_OK;
    default: return malformed(reply);
    }
}

static lw_status serve(Server *s, uint32_t what, uint32_t *which, Reader *in, Buffer *reply) {
    if (what == wire_open) return open_model(s, in, reply);
    if (!s->model) return malformed(reply);
    switch (what) {
    case wire_verify: {
        double worst = 0;
        const lw_status status = verify_model(s->model, &worst);
        if (status == LW_OK) put_f64(reply, worst);
        return failed(reply, status);
    }
    case wire_run: return run(s, in, reply);
    case wire_stream: return create_stream(s, in, which, reply);
    case wire_spotter: return create_spotter(s, in, reply);
    case wire_listen: return listen_to(s, in, reply);
    default: return of_stream(s, what, *which, in, reply);
    }
}

int main(void) {
    Server server;
    memset(&server, 0, sizeof server);
    Buffer message = {0}, reply = {0};
    struct {
        uint32_t what, which;
        uint64_t bytes;
    } head;
    int good = 1;
    while (good && fread(&head, sizeof head, 1, stdin) == 1) {
        message.size = reply.size = 0;
        message.failed = reply.failed = 0;
        uint8_t *to = head.bytes > SIZE_MAX / 4 ? NULL : buffer_grow(&message, (size_t)head.bytes);
        if (!to && head.bytes > 0) break;
        if (head.bytes > 0 && fread(to, (size_t)head.bytes, 1, stdin) != 1) break;
        Reader in = {message.data, message.size, 0};
        const lw_status status = serve(&server, head.what, &head.which, &in, &reply);
        const int32_t told = reply.failed ? LW_NO_MEMORY : (int32_t)status;
        head.what = (uint32_t)told;
        head.bytes = reply.failed ? 0 : reply.size;
        good = fwrite(&head, sizeof head, 1, stdout) == 1 && (head.bytes == 0 || fwrite(reply.data, reply.size, 1, stdout) == 1) &&
               fflush(stdout) == 0;
    }
    close_all(&server);
    free(message.data);
    free(reply.data);
    return good ? 0 : 1;
}
