/* A model's description, as wire.h says. */
#include "tools/runner/runner.h"

static void put_outputs(Buffer *to, uint32_t n, lw_status (*get)(const lw_model *, uint32_t, lw_output_info *),
                        const lw_model *model) {
    put_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        lw_output_info output = LW_OUTPUT_INFO_INIT;
        get(model, i, &output);
        put_text(to, output.name);
        put_u32(to, output.width);
        put_u32(to, output.clock_num);
        put_u32(to, output.clock_den);
        put_u32(to, output.delay);
    }
}

static void put_entries(Buffer *to, uint32_t n, const lw_model *model) {
    put_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        lw_stream_entry_info entry = LW_STREAM_ENTRY_INFO_INIT;
        lw_model_stream_entry(model, i, &entry);
        put_u32(to, entry.block);
        put_u32(to, entry.delay);
        put_u32(to, entry.period);
        put_u64(to, entry.calls);
        put_u64(to, entry.cache_bytes);
        put_u64(to, entry.moved_bytes);
        put_u64(to, entry.rebuild_calls);
    }
}

static void put_fields(Buffer *to, uint32_t n, const lw_model *model) {
    put_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        lw_state_field field = LW_STATE_FIELD_INIT;
        lw_model_state_field(model, i, &field);
        put_text(to, field.layer);
        put_text(to, field.name);
        put_u32(to, field.kind);
        put_u32(to, field.elem);
        put_u64(to, field.bytes);
        put_u32(to, field.n_dims);
        put(to, field.dims, field.n_dims * sizeof *field.dims);
    }
}

lw_status describe(const lw_model *model, Buffer *to) {
    lw_model_info info = LW_MODEL_INFO_INIT;
    const lw_status status = lw_model_get_info(model, &info);
    if (status != LW_OK) return status;
    put_text(to, info.name);
    put_text(to, info.producer);
    put_text(to, info.variant);
    put_text(to, info.report);
    put_u32(to, (uint32_t)info.has_run);
    put_u32(to, (uint32_t)info.has_stream);
    put_u32(to, info.run_capacity);
    put_u32(to, info.stream_block);
    put_u32(to, info.stream_delay);
    put(to, &info.error_limit, sizeof info.error_limit);
    put_u64(to, info.stream_state_bytes);
    put_u64(to, info.stream_memory_bytes);
    put_u64(to, info.run_memory_bytes);
    put_u64(to, info.memory_bytes);
    put_u64(to, info.artifact_bytes);
    put_u32(to, info.inputs);
    for (uint32_t i = 0; i < info.inputs; i++) {
        lw_input_info input = LW_INPUT_INFO_INIT;
        lw_model_input(model, i, &input);
        put_text(to, input.name);
        put_u32(to, input.kind);
        put_u32(to, input.width);
        put_u32(to, input.sample_rate);
        put_u32(to, input.vocabulary);
    }
    put_outputs(to, info.has_run ? info.run_outputs : 0, lw_model_run_output, model);
    put_outputs(to, info.has_stream ? info.stream_outputs : 0, lw_model_stream_output, model);
    put_u32(to, info.labels);
    for (uint32_t i = 0; i < info.labels; i++) put_text(to, lw_model_label(model, i));
    put_entries(to, info.stream_entries, model);
    put_fields(to, info.state_fields, model);
    return LW_OK;
}
