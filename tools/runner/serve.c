/* Requests and their replies. Sizes are checked against the open model before they are used. */
#include "tools/runner/runner.h"

static lw_status malformed(Buffer *reply) {
    put(reply, "malformed message", 17);
    return LW_INVALID_ARGUMENT;
}
/* The detail of a failed call. */
static lw_status failed(Buffer *reply, lw_status status) {
    const char *detail = lw_last_error();
    const size_t n = strlen(detail);
    if (status != LW_OK) put(reply, detail, n < wire_text ? n : wire_text);
    return status;
}

void close_all(Server *s) {
    for (int i = 0; i < wire_streams; i++)
        if (s->streams[i].stream) end_stream(s->streams[i].stream);
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
    return LW_OK;
}

/* Bytes of one tick of an input. */
static size_t tick_bytes_of(const lw_model *model, uint32_t input, lw_sample_format format) {
    lw_input_info info = LW_INPUT_INFO_INIT;
    if (lw_model_input(model, input, &info) != LW_OK) return 0;
    return info.kind == LW_INPUT_TOKENS ? 4 : (format == LW_S16 ? 2 : 4) * (size_t)info.width;
}

enum { most_tensors = 64 };

/* Each input has as many bytes as its rows take. */
static int take_tensors(Server *s, Reader *in, uint32_t n, lw_run_tensor *tensors) {
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t rows = take_u64(in), length = take_u64(in), bytes = take_u64(in);
        const size_t row = tick_bytes_of(s->model, i, LW_F32);
        tensors[i] = (lw_run_tensor)LW_RUN_TENSOR_INIT;
        tensors[i].data = (void *)take(in, bytes);
        if (in->failed || row == 0 || bytes % row != 0 || rows != bytes / row || length > rows) return 0;
        tensors[i].rows = (size_t)rows;
        tensors[i].length = (size_t)length;
    }
    return in->left == 0;
}

static lw_status run(Server *s, Reader *in, Buffer *reply) {
    lw_run_tensor inputs[most_tensors], outputs[most_tensors];
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
    if (info.inputs > most_tensors || info.run_outputs > most_tensors ||
        !take_tensors(s, in, info.inputs, inputs))
        return malformed(reply);
    /* Room for every row of the capacity; the rows that came say how much of it is told. */
    uint8_t *data[most_tensors] = {0};
    size_t row_bytes[most_tensors];
    for (uint32_t i = 0; i < info.run_outputs; i++) {
        lw_output_info output = LW_OUTPUT_INFO_INIT;
        lw_model_run_output(s->model, i, &output);
        const uint64_t rows =
            output.clock_num == 0 ? 1 : (uint64_t)info.run_capacity * output.clock_num / output.clock_den + 1;
        row_bytes[i] = (size_t)output.width * 4;
        outputs[i] = (lw_run_tensor)LW_RUN_TENSOR_INIT;
        outputs[i].rows = (size_t)rows;
        if (row_bytes[i] > 0 && rows <= SIZE_MAX / 2 / row_bytes[i])
            data[i] = (uint8_t *)malloc((size_t)rows * row_bytes[i]);
        outputs[i].data = data[i];
        if (!data[i]) status = LW_NO_MEMORY;
    }
    if (status == LW_OK)
        status = failed(reply, lw_run(s->runner, inputs, info.inputs, outputs, info.run_outputs));
    for (uint32_t i = 0; i < info.run_outputs; i++) {
        if (status == LW_OK) {
            put_u64(reply, outputs[i].rows);
            put(reply, data[i], outputs[i].rows * row_bytes[i]);
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
    if (status == LW_AGAIN || status == LW_END) return LW_OK;
    reply->size = 0;
    return failed(reply, status);
}

/* Samples of a message: `ticks` of them, which fill the rest of it. NULL: they do not. */
static const uint8_t *take_samples(Reader *in, size_t tick_bytes, uint64_t *ticks) {
    *ticks = take_u64(in);
    if (in->failed || tick_bytes == 0 || in->left % tick_bytes != 0 || *ticks != in->left / tick_bytes)
        return NULL;
    return in->at;
}

static lw_status push(const Served *served, Reader *in, Buffer *reply) {
    uint64_t ticks;
    const uint8_t *at = take_samples(in, served->tick_bytes, &ticks);
    if (!at) return malformed(reply);
    while (ticks > 0) {
        size_t taken = 0;
        const lw_status pushed = lw_stream_push(served->stream, at, (size_t)ticks, &taken);
        if (pushed != LW_OK) {
            reply->size = 0;
            return failed(reply, pushed);
        }
        const size_t before = reply->size;
        const lw_status pulled = put_rows(served->stream, reply);
        if (pulled != LW_OK) return pulled;
        if (taken == 0 && reply->size == before) {
            reply->size = 0;
            return malformed(reply);
        }
        at += taken * served->tick_bytes;
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

static lw_status create_stream(Server *s, Reader *in, uint32_t *which, Buffer *reply) {
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.block = take_u32(in);
    options.format = (lw_sample_format)take_u32(in);
    uint32_t free_one = 0;
    while (free_one < wire_streams && s->streams[free_one].stream) free_one++;
    if (in->failed || in->left > 0 || free_one == wire_streams) return malformed(reply);
    const lw_status status = new_stream(s->model, &options, &s->streams[free_one].stream);
    if (status != LW_OK) {
        s->streams[free_one].stream = NULL;
        return failed(reply, status);
    }
    s->streams[free_one].tick_bytes = tick_bytes_of(s->model, 0, options.format);
    *which = free_one;
    return LW_OK;
}

static lw_status of_stream(Server *s, uint32_t what, uint32_t which, Reader *in, Buffer *reply) {
    Served *served = which < wire_streams ? &s->streams[which] : NULL;
    if (!served || !served->stream) return malformed(reply);
    lw_stream *stream = served->stream;
    switch (what) {
    case wire_push: return push(served, in, reply);
    case wire_prefill: {
        uint64_t ticks;
        const uint8_t *at = take_samples(in, served->tick_bytes, &ticks);
        return at ? failed(reply, lw_stream_prefill(stream, at, (size_t)ticks)) : malformed(reply);
    }
    case wire_load: return failed(reply, lw_stream_load(stream, in->at, in->left));
    case wire_copy: {
        const uint32_t from = take_u32(in);
        if (in->failed || in->left > 0 || from >= wire_streams || !s->streams[from].stream)
            return malformed(reply);
        return failed(reply, lw_stream_copy(stream, s->streams[from].stream));
    }
    default: break;
    }
    if (in->left > 0) return malformed(reply);
    lw_status status;
    switch (what) {
    case wire_finish:
        return (status = lw_stream_finish(stream)) == LW_OK ? put_rows(stream, reply) : failed(reply, status);
    case wire_reset: return failed(reply, lw_stream_reset(stream));
    case wire_save: return save(stream, reply);
    case wire_close:
        end_stream(stream);
        memset(served, 0, sizeof *served);
        return LW_OK;
    default: return malformed(reply);
    }
}

lw_status answer(Server *s, uint32_t what, uint32_t *which, Reader *in, Buffer *reply) {
    if (what == wire_open) return open_model(s, in, reply);
    if (!s->model) return malformed(reply);
    switch (what) {
    case wire_verify: {
        double worst = 0;
        if (in->left > 0) return malformed(reply);
        const lw_status status = verify_model(s->model, &worst);
        if (status == LW_OK) put_f64(reply, worst);
        return failed(reply, status);
    }
    case wire_run: return run(s, in, reply);
    case wire_stream: return create_stream(s, in, which, reply);
    default: return of_stream(s, what, *which, in, reply);
    }
}

/* The memory of a message grows with what arrives, not with the size that its head states. */
static int read_payload(FILE *in, uint64_t n, Buffer *message) {
    while (n > 0) {
        const size_t piece = n < 1 << 20 ? (size_t)n : 1 << 20;
        uint8_t *to = buffer_grow(message, piece);
        if (!to || fread(to, piece, 1, in) != 1) return 0;
        n -= piece;
    }
    return 1;
}

int serve(FILE *in, FILE *out) {
    Server server;
    memset(&server, 0, sizeof server);
    Buffer message = {0}, reply = {0};
    struct {
        uint32_t what, which;
        uint64_t bytes;
    } head;
    int good = 1;
    while (good && fread(&head, sizeof head, 1, in) == 1) {
        message.size = reply.size = 0;
        message.failed = reply.failed = 0;
        good = read_payload(in, head.bytes, &message);
        if (!good) break;
        Reader reader = {message.data ? message.data : (const uint8_t *)"", message.size, 0};
        const lw_status status = answer(&server, head.what, &head.which, &reader, &reply);
        const int32_t told = reply.failed ? LW_NO_MEMORY : (int32_t)status;
        head.what = (uint32_t)told;
        head.bytes = reply.failed ? 0 : reply.size;
        good = fwrite(&head, sizeof head, 1, out) == 1 &&
               (head.bytes == 0 || fwrite(reply.data, reply.size, 1, out) == 1) && fflush(out) == 0;
    }
    close_all(&server);
    free(message.data);
    free(reply.data);
    return good ? 0 : 1;
}
