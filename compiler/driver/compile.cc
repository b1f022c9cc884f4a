#include "compiler/driver/compile.h"
#include "compiler/artifact/emit.h"
#include "compiler/artifact/golden.h"
#include "compiler/artifact/report.h"
#include "compiler/base/parallel.h"
#include "compiler/base/process_cleanup.h"
#include "compiler/codegen/code.h"
#include "compiler/codegen/spirv_modules.h"
#include "compiler/driver/check_options.h"
#include "compiler/driver/device_plan.h"
#include "compiler/driver/entries.h"
#include "compiler/driver/graphs.h"
#include "compiler/driver/packable.h"
#include "compiler/driver/peak_memory.h"
#include "compiler/driver/stream_layouts.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/fp16_storage.h"
#include <fmt/format.h>
#include <optional>
#include <set>

namespace longwave::compiler {
namespace {

// Golden vectors of all entries of an artifact.

// The vector of entry `of`, the one added last, for `entry`, which computes the same on another
// device.
Status add_again(GoldenVectors &golden, const Plans &plans, size_t of, size_t entry) {
    std::set<ir::ValueId> halves;
    uint32_t between = 0;
    for (const Buffer &buffer : plans.entries[entry].buffers) {
        between += buffer.half && buffer.value < 0;
        if (buffer.half && buffer.value >= 0) halves.insert(static_cast<ir::ValueId>(buffer.value));
    }
    const auto from = static_cast<uint16_t>(of), to = static_cast<uint16_t>(entry);
    if (between > 0 || !halves.empty())
        return golden.again_in_fp16(from, to, *plans.graphs[entry], halves, between);
    golden.again(from, to);
    return Status::ok();
}

bool same_outputs(const EntryPlan &a, const EntryPlan &b) { return a.kind == b.kind && a.block == b.block; }

// Returns how far each output is from that of `exact`, the graph with the weights of the package,
// relative to its peak; empty unless weights were `rounded`. `offline`: the entries compute offline
// runs. Errors: Fault::input for a model that float32 or float16 cannot compute.
Expected<std::vector<double>> add_vectors(GoldenVectors &golden, const Plans &plans, const ir::Graph &exact,
                                          bool rounded, bool offline) {
    std::vector<double> changes;
    std::set<size_t> done;
    for (size_t i = 0; i < plans.entries.size(); i++) {
        if (!plans.graphs[i] || !done.insert(i).second) continue;
        LW_TRY(golden.add(*plans.graphs[i], plans.entries[i], static_cast<uint16_t>(i)));
        for (size_t other = i + 1; other < plans.entries.size(); other++)
            if (same_outputs(plans.entries[i], plans.entries[other]) && done.insert(other).second)
                LW_TRY(add_again(golden, plans, i, other));
        if (!rounded || !changes.empty()) continue;
        LW_ASSIGN(const ir::Graph same, offline ? exact : make_streaming(exact));
        LW_ASSIGN(changes, golden.changes_from(same));
    }
    return changes;
}

DeviceEntries wanted_entries(const devices::Traits *device, const ModelGraphs &model,
                             const Options &options) {
    return {.device = device,
            .offline = device && device->offline && (options.offline || options.window),
            .streams = device && device->stream && (model.streams || options.window)};
}

// Offline runs of the device hand values from kernel to kernel as float16, where the options ask
// for it.
void store_fp16(std::vector<EntryPlan> &entries, const Capabilities &known, const Options &options) {
    for (EntryPlan &entry : entries) {
        if (options.gpu_storage != "f16" || !entry.device->fp16_storage || entry.kind != EntryPlan::Kind::run)
            continue;
        store_fp16(entry, known.signatures);
        plan_memory(entry);
    }
}

uint32_t longest_block(const std::vector<EntryPlan> &entries) {
    uint32_t longest = 0;
    for (const EntryPlan &entry : entries)
        if (entry.kind == EntryPlan::Kind::stream) longest = std::max(longest, entry.block);
    return longest;
}

// An offline run makes the golden vectors anew with other weights, so it must be long enough for those
// of every entry.
Status check_lengths_of_vectors(const GoldenVectors &golden, const Plans &plans) {
    uint32_t longest = 0, capacity = 0;
    for (size_t i = 0; i < plans.entries.size(); i++) {
        longest = std::max(longest, golden.ticks(static_cast<uint16_t>(i)));
        if (plans.entries[i].kind == EntryPlan::Kind::run)
            capacity = std::max(capacity, plans.entries[i].block);
    }
    if (longest <= capacity) return Status::ok();
    return Status::usage(fmt::format("--pack: the golden vectors have {} ticks, and offline runs at most {}; "
                                     "give --length {}",
                                     longest, capacity, longest));
}

} // namespace

Expected<CompiledPieces> compile_pieces(package::Package package, const Options &given) {
    const auto start = std::chrono::steady_clock::now();
    Options options = given;
    Passes passes(options);
    LW_ASSIGN(const Request request, check_options(options));
    const devices::Traits *const device = request.targets.device;
    const KernelCacheOptions device_kernels{
        .kgen = options.kgen, .folder = options.cache, .jobs = options.jobs, .progress = options.progress};
    KernelCacheOptions host_kernels = device_kernels;
    host_kernels.structures = request.tuning.structures;

    // ---- where each number goes, for who exchanges the weights
    std::optional<Packable> packable;
    if (options.packable) {
        LW_ASSIGN(packable, passes.timed("make_packable", [&] {
            return make_packable(package, request, options, host_kernels);
        }));
        options.unmixed = packable->unmixed;
    }

    // ---- lower and rewrite
    LW_ASSIGN(ModelGraphs model, make_graphs(passes, package, request, options));
    Graphs graphs{model.offline, model.streams ? &model.stream : nullptr, model.capacity};

    // ---- ask which kernels the device has, and place the layers
    LW_ASSIGN(DevicePlan on_device, passes.timed("plan_for_device", [&] {
        return plan_for_device(graphs, wanted_entries(device, model, options), request.tuning, options,
                               device_kernels, package.name);
    }));

    // ---- plan
    if (!on_device.entries.streams) {
        LW_ASSIGN(graphs.by_channel, passes.timed("stream_layouts", [&] {
            return stream_layouts(graphs, request, options, host_kernels);
        }));
    }
    LW_ASSIGN(Plans plans, passes.timed("plan_entries", [&] {
        return plan_entries(graphs, on_device.entries, request.tuning, options,
                            packable ? &packable->probed : nullptr);
    }));
    LW_TRY(check_kernels(on_device, plans.entries, device_kernels));
    store_fp16(plans.entries, on_device.capabilities, options);
    for (const EntryPlan &entry : plans.entries) passes.dump_plan("plan_memory", entry);
    LW_TRY(passes.check_dump_name());
    const LookBack reach = look_back(model.offline);
    GoldenVectors golden(reach, longest_block(plans.entries), workers_for(options.jobs));
    const PeakMemory peak = peak_memory(plans, golden, options, request.targets.cpus.size());
    LW_TRY(check_memory(peak, options));

    // ---- compile
    std::vector<uint8_t> recipe = packable ? std::move(packable->recipe) : std::vector<uint8_t>();
    packable.reset();
    const Specs specs = unique_specs(plans.entries, options.streams);
    if (specs.all.empty())
        return Status::input(
            "the model computes nothing: its outputs are its inputs in the same order. Add a layer "
            "that computes, or pass the input on without a model");
    LW_ASSIGN(Code code, passes.timed("compile_code", [&] {
        return compile_code(specs, plans.entries, request.targets.cpus, host_kernels);
    }));
    if (device)
        LW_TRY(passes.timed("compile_modules", [&] {
            return compile_modules(specs, plans.entries, plans.storage, *device,
                                   {options.gpu_chained_bytes, options.gpu_variants}, device_kernels, code);
        }));

    // ---- check: reference inputs and outputs that `verify` recomputes
    LW_ASSIGN(const auto changes, passes.timed("golden_vectors", [&] {
        return add_vectors(golden, plans, model.exact, !model.stored.empty(),
                           options.offline || options.window);
    }));
    if (options.packable) LW_TRY(check_lengths_of_vectors(golden, plans));
    model.exact = {};

    // ---- emit
    auto report = make_report({package, model.offline, plans.entries, plans.algorithms, plans.storage,
                               plans.record, code.signatures, specs.all, code.targets, golden.precision(),
                               specs.cpus, model.no_stream, model.stored, changes, reach, golden});
    if (!request.tuning.made.empty()) report["tuning"] = request.tuning.made;
    if (device)
        report["gpu"] = device_report({*device, plans.entries, on_device.placed, on_device.no_run,
                                       on_device.no_stream, code.module_kernels, code.modules.size(),
                                       code.dispatches, request.tuning.measured_device});
    const auto certificates = make_certificates(model.offline).dump();
    model.offline = model.stream = {}; // all of their weights are packed
    on_device.entries.reordered.clear();
    CompiledPieces result;
    LW_ASSIGN(result.artifact, passes.timed("emit", [&] {
        return emit({package, std::move(plans.storage), plans.record, plans.entries, specs.all,
                     code.signatures, specs.for_streams, std::move(code.targets), std::move(code.modules),
                     golden.take_vectors(), golden.take_bytes(), std::move(recipe), report.dump(),
                     certificates, model.identity});
    }));
    // Times and cache hits differ from run to run, so the artifact does not hold them.
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report["build"] = {
        {"seconds", took.count()}, {"kernels_compiled", code.compiled}, {"kernels_cached", code.cached}};
    if (!code.no_cache.empty()) report["build"]["no_cache"] = code.no_cache;
    report["artifact_bytes"] = result.artifact.size();
    report["open_bytes"] = result.artifact.memory_needed();
    report["compile_bytes"] = peak.bytes();
    result.report = report.dump(2);
    return result;
}

Expected<Compiled> compile(package::Package package, const Options &options) {
    LW_ASSIGN(CompiledPieces made, compile_pieces(std::move(package), options));
    return Compiled{std::move(made.artifact).join(), std::move(made.report)};
}

void abandon_compiles() { unfinished::abandon_all(); }

} // namespace longwave::compiler
