// Whole sequences: a runner holds one program for each run entry (they differ in capacity) over one arena.
#include "formats/artifact/geometry.h"
#include "runtime/model.h"
#include "runtime/samples.h"
#include "runtime/status.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace longwave::runtime {

struct Run {
    const fb::Entry *entry;
    Program program;
};

} // namespace longwave::runtime

struct lw_runner {
    const lw_model *model;
    lw_format format;
    uint64_t bytes;
    Run *runs;
    uint32_t n_runs;
    Bases bases;
    uint64_t *lengths; // of each input, in the run at hand
};

namespace {

uint64_t lay_out(const lw_model &model, uint8_t *memory, lw_runner *runner) {
    Parts parts(memory);
    parts.take<lw_runner>(1);
    uint64_t arena_bytes = 0;
    uint32_t runs = 0;
    for (const fb::Entry *entry : *model.plan().entries()) {
        if (entry->kind() != fb::EntryKind::run) continue;
        ++runs;
        arena_bytes = entry->arena_bytes() > arena_bytes ? entry->arena_bytes() : arena_bytes;
    }
    runner->runs = parts.take<Run>(runs);
    runner->n_runs = runs;
    runner->lengths = parts.take<uint64_t>(model.plan().inputs()->size());
    uint8_t *arena = parts.take<uint8_t>(arena_bytes);
    if (memory) runner->bases = model.bases(nullptr, arena);
    uint32_t i = 0;
    for (const fb::Entry *entry : *model.plan().entries()) {
        if (entry->kind() != fb::EntryKind::run) continue;
        Run measure{};
        Run *run = memory ? new (&runner->runs[i++]) Run{} : &measure;
        run->entry = entry;
        run->program.build(*entry, model.kernels, memory ? runner->bases : Bases{}, scratch_needed(*entry, model.variant), parts);
    }
    return parts.used();
}

// The run entry of least capacity that holds `rows` ticks.
Run *fitting(const lw_runner &runner, uint64_t rows) {
    Run *best = nullptr;
    for (uint32_t i = 0; i < runner.n_runs; ++i) {
        Run &run = runner.runs[i];
        if (run.entry->block() >= rows && (!best || run.entry->block() < best->entry->block())) best = &run;
    }
    return best;
}

lw_status check_inputs(const lw_runner &runner, const lw_tensor *in, size_t n_in) {
    const auto &inputs = *runner.model->plan().inputs();
    if (n_in != inputs.size()) return fail(LW_INVALID_ARGUMENT, {"inputs: ", uint64_t(n_in), " given, the model has ", inputs.size()});
    for (size_t i = 0; i < n_in; ++i) {
        const fb::Input &input = *inputs.Get(static_cast<uint32_t>(i));
        if (!in[i].data || in[i].rows == 0) return fail(LW_INVALID_ARGUMENT, {"input ", input.name()->c_str(), " is empty"});
        if (in[i].rows != in[0].rows) return fail(LW_INVALID_ARGUMENT, {"input ", input.name()->c_str(), " has other rows than the first"});
        if (in[i].length > in[i].rows) return fail(LW_INVALID_ARGUMENT, {"length of input ", input.name()->c_str(), " is more than its rows"});
        if (input.kind() == fb::InputKind::tokens) {
            const size_t bad = first_bad_token(in[i].data, in[i].rows, input.vocabulary());
            if (bad < in[i].rows)
                return fail(LW_BAD_TOKEN, {"token ", uint64_t(bad), " of input ", input.name()->c_str(), " is outside 0 … ", input.vocabulary() - 1});
        }
    }
    return LW_OK;
}

uint64_t output_rows(const fb::OutputPort &port, uint64_t ticks) { return port.clock_num() == 0 ? 1 : ticks * port.clock_num() / port.clock_den(); }

lw_status check_outputs(const fb::Entry &entry, uint64_t ticks, lw_tensor *out, size_t n_out) {
    if (n_out > entry.outputs()->size() || (n_out > 0 && !out))
        return fail(LW_INVALID_ARGUMENT, {"outputs: ", uint64_t(n_out), " asked for, the model has ", entry.outputs()->size()});
    bool too_small = false;
    for (size_t i = 0; i < n_out; ++i) {
        const uint64_t rows = output_rows(*entry.outputs()->Get(static_cast<uint32_t>(i)), ticks);
        if (!out[i].data || out[i].rows >= rows) continue;
        too_small = true;
    }
    if (!too_small) return LW_OK;
    for (size_t i = 0; i < n_out; ++i) out[i].rows = output_rows(*entry.outputs()->Get(static_cast<uint32_t>(i)), ticks);
    return fail(LW_TOO_SMALL, {"an output has room for fewer rows than there are; the rows needed were written"});
}

} // namespace

lw_status lw_runner_create(const lw_model *model, const lw_run_options *options, lw_runner **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, {"out is NULL"});
    *out = nullptr;
    if (!model) return fail(LW_INVALID_ARGUMENT, {"model is NULL"});
    lw_run_options read_in;
    if (!read_options(options, &read_in)) return fail(LW_INVALID_ARGUMENT, {"struct_size of lw_run_options is not set"});
    if (!known_format(read_in.format)) return fail(LW_INVALID_ARGUMENT, {"lw_run_options: unknown format"});
    if (!model->view.run()) return fail(LW_NO_STREAM, {model->plan().name()->c_str(), " was compiled without whole sequences"});
    for (const fb::Input *input : *model->plan().inputs())
        if (input->kind() != fb::InputKind::tokens && !format_fits(read_in.format, input->kind()))
            return fail(LW_INVALID_ARGUMENT, {"format ", uint64_t(read_in.format), " does not fit input ", input->name()->c_str()});
    lw_runner measure{};
    const uint64_t bytes = lay_out(*model, nullptr, &measure);
    Block block;
    if (!block.allocate(model->allocator, bytes)) return fail(LW_NO_MEMORY, {"no memory for a runner: ", bytes, " bytes"});
    lw_runner *runner = new (block.data) lw_runner{};
    runner->model = model;
    runner->format = read_in.format;
    runner->bytes = lay_out(*model, block.data, runner);
    *out = runner;
    return LW_OK;
}

void lw_runner_destroy(lw_runner *runner) {
    if (!runner) return;
    const lw_allocator allocator = runner->model->allocator;
    Block block{reinterpret_cast<uint8_t *>(runner), runner->bytes};
    block.release(allocator);
}

lw_status lw_run(lw_runner *runner, const lw_tensor *in, size_t n_in, lw_tensor *out, size_t n_out) {
    if (!runner || !in) return fail(LW_INVALID_ARGUMENT, {"runner or in is NULL"});
    if (lw_status status = check_inputs(*runner, in, n_in)) return status;
    const uint64_t ticks = in[0].rows;
    Run *run = fitting(*runner, ticks);
    if (!run) return fail(LW_TOO_LONG, {uint64_t(ticks), " rows; the artifact was compiled for at most ", largest_run(*runner->model)->block()});
    const fb::Entry &entry = *run->entry;
    if (lw_status status = check_outputs(entry, ticks, out, n_out)) return status;

    for (uint32_t i = 0; i < n_in; ++i) {
        const fb::InputPort &port = *entry.inputs()->Get(i);
        const fb::Input &input = *runner->model->plan().inputs()->Get(i);
        const lw_format format = input.kind() == fb::InputKind::tokens ? LW_I32 : runner->format;
        uint8_t *to = moving(*port.place(), runner->bases).at(0, 0);
        memset(to, 0, uint64_t{port.rows()} * port.row_bytes()); // what lies behind the sequence, and the lanes beyond its width
        convert(in[i].data, format, in[i].rows, input.width(), to, port.row_bytes());
        runner->lengths[i] = in[i].length ? in[i].length : in[i].rows;
    }
    const fb::Step *failed = nullptr;
    {
        FlushDenormals mode;
        failed = run->program.run(0, Extent{ticks, runner->lengths});
    }
    if (failed) return fail(LW_DEVICE, {"a kernel failed: ", failed->name() ? failed->name()->c_str() : "unnamed step"});
    for (uint32_t i = 0; i < n_out; ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        const uint64_t rows = output_rows(port, ticks), row = uint64_t{port.width()} * 4;
        const uint8_t *from = moving(*port.place(), runner->bases).at(0, 0);
        uint8_t *to = static_cast<uint8_t *>(out[i].data);
        for (uint64_t r = 0; to && r < rows; ++r) memcpy(to + r * row, from + r * port.row_bytes(), row);
        if (to) out[i].rows = rows;
    }
    return LW_OK;
}

namespace longwave::runtime {

uint64_t runner_bytes(const lw_model &model) {
    lw_runner measure{};
    return lay_out(model, nullptr, &measure);
}

} // namespace longwave::runtime
