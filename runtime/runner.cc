// Whole sequences: a runner is a session over all run entries, which differ in capacity.
#include "formats/artifact/geometry.h"
#include "runtime/crew.h"
#include "runtime/model.h"
#include "runtime/samples.h"
#include "runtime/status.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

struct lw_runner {
    const lw_model *model;
    lw_format format;
    uint64_t bytes;
    uint64_t *lengths; // of each input, in the run at hand
    Session *session;
};

namespace {

uint64_t lay_out(const lw_model &model, uint32_t workers, uint8_t *memory, lw_runner *runner,
                 uint8_t **session_at) {
    Parts parts(memory);
    parts.take<lw_runner>(1);
    runner->lengths = parts.take<uint64_t>(model.plan().inputs()->size());
    *session_at =
        parts.take<uint8_t>(model.device->session_bytes(model.source(), fb::EntryKind::run, workers));
    return parts.used();
}

uint64_t block_bytes(const lw_model &model, uint32_t workers) {
    lw_runner measure{};
    uint8_t *session_at = nullptr;
    return lay_out(model, workers, nullptr, &measure, &session_at);
}

// An entry, and its index in the plan.
struct Run {
    const fb::Entry *entry = nullptr;
    uint32_t index = 0;
};

// The run entry of least capacity that takes so many ticks. Its `entry` is null when there is none.
Run fitting(const lw_model &model, uint64_t ticks) {
    Run best;
    const auto &entries = *model.plan().entries();
    for (uint32_t e = 0; e < entries.size(); ++e) {
        const fb::Entry &entry = *entries.Get(e);
        if (entry.kind() != fb::EntryKind::run || entry.block() < ticks || entry.least() > ticks) continue;
        if (!best.entry || entry.block() < best.entry->block()) best = {&entry, e};
    }
    return best;
}

// Why there is none.
lw_status unfitting(const lw_model &model, uint64_t ticks) {
    const uint32_t capacity = largest_run(model)->block();
    if (ticks > capacity)
        return fail(LW_TOO_LONG, {ticks, " rows; the artifact was compiled for at most ", capacity});
    for (const fb::Entry *entry : *model.plan().entries()) {
        if (entry->kind() != fb::EntryKind::run || entry->block() < ticks) continue;
        const char *layer = entry->fixed() ? entry->fixed()->c_str() : "a layer";
        return fail(LW_TOO_SHORT,
                    {ticks, " rows; ", layer,
                     entry->least() == entry->block() ? " takes " : " takes at least ", entry->least()});
    }
    return LW_TOO_SHORT;
}

// The caller's array of tensors: one lies struct_size bytes behind the other.
template <class Tensor> class Tensors {
public:
    Tensors(Tensor *first, size_t n) : first_(first), n_(n) {}
    Tensor &operator[](size_t i) const {
        using Byte = std::conditional_t<std::is_const_v<Tensor>, const uint8_t, uint8_t>;
        return *reinterpret_cast<Tensor *>(reinterpret_cast<Byte *>(first_) + i * first_->struct_size);
    }
    size_t size() const { return n_; }
    bool sized() const {
        for (size_t i = 0; i < n_; ++i)
            if (first_->struct_size < sizeof(lw_tensor) || first_->struct_size % alignof(lw_tensor) != 0 ||
                (*this)[i].struct_size != first_->struct_size)
                return false;
        return true;
    }

private:
    Tensor *first_;
    size_t n_;
};
using Inputs = Tensors<const lw_tensor>;
using Outputs = Tensors<lw_tensor>;

lw_status check_inputs(const lw_runner &runner, const Inputs &in) {
    const auto &inputs = *runner.model->plan().inputs();
    if (in.size() != inputs.size())
        return fail(LW_INVALID_ARGUMENT,
                    {"inputs: ", uint64_t(in.size()), " given, the model has ", inputs.size()});
    if (!in.sized()) return fail(LW_INVALID_ARGUMENT, {"struct_size of an input is not set, or they differ"});
    for (size_t i = 0; i < in.size(); ++i) {
        const fb::Input &input = *inputs.Get(static_cast<uint32_t>(i));
        const char *name = input.name()->c_str();
        if (!in[i].data || in[i].rows == 0) return fail(LW_INVALID_ARGUMENT, {"input ", name, " is empty"});
        if (in[i].rows != in[0].rows)
            return fail(LW_INVALID_ARGUMENT, {"input ", name, " has other rows than the first"});
        if (in[i].length > in[i].rows)
            return fail(LW_INVALID_ARGUMENT, {"length of input ", name, " is more than its rows"});
        if (input.kind() != fb::InputKind::tokens) continue;
        const size_t bad = first_bad_token(in[i].data, in[i].rows, input.vocabulary());
        if (bad < in[i].rows)
            return fail(LW_BAD_TOKEN, {"token ", uint64_t(bad), " of input ", name, " is outside 0 … ",
                                       input.vocabulary() - 1});
    }
    return LW_OK;
}

uint64_t output_rows(const fb::OutputPort &port, uint64_t ticks) {
    return port.clock_num() == 0 ? 1 : ticks * port.clock_num() / port.clock_den();
}

lw_status check_outputs(const fb::Entry &entry, uint64_t ticks, const Outputs &out) {
    bool too_small = false;
    for (size_t i = 0; i < out.size(); ++i)
        too_small |=
            out[i].data && out[i].rows < output_rows(*entry.outputs()->Get(static_cast<uint32_t>(i)), ticks);
    if (!too_small) return LW_OK;
    for (size_t i = 0; i < out.size(); ++i)
        out[i].rows = output_rows(*entry.outputs()->Get(static_cast<uint32_t>(i)), ticks);
    return fail(LW_TOO_SMALL,
                {"an output has room for fewer rows than there are; the rows needed were written"});
}

Area area_of(const fb::Place &place, const Run &run, uint64_t bytes) {
    return {place.space(), run.index, offset_of(place, 0), bytes};
}

void put_inputs(lw_runner &runner, const Run &run, const Inputs &in) {
    const fb::Plan &plan = runner.model->plan();
    const Device &device = *runner.model->device;
    for (uint32_t i = 0; i < in.size(); ++i) {
        const fb::InputPort &port = *run.entry->inputs()->Get(i);
        const fb::Input &input = *plan.inputs()->Get(i);
        const lw_format format = input.kind() == fb::InputKind::tokens ? LW_I32 : runner.format;
        const Area all = area_of(*port.place(), run, uint64_t{port.rows()} * port.row_bytes());
        device.clear(*runner.session, all); // what lies behind the sequence, and the lanes beyond its width
        device.put(*runner.session, all, port.row_bytes(),
                   {in[i].data, format, in[i].rows, input.width(), plan.sample_limit()});
        runner.lengths[i] = in[i].length ? in[i].length : in[i].rows;
    }
}

void get_outputs(const lw_runner &runner, const Run &run, uint64_t ticks, const Outputs &out) {
    for (uint32_t i = 0; i < out.size(); ++i) {
        if (!out[i].data) continue;
        const fb::OutputPort &port = *run.entry->outputs()->Get(i);
        const uint64_t row_bytes = uint64_t{port.width()} * 4;
        out[i].rows = output_rows(port, ticks);
        runner.model->device->read(*runner.session, area_of(*port.place(), run, row_bytes), out[i].rows,
                                   port.row_bytes(), static_cast<uint8_t *>(out[i].data), row_bytes);
    }
}

lw_status read(const lw_model *model, const lw_run_options *given, lw_run_options *options) {
    if (!model) return fail(LW_INVALID_ARGUMENT, {"model is NULL"});
    if (!read_options(given, options))
        return fail(LW_INVALID_ARGUMENT, {"struct_size of lw_run_options is not set"});
    if (!known_format(options->format)) return fail(LW_INVALID_ARGUMENT, {"lw_run_options: unknown format"});
    if (options->threads > Crew::most)
        return fail(LW_INVALID_ARGUMENT, {options->threads, " threads; at most ", Crew::most});
    if (options->threads == 0) options->threads = 1;
    if (!model->view.run())
        return fail(LW_NO_STREAM, {model->plan().name()->c_str(), " was compiled without whole sequences"});
    for (const fb::Input *input : *model->plan().inputs())
        if (input->kind() != fb::InputKind::tokens && !format_fits(options->format, input->kind()))
            return fail(LW_INVALID_ARGUMENT, {"format ", uint64_t(options->format), " does not fit input ",
                                              input->name()->c_str()});
    return LW_OK;
}

} // namespace

namespace longwave::runtime {

uint64_t runner_bytes(const lw_model &model, uint32_t workers) {
    return block_bytes(model, workers) + (workers - 1) * Crew::stack_bytes;
}

} // namespace longwave::runtime

lw_status lw_runner_create(const lw_model *model, const lw_run_options *options, lw_runner **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, {"out is NULL"});
    *out = nullptr;
    lw_run_options read_in;
    if (lw_status status = read(model, options, &read_in)) return status;
    if (lw_status status = model->budget.allows("a run", runner_bytes(*model, read_in.threads)))
        return status;
    const uint64_t bytes = block_bytes(*model, read_in.threads);
    Block block;
    if (!block.allocate(model->allocator, bytes))
        return fail(LW_NO_MEMORY, {"no memory for a runner: ", bytes, " bytes"});
    lw_runner *runner = new (block.data) lw_runner{};
    uint8_t *session_at = nullptr;
    runner->model = model;
    runner->format = read_in.format;
    runner->bytes = lay_out(*model, read_in.threads, block.data, runner, &session_at);
    const lw_status status = model->device->begin(*model->on_device, fb::EntryKind::run, read_in.threads,
                                                  session_at, &runner->session);
    if (status == LW_OK) *out = runner;
    else block.release(model->allocator);
    return status;
}

void lw_runner_destroy(lw_runner *runner) {
    if (!runner) return;
    const lw_model &model = *runner->model;
    model.device->end(runner->session);
    Block block{reinterpret_cast<uint8_t *>(runner), runner->bytes};
    block.release(model.allocator);
}

lw_status lw_run(lw_runner *runner, const lw_tensor *in, size_t n_in, lw_tensor *out, size_t n_out) {
    if (!runner || !in) return fail(LW_INVALID_ARGUMENT, {"runner or in is NULL"});
    const Inputs inputs(in, n_in);
    if (lw_status status = check_inputs(*runner, inputs)) return status;
    const lw_model &model = *runner->model;
    const uint64_t ticks = inputs[0].rows;
    const Run run = fitting(model, ticks);
    if (!run.entry) return unfitting(model, ticks);
    if (n_out > run.entry->outputs()->size() || (n_out > 0 && !out))
        return fail(LW_INVALID_ARGUMENT, {"outputs: ", uint64_t(n_out), " asked for, the model has ",
                                          run.entry->outputs()->size()});
    const Outputs outputs(out, n_out);
    if (!outputs.sized())
        return fail(LW_INVALID_ARGUMENT, {"struct_size of an output is not set, or they differ"});
    if (lw_status status = check_outputs(*run.entry, ticks, outputs)) return status;

    put_inputs(*runner, run, inputs);
    if (const fb::Step *failed =
            model.device->run(*runner->session, run.index, 0, Extent{ticks, runner->lengths}))
        return fail(LW_DEVICE, {"a kernel failed: ", name_of(failed)});
    get_outputs(*runner, run, ticks, outputs);
    return LW_OK;
}
