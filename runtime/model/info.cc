// Introspection: what a model is, wants and gives.
#include "runtime/model/info.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/sample_format.h"
#include "runtime/core/status.h"
#include "runtime/model/plan_enums.h"
#include "runtime/run/runner.h"

using namespace longwave;
using namespace longwave::runtime;

namespace longwave::runtime {
namespace {

using artifact::count;

uint32_t delay_of(const fb::Entry &entry) {
    uint32_t delay = 0;
    for (const fb::OutputPort *port : *entry.outputs()) delay = port->delay() > delay ? port->delay() : delay;
    return delay;
}

// Bytes that one firing of a step reads and writes, all tiles together; what is read and written in
// place counts twice.
double moved_by(const fb::Plan &plan, const fb::Step &step) {
    uint64_t bytes = 0;
    if (step.kind() != fb::StepKind::call) {
        bytes =
            step.kind() == fb::StepKind::zero_tail ? uint64_t{step.rows()} * step.row_bytes() : step.bytes();
    } else {
        for (const fb::KernelArg *arg : *plan.kernels()->Get(step.kernel())->args()) {
            uint64_t span = 0;
            if (arg->kind() == fb::ArgKind::scalar || !artifact::span_bytes(*arg, &span)) continue;
            bytes += arg->kind() == fb::ArgKind::inout ? 2 * span : span;
        }
    }
    return static_cast<double>(bytes) * step.tiles();
}

lw_stream_entry_info info_of(const fb::Plan &plan, const fb::Entry &entry) {
    lw_stream_entry_info info{};
    info.struct_size = sizeof info;
    info.block = entry.block();
    info.delay = delay_of(entry);
    info.period = entry.period();
    info.cache_bytes = entry.cache_bytes();
    double moved = 0;
    for (const fb::Step *step : *entry.steps()) {
        if (step->kind() == fb::StepKind::call)
            info.calls += uint64_t{step->tiles()} * (entry.period() / step->period());
        moved += moved_by(plan, *step) / step->period();
    }
    info.moved_bytes = moved < 1.8e19 ? static_cast<uint64_t>(moved) : UINT64_MAX;
    for (uint32_t i = 0; i < count(entry.rebuild()); ++i) {
        const fb::Step &step = *entry.rebuild()->Get(i);
        if (step.kind() == fb::StepKind::call && step.replay_from() > step.replay_to())
            info.rebuild_calls += uint64_t{step.tiles()} * (step.replay_from() - step.replay_to());
    }
    return info;
}

uint64_t bytes_of_field(const fb::StateField &field) { // V15 has computed it without overflow
    uint64_t bytes = bytes_of(artifact::elem_of(field.elem()));
    for (uint32_t dim : *field.dims()) bytes *= dim;
    return bytes;
}

} // namespace

void build_infos(lw_model &model, Parts &parts) {
    const fb::Plan &plan = model.plan();
    const uint32_t n_fields = count(plan.state());
    uint32_t n_streams = 0;
    for (const fb::Entry *entry : *plan.entries())
        n_streams += planned_for(*entry, fb::EntryKind::stream, model.device->kind);
    lw_stream_entry_info *entries = parts.take<lw_stream_entry_info>(n_streams);
    lw_state_field *fields = parts.take<lw_state_field>(n_fields);
    if (!entries) return; // only measuring
    model.entry_infos = entries;
    model.state_fields = fields;
    model.record_bytes = 0;
    for (const fb::Entry *entry : *plan.entries())
        if (planned_for(*entry, fb::EntryKind::stream, model.device->kind))
            *entries++ = info_of(plan, *entry);
    for (uint32_t i = 0; i < n_fields; ++i) {
        const fb::StateField &field = *plan.state()->Get(i);
        const uint64_t bytes = bytes_of_field(field);
        fields[i] = {sizeof(lw_state_field),
                     field.layer()->c_str(),
                     field.name()->c_str(),
                     to_interface<lw_state_kind>(field.kind()),
                     to_interface<lw_state_elem>(field.elem()),
                     field.dims()->data(),
                     field.dims()->size(),
                     bytes};
        model.record_bytes += bytes;
    }
}

lw_stream_options plain_stream(const lw_model &model) {
    lw_stream_options options{};
    options.struct_size = sizeof options;
    const uint32_t input = model.streams[0].entry->inputs()->Get(0)->input();
    options.format = plain_format(model.plan().inputs()->Get(input)->kind());
    return options;
}

} // namespace longwave::runtime

static lw_status info_status(bool copied) {
    return copied ? LW_OK : fail(LW_INVALID_ARGUMENT, "info is NULL or its struct_size is not set");
}

lw_status lw_model_get_info(const lw_model *model, lw_model_info *info) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    const fb::Plan &plan = model->plan();
    lw_model_info now{};
    now.name = plan.name()->c_str();
    now.producer = plan.producer()->c_str();
    now.variant = model->variant ? model->variant->target()->c_str() : "";
    now.inputs = plan.inputs()->size();
    now.labels = count(plan.labels());
    now.scalars = count(plan.scalars());
    now.report = plan.report() ? plan.report()->c_str() : "{}";
    now.certificates = plan.certificates() ? plan.certificates()->c_str() : "{}";
    now.derived_bytes = plan.derived_bytes();
    now.artifact_bytes = model->artifact_bytes;
    now.memory_bytes = model->budget.used;
    now.memory_limit = model->budget.limit;
    now.version = model->view.header().version;
    now.trusted = model->trusted;
    now.error_limit = plan.error_limit();
    for (uint32_t g = 0; g < count(plan.golden()); ++g)
        if (const fb::Golden &golden = *plan.golden()->Get(g);
            plan.entries()->Get(golden.entry())->device() == model->device->kind &&
            golden.error_limit() > now.error_limit)
            now.error_limit = golden.error_limit();
    if (const fb::Entry *run = largest_run(*model)) {
        now.has_run = 1;
        now.run_outputs = run->outputs()->size();
        now.run_capacity = run->block();
        now.run_memory_bytes = runner_bytes(*model);
    }
    if (model->streams.size() > 0) {
        const fb::Entry &stream = *model->streams[0].entry;
        size_t size = 0, alignment = 0;
        const lw_stream_options options = plain_stream(*model);
        if (lw_status status = lw_stream_size(model, &options, &size, &alignment)) return status;
        now.has_stream = 1;
        now.stream_outputs = stream.outputs()->size();
        now.stream_block = stream.block();
        now.stream_delay = delay_of(stream);
        now.stream_state_bytes = plan.state_bytes();
        now.stream_memory_bytes = size + model->own_stream_bytes;
        now.stream_entries = model->streams.size();
        now.state_fields = count(plan.state());
    }
    return info_status(copy_sized(info, now));
}

lw_status lw_model_input(const lw_model *model, uint32_t index, lw_input_info *info) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    if (index >= model->plan().inputs()->size())
        return fail(LW_NOT_FOUND, {"input ", index, "; the model has ", model->plan().inputs()->size()});
    const fb::Input &input = *model->plan().inputs()->Get(index);
    lw_input_info now{};
    now.name = input.name()->c_str();
    now.kind = to_interface<lw_input_kind>(input.kind());
    now.width = input.width();
    now.sample_rate = input.sample_rate();
    now.vocabulary = input.vocabulary();
    return info_status(copy_sized(info, now));
}

static lw_status output_info(const fb::Entry *entry, uint32_t index, lw_output_info *info) {
    if (!entry) return fail(LW_NO_STREAM, "the artifact has no such entry");
    if (index >= entry->outputs()->size())
        return fail(LW_NOT_FOUND, {"output ", index, "; the entry has ", entry->outputs()->size()});
    const fb::OutputPort &port = *entry->outputs()->Get(index);
    lw_output_info now{};
    now.name = port.name()->c_str();
    now.width = port.width();
    now.clock_num = port.clock_num();
    now.clock_den = port.clock_den();
    now.delay = port.delay();
    now.sample_rate = port.sample_rate();
    now.lag = port.lag();
    now.whole = port.whole();
    return info_status(copy_sized(info, now));
}

lw_status lw_model_run_output(const lw_model *model, uint32_t index, lw_output_info *info) {
    return model ? output_info(largest_run(*model), index, info) : fail(LW_INVALID_ARGUMENT, "model is NULL");
}

lw_status lw_model_stream_output(const lw_model *model, uint32_t index, lw_output_info *info) {
    return model ? output_info(model->streams.size() ? model->view.stream() : nullptr, index, info)
                 : fail(LW_INVALID_ARGUMENT, "model is NULL");
}

// One of a list of structs, which is null when the model has no stream.
template <class Info> static lw_status one_of(const lw_model *model, const char *what, const Info *list,
                                              uint32_t n, uint32_t index, Info *info) {
    if (!list || model->streams.size() == 0)
        return fail(LW_NO_STREAM, "the model was compiled without a stream for this device");
    if (index >= n) return fail(LW_NOT_FOUND, {what, index, "; the model has ", n});
    return info_status(copy_sized(info, list[index]));
}

lw_status lw_model_stream_entry(const lw_model *model, uint32_t index, lw_stream_entry_info *info) {
    return model ? one_of(model, "stream entry ", model->entry_infos, model->streams.size(), index, info)
                 : fail(LW_INVALID_ARGUMENT, "model is NULL");
}

lw_status lw_model_state_field(const lw_model *model, uint32_t index, lw_state_field *field) {
    return model ? one_of(model, "state field ", model->state_fields, count(model->plan().state()), index,
                          field)
                 : fail(LW_INVALID_ARGUMENT, "model is NULL");
}

lw_status lw_model_scalar(const lw_model *model, uint32_t index, lw_scalar_info *info) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    const auto *scalars = model->plan().scalars();
    if (index >= count(scalars))
        return fail(LW_NOT_FOUND, {"scalar ", index, "; the model has ", count(scalars)});
    const fb::HostScalar &scalar = *scalars->Get(index);
    lw_scalar_info now{};
    now.name = scalar.name()->c_str();
    now.unit = scalar.unit() ? scalar.unit()->c_str() : "";
    now.initial = scalar.initial();
    now.low = scalar.low();
    now.high = scalar.high();
    now.smoothed = scalar.smoothed();
    return info_status(copy_sized(info, now));
}

const char *lw_model_label(const lw_model *model, uint32_t index) {
    return model && index < count(model->plan().labels()) ? model->plan().labels()->Get(index)->c_str()
                                                          : nullptr;
}
