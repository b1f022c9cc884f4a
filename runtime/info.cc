// Introspection: what a model is, wants and gives.
#include "formats/artifact/geometry.h"
#include "runtime/model.h"
#include "runtime/status.h"

using namespace longwave;
using namespace longwave::runtime;

lw_status lw_model_get_info(const lw_model *model, lw_model_info *info) {
    if (!model) return fail(LW_INVALID_ARGUMENT, {"model is NULL"});
    const fb::Plan &plan = model->plan();
    const fb::Entry *stream = model->view.stream(), *run = model->view.run();
    lw_model_info now{};
    now.name = plan.name()->c_str();
    now.producer = plan.producer()->c_str();
    now.variant = model->variant ? model->variant->target()->c_str() : "";
    now.inputs = plan.inputs()->size();
    now.labels = artifact::count(plan.labels());
    now.report = plan.report() ? plan.report()->c_str() : "{}";
    now.certificates = plan.certificates() ? plan.certificates()->c_str() : "{}";
    now.derived_bytes = plan.derived_bytes();
    now.artifact_bytes = model->artifact_bytes;
    if (run) {
        now.has_run = 1;
        now.run_outputs = run->outputs()->size();
        now.run_capacity = largest_run(*model)->block();
        now.run_memory_bytes = runner_bytes(*model);
    }
    if (stream) {
        size_t size = 0, alignment = 0;
        if (lw_status status = lw_stream_size(model, nullptr, &size, &alignment)) return status;
        now.has_stream = 1;
        now.stream_outputs = stream->outputs()->size();
        now.stream_block = stream->block();
        now.stream_delay = plan.delay();
        now.stream_state_bytes = stream->state_bytes();
        now.stream_memory_bytes = size;
    }
    return copy_sized(info, now) ? LW_OK : fail(LW_INVALID_ARGUMENT, {"info is NULL or its struct_size is not set"});
}

lw_status lw_model_input(const lw_model *model, uint32_t index, lw_input_info *info) {
    if (!model) return fail(LW_INVALID_ARGUMENT, {"model is NULL"});
    if (index >= model->plan().inputs()->size()) return fail(LW_NOT_FOUND, {"input ", index, "; the model has ", model->plan().inputs()->size()});
    const fb::Input &input = *model->plan().inputs()->Get(index);
    lw_input_info now{};
    now.name = input.name()->c_str();
    now.kind = static_cast<lw_input_kind>(input.kind());
    now.width = input.width();
    now.sample_rate = input.sample_rate();
    now.vocabulary = input.vocabulary();
    return copy_sized(info, now) ? LW_OK : fail(LW_INVALID_ARGUMENT, {"info is NULL or its struct_size is not set"});
}

static lw_status output_info(const fb::Entry *entry, uint32_t index, lw_output_info *info) {
    if (!entry) return fail(LW_NO_STREAM, {"the artifact has no such entry"});
    if (index >= entry->outputs()->size()) return fail(LW_NOT_FOUND, {"output ", index, "; the entry has ", entry->outputs()->size()});
    const fb::OutputPort &port = *entry->outputs()->Get(index);
    lw_output_info now{};
    now.name = port.name()->c_str();
    now.width = port.width();
    now.clock_num = port.clock_num();
    now.clock_den = port.clock_den();
    return copy_sized(info, now) ? LW_OK : fail(LW_INVALID_ARGUMENT, {"info is NULL or its struct_size is not set"});
}

lw_status lw_model_run_output(const lw_model *model, uint32_t index, lw_output_info *info) {
    return model ? output_info(model->view.run(), index, info) : fail(LW_INVALID_ARGUMENT, {"model is NULL"});
}

lw_status lw_model_stream_output(const lw_model *model, uint32_t index, lw_output_info *info) {
    return model ? output_info(model->view.stream(), index, info) : fail(LW_INVALID_ARGUMENT, {"model is NULL"});
}

const char *lw_model_label(const lw_model *model, uint32_t index) {
    return model && index < artifact::count(model->plan().labels()) ? model->plan().labels()->Get(index)->c_str() : nullptr;
}
