// Whole sequences: a runner has sessions over all run entries (which differ in capacity), one for
// each sequence that it may work on at a time, and the threads that help.
#include "runtime/run/runner.h"
#include "formats/base/same_bytes.h"
#include "runtime/core/sample_format.h"
#include "runtime/core/status.h"
#include "runtime/core/thread_pool.h"
#include "runtime/run/run_arguments.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

struct lw_runner {
    const lw_model *model;
    lw_sample_format format;
    uint64_t bytes;
    struct Seat { // where one sequence is worked on
        Session *session;
        uint64_t *lengths; // of each input, of the sequence at hand
    } *seats;              // the first with a worker for each thread, the others with one
    uint32_t n_seats;
    ThreadPool::Helper *helpers;
    ThreadPool thread_pool;
};

namespace {

using Seat = lw_runner::Seat;

uint64_t session_bytes(const lw_model &model, uint32_t workers) {
    return model.device->session_bytes(model.source(), {fb::EntryKind::run, workers});
}

uint32_t seats_of(const lw_runner_options &options) {
    return options.sequences < options.threads ? options.sequences : options.threads;
}

// Without memory it only measures; the sessions begin where `session_at` says.
uint64_t lay_out(const lw_model &model, const lw_runner_options &options, uint8_t *memory, lw_runner *runner,
                 uint8_t **session_at) {
    Parts parts(memory);
    parts.take<lw_runner>(1);
    const uint32_t seats = seats_of(options);
    Seat *made = parts.take<Seat>(seats);
    ThreadPool::Helper *helpers = parts.take<ThreadPool::Helper>(options.threads - 1);
    for (uint32_t s = 0; s < seats; ++s) {
        uint64_t *lengths = parts.take<uint64_t>(model.plan().inputs()->size());
        if (made) new (made + s) Seat{nullptr, lengths};
    }
    uint8_t *first = parts.take<uint8_t>(session_bytes(model, options.threads));
    uint8_t *others = nullptr;
    for (uint32_t s = 1; s < seats; ++s) {
        uint8_t *at = parts.take<uint8_t>(session_bytes(model, 1));
        if (s == 1) others = at;
    }
    if (!runner) return parts.used();
    runner->seats = made;
    runner->n_seats = seats;
    runner->helpers = helpers;
    session_at[0] = first;
    session_at[1] = others;
    return parts.used();
}

uint64_t block_bytes(const lw_model &model, const lw_runner_options &options) {
    return lay_out(model, options, nullptr, nullptr, nullptr);
}

// Sessions in the memory laid out, then threads.
lw_status begin(lw_runner &runner, const lw_runner_options &options, uint8_t *const *session_at) {
    const lw_model &model = *runner.model;
    uint8_t *memory = session_at[0];
    for (uint32_t s = 0; s < runner.n_seats; ++s) {
        if (s > 0) memory = session_at[1] + (s - 1) * to_line(session_bytes(model, 1));
        if (lw_status status =
                model.device->begin(*model.on_device, {fb::EntryKind::run, s == 0 ? options.threads : 1},
                                    memory, &runner.seats[s].session))
            return status;
    }
    if (runner.thread_pool.start(options.threads, runner.helpers)) return LW_OK;
    return fail(LW_NO_MEMORY, {"the system does not give ", options.threads - 1, " more threads"});
}

Area area_of(const fb::Place &place, const Run &run, uint64_t bytes) {
    return {place.space(), run.index, offset_of(place, 0), bytes};
}

void put_inputs(const lw_runner &runner, const Seat &seat, const Run &run, const Inputs &in) {
    const fb::Plan &plan = runner.model->plan();
    const Device &device = *runner.model->device;
    for (uint32_t i = 0; i < in.size(); ++i) {
        const fb::InputPort &port = *run.entry->inputs()->Get(i);
        const fb::Input &input = *plan.inputs()->Get(i);
        const lw_sample_format format = input.kind() == fb::InputKind::tokens ? LW_I32 : runner.format;
        const Area all = area_of(*port.place(), run, uint64_t{port.rows()} * port.row_bytes());
        device.clear(*seat.session, all); // what lies behind the sequence, and the lanes beyond its width
        device.put(*seat.session, all, port.row_bytes(),
                   {in[i].data, format, in[i].rows, input.width(), plan.sample_limit()});
        seat.lengths[i] = in[i].length ? in[i].length : in[i].rows;
    }
}

void get_outputs(const lw_runner &runner, const Seat &seat, const Run &run, uint64_t ticks,
                 const Outputs &out) {
    for (uint32_t i = 0; i < out.size(); ++i) {
        if (!out[i].data) continue;
        const fb::OutputPort &port = *run.entry->outputs()->Get(i);
        const uint64_t row_bytes = uint64_t{port.width()} * 4;
        out[i].rows = output_rows(port, ticks);
        runner.model->device->read(*seat.session, area_of(*port.place(), run, row_bytes), out[i].rows,
                                   port.row_bytes(), static_cast<uint8_t *>(out[i].data), row_bytes);
    }
}

// One sequence from its inputs to its outputs.
lw_status pass(const lw_runner &runner, const Seat &seat, const Run &run, const Inputs &in,
               const Outputs &out, ThreadPool *thread_pool) {
    const uint64_t ticks = in[0].rows;
    put_inputs(runner, seat, run, in);
    const Extent extent{ticks, seat.lengths};
    const lw_status status = runner.model->device->run(*seat.session, run.index, 0, extent, thread_pool);
    if (status == LW_OK) get_outputs(runner, seat, run, ticks, out);
    return status;
}

// Workers take sequences as they become free. No bit of a result depends on the worker.
struct BatchRun {
    const lw_runner *runner;
    size_t sequences;
    const lw_run_tensor *in;
    size_t n_in;
    lw_run_tensor *out;
    size_t n_out;
    std::atomic<size_t> next{0};
    std::atomic<lw_status> failed{LW_OK};
    std::atomic<bool> told{false};
    char reason[512]; // of the first failure: its detail was kept in another thread

    Inputs inputs(size_t sequence) const { return {&Inputs(in, sequences * n_in)[sequence * n_in], n_in}; }
    Outputs outputs(size_t sequence) const {
        return Outputs(out, sequences * n_out).part(sequence * n_out, n_out);
    }

    static void work(void *context, uint32_t worker) {
        BatchRun &batch = *static_cast<BatchRun *>(context);
        if (worker >= batch.runner->n_seats) return;
        for (;;) {
            const size_t sequence = batch.next.fetch_add(1, std::memory_order_relaxed);
            if (sequence >= batch.sequences || batch.failed.load(std::memory_order_relaxed)) return;
            const Inputs in = batch.inputs(sequence);
            const Run run = fitting(*batch.runner->model, in[0].rows);
            const lw_status status =
                pass(*batch.runner, batch.runner->seats[worker], run, in, batch.outputs(sequence), nullptr);
            if (status == LW_OK || batch.told.exchange(true)) continue;
            copy_text(lw_last_error(), batch.reason, sizeof batch.reason);
            batch.failed = status;
        }
    }
};

lw_status read(const lw_model *model, const lw_runner_options *given, lw_runner_options *options) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    if (lw_status status = read_options(given, options, "lw_runner_options")) return status;
    if (options->threads > ThreadPool::most)
        return fail(LW_INVALID_ARGUMENT, {options->threads, " threads; at most ", ThreadPool::most});
    if (options->threads == 0) options->threads = 1;
    if (options->sequences == 0) options->sequences = 1;
    if (!largest_run(*model))
        return fail(LW_NO_STREAM, {model->plan().name()->c_str(), " was compiled without offline runs"});
    // One format for all inputs but tokens; audio decides.
    fb::InputKind kind = fb::InputKind::features;
    for (const fb::Input *input : *model->plan().inputs())
        if (input->kind() == fb::InputKind::audio) kind = fb::InputKind::audio;
    if (lw_status status = read_format("lw_runner_options", kind, &options->format)) return status;
    for (const fb::Input *input : *model->plan().inputs())
        if (input->kind() != fb::InputKind::tokens && !format_fits(options->format, input->kind()))
            return fail(LW_INVALID_ARGUMENT, {"format ", name_of(options->format), " does not fit input ",
                                              input->name()->c_str()});
    return LW_OK;
}

uint64_t bytes_needed(const lw_model &model, const lw_runner_options &options) {
    return block_bytes(model, options) + (options.threads - 1) * ThreadPool::stack_bytes +
           seats_of(options) * model.own_run_bytes;
}

} // namespace

namespace longwave::runtime {

uint64_t runner_bytes(const lw_model &model) {
    lw_runner_options options{};
    options.threads = options.sequences = 1;
    return bytes_needed(model, options);
}

} // namespace longwave::runtime

lw_status lw_runner_create(const lw_model *model, const lw_runner_options *options, lw_runner **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    lw_runner_options read_in;
    if (lw_status status = read(model, options, &read_in)) return status;
    if (lw_status status = model->budget.allows("a run", bytes_needed(*model, read_in))) return status;
    const uint64_t bytes = block_bytes(*model, read_in);
    Block block;
    if (!block.allocate(model->allocator, bytes))
        return fail(LW_NO_MEMORY, {"no memory for a runner: ", bytes, " bytes"});
    lw_runner *runner = new (block.data) lw_runner{};
    uint8_t *session_at[2] = {};
    runner->model = model;
    hold(*model);
    runner->format = read_in.format;
    runner->bytes = lay_out(*model, read_in, block.data, runner, session_at);
    const lw_status status = begin(*runner, read_in, session_at);
    if (status == LW_OK) *out = runner;
    else lw_runner_destroy(runner);
    return status;
}

void lw_runner_destroy(lw_runner *runner) {
    if (!runner) return;
    const lw_model &model = *runner->model;
    runner->thread_pool.stop();
    for (uint32_t s = 0; s < runner->n_seats; ++s)
        if (runner->seats[s].session) model.device->end(runner->seats[s].session);
    Block block{reinterpret_cast<uint8_t *>(runner), runner->bytes};
    block.release(model.allocator);
    let_go(model);
}

lw_status lw_run(lw_runner *runner, const lw_run_tensor *in, size_t n_in, lw_run_tensor *out, size_t n_out) {
    if (!runner || !in) return fail(LW_INVALID_ARGUMENT, "runner or in is NULL");
    const Inputs inputs(in, n_in);
    const Outputs outputs(out, n_out);
    Run run;
    if (lw_status status = check(*runner->model, inputs, outputs, &run)) return status;
    return pass(*runner, runner->seats[0], run, inputs, outputs, &runner->thread_pool);
}

lw_status lw_run_batch(lw_runner *runner, size_t sequences, const lw_run_tensor *in, size_t n_in,
                       lw_run_tensor *out, size_t n_out) {
    if (!runner || !in) return fail(LW_INVALID_ARGUMENT, "runner or in is NULL");
    if (n_in == 0) return fail(LW_INVALID_ARGUMENT, "inputs: none given");
    if (n_out > 0 && !out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    if (!Inputs(in, sequences * n_in).sized() || !Outputs(out, sequences * n_out).sized())
        return fail(LW_INVALID_ARGUMENT, "struct_size of a tensor is not set, or they differ");
    BatchRun batch{runner, sequences, in, n_in, out, n_out, {}, {}, {}, {}};
    for (size_t s = 0; s < sequences; ++s) {
        Run run;
        const lw_status status = check(*runner->model, batch.inputs(s), batch.outputs(s), &run);
        if (status == LW_OK) continue;
        char reason[512] = {};
        copy_text(lw_last_error(), reason, sizeof reason);
        return fail(status, {"sequence ", uint64_t(s), ": ", reason});
    }
    runner->thread_pool.run(BatchRun::work, &batch);
    const lw_status failed = batch.failed;
    return failed == LW_OK ? LW_OK : fail(failed, batch.reason);
}
