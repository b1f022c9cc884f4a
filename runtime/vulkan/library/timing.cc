// Times the steps of a run, each on its own device, and the transfers between the devices. Steps of
// the GPU are timed with the host's clock, recorded once and several times: the difference has no
// submission and no wait in it.
#include "formats/artifact/geometry.h"
#include "runtime/core/model.h"
#include "runtime/platform/clock.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/library/calls.h"
#include "runtime/vulkan/run/session.h"
#include <string.h>

using namespace longwave::runtime;
using namespace longwave::runtime::vulkan;
namespace fb = longwave::fb;

namespace {

constexpr uint32_t repeats = 5;  // the median counts
constexpr uint32_t again = 8;    // recorded or run in a row
constexpr double long_us = 4000; // a longer step is not repeated
constexpr uint64_t small_transfer = 4096, large_transfer = 4 << 20;

double now_us() { return static_cast<double>(longwave::platform::clock_ns()) * 1e-3; }

// The median of several runs after one warm-up run.
template <class Work> lw_status median(const Work &work, double *us) {
    double sorted[repeats];
    for (uint32_t i = 0; i <= repeats; ++i) {
        const double start = now_us();
        if (lw_status status = work()) return status;
        const double took = now_us() - start;
        uint32_t at = i;
        if (i == 0) continue;
        for (at = i - 1; at > 0 && sorted[at - 1] > took; --at) sorted[at] = sorted[at - 1];
        sorted[at] = took;
    }
    *us = sorted[repeats / 2];
    return LW_OK;
}

// The time of one thing: prepare(n) makes n in a row and work() does them. `beside`: the time of
// work() for none.
template <class Prepare, class Work>
lw_status each(const Prepare &prepare, const Work &work, double beside, double *us) {
    double one = 0, several = 0;
    if (lw_status status = prepare(1)) return status;
    if (lw_status status = median(work, &one)) return status;
    *us = one > beside ? one - beside : 0;
    if (one > long_us) return LW_OK;
    if (lw_status status = prepare(again)) return status;
    if (lw_status status = median(work, &several)) return status;
    *us = several > one ? (several - one) / (again - 1) : 0;
    return LW_OK;
}

// The memory of one runner, and the commands that are timed.
struct Bench {
    const lw_model &model;
    const uint32_t entry;
    Block memory;
    Session *session = nullptr;
    Commands commands;
    DeviceBuffer device, host;  // of the timed transfers
    uint64_t lengths[256] = {}; // V6

    const fb::Entry &plan() const { return *model.plan().entries()->Get(entry); }
    const Gpu &gpu() const { return model_of(*model.on_device).gpu(); }
    RunSession &running() { return static_cast<RunSession &>(header_of(*session)); }
    Session &cpus() { return *running().host_side.session; }

    // Runs the entry once, on silence.
    lw_status start() {
        const uint64_t bytes = run_session_bytes(model_of(*model.on_device).source, 1);
        if (!memory.allocate(model.allocator, bytes))
            return fail(LW_NO_MEMORY, "no memory for a run: %llu bytes",
                        static_cast<unsigned long long>(bytes));
        if (lw_status status = begin_run_session(model_of(*model.on_device), 1, memory.data, &session))
            return status;
        if (lw_status status = commands.create(gpu())) return status;
        for (uint64_t &length : lengths) length = plan().block();
        memset(running().exchange.data, 0, running().exchange.bytes);
        if (of_gpu(plan())) return run_entry(running(), entry, extent(), nullptr);
        for (const fb::InputPort *port : *plan().inputs())
            cpu_of(running()).clear(cpus(), {port->place()->space(), entry, offset_of(*port->place(), 0),
                                             uint64_t{port->rows()} * port->row_bytes()});
        return cpu_of(running()).run(cpus(), entry, 0, extent(), nullptr);
    }
    void stop() {
        commands.destroy(gpu());
        device.destroy(gpu());
        host.destroy(gpu());
        if (session) end_run_session(running());
        memory.release(model.allocator);
    }
    Extent extent() const { return {plan().block(), lengths}; }

    lw_status submission(double *us) {
        if (lw_status status = commands.begin(gpu(), false)) return status;
        if (lw_status status = commands.end(gpu())) return status;
        return median([&] { return commands.submit(gpu()); }, us);
    }
    lw_status of_device(uint32_t step, double submission, double *us) {
        const auto prepare = [&](uint32_t n) {
            return record_step(running(), running().recordings[entry], commands, step, n);
        };
        return each(prepare, [&] { return commands.submit(gpu()); }, submission, us);
    }
    lw_status of_cpu(uint32_t step, double *us) {
        Extent part = extent();
        part.first = step;
        part.last = step + 1;
        uint32_t runs = 0;
        const auto prepare = [&](uint32_t n) { return runs = n, LW_OK; };
        const auto work = [&] {
            lw_status status = LW_OK;
            for (uint32_t i = 0; i < runs && status == LW_OK; ++i)
                status = cpu_of(running()).run(cpus(), entry, 0, part, nullptr);
            return status;
        };
        return each(prepare, work, 0, us);
    }
    // From memory of this process to the device, as transfers of mixed entries go.
    lw_status transfer(uint64_t bytes, double *us) {
        if (lw_status status = commands.begin(gpu(), false)) return status;
        const VkBufferCopy copy{0, 0, bytes};
        gpu().vk.vkCmdCopyBuffer(commands.buffer, host.buffer, device.buffer, 1, &copy);
        barrier(gpu(), commands.buffer);
        if (lw_status status = commands.end(gpu())) return status;
        uint8_t *half = host.data + large_transfer;
        const auto work = [&] { return memcpy(host.data, half, bytes), commands.submit(gpu()); };
        return median(work, us);
    }
    lw_status transfers(lw_vulkan_times *found) {
        using Where = DeviceBuffer::Where;
        if (lw_status status = device.create(gpu(), large_transfer, Where::device, "transfers"))
            return status;
        if (lw_status status = host.create(gpu(), 2 * large_transfer, Where::host, "transfers"))
            return status;
        memset(host.data, 0, host.bytes);
        double small = 0, large = 0;
        if (lw_status status = submission(&found->submission_us)) return status;
        if (lw_status status = transfer(small_transfer, &small)) return status;
        if (lw_status status = transfer(large_transfer, &large)) return status;
        if (large > small) found->byte_us = (large - small) / double(large_transfer - small_transfer);
        const double fixed = small - found->submission_us - found->byte_us * double(small_transfer);
        found->move_us = fixed > 0 ? fixed : 0;
        return LW_OK;
    }
};

lw_status time_all(Bench &bench, double *step_us, lw_vulkan_times *found) {
    if (lw_status status = bench.start()) return status;
    if (lw_status status = bench.transfers(found)) return status;
    const auto &steps = *bench.plan().steps();
    for (uint32_t i = 0; i < steps.size(); ++i) {
        const fb::Step &step = *steps.Get(i);
        step_us[i] = 0;
        if (longwave::artifact::moves(step)) continue;
        const bool here = of_cpu(bench.plan()) || step.cpu();
        if (lw_status status =
                here ? bench.of_cpu(i, step_us + i) : bench.of_device(i, found->submission_us, step_us + i))
            return status;
    }
    return LW_OK;
}

} // namespace

lw_status lw_vulkan_time_run(const lw_model *model, uint32_t entry, double *step_us, size_t n,
                             lw_vulkan_times *times) {
    if (!model || !step_us || !model->asked || model->asked->calls != &vulkan::calls)
        return fail(LW_INVALID_ARGUMENT, "the model was not opened on a Vulkan device, or step_us is NULL");
    const auto &entries = *model->plan().entries();
    if (entry >= entries.size() || entries.Get(entry)->kind() != fb::EntryKind::run)
        return fail(LW_INVALID_ARGUMENT, "entry %u: the artifact has no run entry of that number", entry);
    const fb::Entry &plan = *entries.Get(entry);
    if (n != plan.steps()->size())
        return fail(LW_INVALID_ARGUMENT, "entry %u has %u steps, room for %zu", entry, plan.steps()->size(),
                    n);
    if (of_cpu(plan) && !host_takes_part(model_of(*model->on_device).source))
        return fail(LW_INVALID_ARGUMENT, "the CPU has no part on this device: open it with fall_back");
    lw_vulkan_times found{};
    Bench bench{*model, entry, {}, nullptr, {}, {}, {}, {}};
    const lw_status status = time_all(bench, step_us, &found);
    bench.stop();
    if (status != LW_OK) return status;
    return copy_sized(times, found)
               ? LW_OK
               : fail(LW_INVALID_ARGUMENT, "times is NULL or its struct_size is not set");
}
