#include "compiler/driver/compile.h"
#include "compiler/codegen/code.h"
#include "compiler/codegen/process_cleanup.h"
#include "compiler/artifact/emit.h"
#include "compiler/artifact/golden.h"
#include "compiler/artifact/identity.h"
#include "compiler/codegen/spirv_modules.h"
#include "compiler/artifact/report.h"
#include "compiler/driver/entries.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/parallel.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fold_norms.h"
#include "compiler/layers/lower.h"
#include "compiler/passes/make_streaming.h"
#include "compiler/passes/materialise_kernels.h"
#include "compiler/passes/merge_branches.h"
#include "compiler/passes/merge_chains.h"
#include "compiler/passes/pack_outputs.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/passes/store_weights.h"
#include "compiler/plan/windowed_stream.h"
#include "compiler/driver/targets.h"
#include "compiler/plan/tuning.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <ostream>
#include <set>

namespace longwave::compiler {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs passes in order; after each: verified, dumped and timed on request.
class Passes {
public:
    explicit Passes(const Options &options) : options_(options) {}

    // Whatever takes time, timed.
    template <class Step> auto timed(const char *name, Step &&step) {
        const auto start = Clock::now();
        auto result = step();
        if (options_.dump && options_.timings)
            *options_.dump << fmt::format("{:<20} {:8.2f} ms\n", name, 1e3 * seconds_since(start));
        return result;
    }
    template <class Pass> Expected<ir::Graph> run(const char *name, Pass &&pass) {
        LW_ASSIGN(ir::Graph graph, timed(name, [&]() -> Expected<ir::Graph> {
                      auto made = pass();
                      if (made) LW_TRY(ir::verify(*made));
                      return made;
                  }));
        known_ = known_ || options_.dump_after == name;
        if (options_.dump && options_.dump_after == name) *options_.dump << ir::print(graph);
        return graph;
    }
    void dump_plan(const char *name, const EntryPlan &plan) {
        known_ = known_ || options_.dump_after == name;
        if (options_.dump && options_.dump_after == name) *options_.dump << print(plan);
    }
    Status check_dump_name() const {
        if (options_.dump_after.empty() || known_) return Status::ok();
        return Status::usage(fmt::format("--dump-after {}: expected lower, fold_constants, "
                                         "materialise_kernels, merge_branches, fold_norms, "
                                         "merge_chains, store_weights, pack_outputs, make_streaming or "
                                         "plan_memory",
                                         options_.dump_after));
    }

private:
    const Options &options_;
    bool known_ = false;
};

// Capacity of whole sequences: what was asked for, else one second of audio, else the longest sequence that
// an op of the model says it was made for, else 1024 ticks. `lowered`: the graph before kernels are
// materialised.
uint32_t run_capacity(const ir::Graph &lowered, const Options &options) {
    if (options.window) return options.window; // the same plan: the stream has the bits of its runs
    if (options.length) return options.length;
    if (lowered.inputs[0].kind == ir::GraphInput::Kind::audio) return lowered.inputs[0].sample_rate;
    uint32_t longest = 0;
    for (const ir::Node &node : lowered.nodes)
        if (node.op->natural_length) longest = std::max(longest, node.op->natural_length(node));
    return longest ? longest : 1024;
}

Expected<schedules::WeightFormat> find_weights(const std::string &name) {
    const auto format = schedules::find_weight_format(name);
    if (!format)
        return Status::usage(
            fmt::format("unknown weights \"{}\": expected {}", name, schedules::weight_format_names));
    return *format;
}

// Exact rewrites of the lowered graph, each verified.
Expected<ir::Graph> rewritten(Passes &passes, ir::Graph graph) {
    LW_ASSIGN(graph, passes.run("fold_constants", [&] { return fold_constants(graph); }));
    LW_ASSIGN(graph, passes.run("materialise_kernels", [&] { return materialise_kernels(graph); }));
    LW_ASSIGN(graph, passes.run("merge_branches", [&] { return merge_branches(graph); }));
    LW_ASSIGN(graph, passes.run("fold_norms", [&] { return fold_norms(graph); }));
    return passes.run("merge_chains", [&] { return merge_chains(graph); });
}

constexpr size_t most_lengths = 64;

Status check_storage(const Options &options, const targets::Target *gpu) {
    if (options.gpu_storage == "f32") return Status::ok();
    if (options.gpu_storage != "f16")
        return Status::usage(
            fmt::format("unknown storage of a GPU \"{}\": expected f32 or f16", options.gpu_storage));
    if (!gpu)
        return Status::usage(
            "--gpu-storage f16 is for whole sequences on a GPU: add a target of one, such as "
            "--target host,vulkan-32k");
    if (options.window)
        return Status::usage(
            "--gpu-storage f16 is for whole sequences: a stream that slides a --window has the "
            "bits of its runs, and streams store float32");
    if (!options.whole)
        return Status::usage("--gpu-storage f16 is for whole sequences, and --no-whole wants none: streams "
                             "exchange their state with the CPU and store float32");
    return Status::ok();
}

Status check_lengths(const Options &options) {
    std::vector<uint32_t> all = options.further_lengths;
    if (all.empty()) return Status::ok();
    all.push_back(options.length);
    std::sort(all.begin(), all.end());
    const auto twice = std::adjacent_find(all.begin(), all.end());
    if (all.front() == 0) return Status::usage("--length: several lengths, of which one is 0");
    if (twice != all.end()) return Status::usage(fmt::format("--length: {} is given twice", *twice));
    if (all.size() > most_lengths)
        return Status::usage(fmt::format("--length: at most {} lengths, found {}", most_lengths, all.size()));
    if (!options.whole)
        return Status::usage("--length has several lengths of whole sequences, and --no-whole wants none");
    return Status::ok();
}

Status check_window_options(const Options &options) {
    if (!options.window && !options.hop) return Status::ok();
    if (!options.window || !options.hop)
        return Status::usage("--window N and --hop M belong together: the last N input ticks, every M ticks");
    if (!options.blocks.empty() || options.length || options.stream != StreamMode::if_possible)
        return Status::usage("--window makes the stream and whole sequences of its length: it excludes "
                             "--blocks, --length, --stream and --no-stream");
    return Status::ok();
}

// The vector of a CPUs' entry, the one added last, for those of a GPU that compute the same.
Status add_on_gpu(GoldenVectors &golden, const Plans &plans, size_t of) {
    for (size_t i = 0; i < plans.entries.size(); i++) {
        const EntryPlan &entry = plans.entries[i], &same = plans.entries[of];
        if (!entry.gpu || entry.kind != same.kind || entry.block != same.block) continue;
        std::set<ir::ValueId> halves;
        uint32_t between = 0;
        for (const Buffer &buffer : entry.buffers) {
            between += buffer.half && buffer.value < 0;
            if (buffer.half && buffer.value >= 0) halves.insert(static_cast<ir::ValueId>(buffer.value));
        }
        const auto from = static_cast<uint16_t>(of), to = static_cast<uint16_t>(i);
        if (between > 0 || !halves.empty())
            LW_TRY(golden.again_in_fp16(from, to, *plans.graphs[of], halves, between));
        else golden.again(from, to);
    }
    return Status::ok();
}

// Golden vectors of all entries. Where weights were rounded, `exact` is the graph with those of the package:
// how far each output is from it comes back.
Expected<std::vector<double>> add_vectors(GoldenVectors &golden, const Plans &plans, const ir::Graph &exact,
                                          bool rounded, bool whole) {
    std::vector<double> changes;
    for (size_t i = 0; i < plans.entries.size(); i++) {
        if (!plans.graphs[i]) continue;
        if (plans.entries[i].gpu) continue;
        LW_TRY(golden.add(*plans.graphs[i], plans.entries[i], static_cast<uint16_t>(i)));
        LW_TRY(add_on_gpu(golden, plans, i));
        if (!rounded || !changes.empty()) continue;
        LW_ASSIGN(const ir::Graph same, whole ? exact : make_streaming(exact));
        LW_ASSIGN(changes, golden.changes_from(same));
    }
    return changes;
}

} // namespace

Expected<Compiled> compile(package::Package package, const Options &options) {
    auto start = Clock::now();
    LW_TRY(check_algorithm_name(options.convolution));
    LW_TRY(check_window_options(options));
    LW_TRY(check_lengths(options));
    LW_ASSIGN(const Targets targets, find_targets(options.targets));
    LW_TRY(check_storage(options, targets.gpu));
    LW_ASSIGN(const Tuning tuning, parse_tuning(options.tuning, options.tuning_name, targets.cpus));
    LW_ASSIGN(const auto format, find_weights(options.weights));
    Passes passes(options);

    LW_ASSIGN(auto graph, passes.run("lower", [&] { return lower(package); }));
    const uint32_t capacity = run_capacity(graph, options);
    const StateIdentity identity = identity_of(package, options.weights);
    for (auto &[key, tensor] : package.weights) tensor.data = {}; // constants hold what they need
    LW_ASSIGN(ir::Graph exact, rewritten(passes, std::move(graph)));
    std::vector<StoredWeights> stored;
    LW_ASSIGN(graph, passes.run("store_weights", [&] { return store_weights(exact, format, stored); }));
    if (stored.empty()) exact = {};
    LW_ASSIGN(graph, passes.run("pack_outputs", [&] { return pack_outputs(graph); }));

    // ---- the stream of it, when there is one ----
    std::string no_stream;
    ir::Graph stream;
    bool streams = options.stream != StreamMode::none;
    if (streams) {
        auto made = passes.run("make_streaming", [&] { return make_streaming(graph); });
        if (made) stream = *std::move(made);
        else if (options.stream == StreamMode::required || made.status().fault() == Fault::internal)
            return made.status();
        else {
            no_stream = made.status().message();
            streams = false;
        }
    }
    if (options.window) {
        streams = false; // only what looks ahead was asked, for the report
        LW_TRY(check_window(graph, options.window, options.hop));
    } else if (!streams && !options.whole) {
        return Status::usage("nothing to compile: neither whole sequences nor a stream");
    }

    OnGpu gpu{.target = targets.gpu,
              .runs = targets.gpu && (options.whole || options.window),
              .streams = targets.gpu && (streams || options.window)};
    LW_ASSIGN(Plans plans, passes.timed("plan_entries", [&] {
        return plan_entries(graph, streams ? &stream : nullptr, capacity, gpu, tuning, options, package.name);
    }));
    const auto &entries = plans.entries;
    for (const EntryPlan &entry : entries) passes.dump_plan("plan_memory", entry);
    LW_TRY(passes.check_dump_name());

    // ---- kernels and golden vectors ----
    const auto specs = unique_specs(entries);
    LW_ASSIGN(auto code, passes.timed("compile_code", [&] {
        return compile_code(specs, entries, targets.cpus, tuning, options);
    }));
    if (targets.gpu)
        LW_TRY(passes.timed("compile_modules",
                            [&] { return compile_modules(specs, entries, *targets.gpu, options, code); }));
    GoldenVectors golden(ir::workers_for(options.jobs));
    LW_ASSIGN(const auto changes, passes.timed("golden_vectors", [&] {
        return add_vectors(golden, plans, exact, !stored.empty(), options.whole || options.window);
    }));
    exact = {};

    // ---- bytes ----
    auto report = make_report({package, graph, entries, plans.algorithms, plans.storage, plans.record,
                               code.signatures, specs.all, code.targets, golden.precision(), specs.cpus,
                               no_stream, stored, changes});
    if (!tuning.made.empty()) report["tuning"] = tuning.made;
    if (targets.gpu)
        report["gpu"] = {
            {"name", targets.gpu->name}, {"kernels", code.gpu_kernels}, {"bytes", code.modules.size()}};
    if (gpu.runs && (!gpu.placed.cpu_layers.empty() || !gpu.placed.measured.empty()))
        report["gpu"]["placement"] = placement_report(entries, gpu.placed);
    if (!gpu.refused.runs.empty()) report["gpu"]["no_runs"] = gpu.refused.runs;
    if (!gpu.refused.streams.empty()) report["gpu"]["no_streams"] = gpu.refused.streams;
    const auto certificates = make_certificates(graph).dump();
    graph = stream = {}; // all of their weights are packed
    Compiled result;
    LW_ASSIGN(result.artifact, passes.timed("emit", [&] {
        return emit({package, std::move(plans.storage), plans.record, entries, specs.all, code.signatures,
                     std::move(code.targets), std::move(code.modules), golden.take_vectors(),
                     golden.take_bytes(), report.dump(), certificates, identity});
    }));
    // Times and cache hits differ from run to run: they are told, and kept out of the artifact.
    report["build"] = {{"seconds", seconds_since(start)},
                       {"kernels_compiled", code.compiled},
                       {"kernels_cached", code.cached}};
    if (!code.no_cache.empty()) report["build"]["no_cache"] = code.no_cache;
    report["artifact_bytes"] = result.artifact.size();
    result.report = report.dump(2);
    return result;
}

void abandon_compiles() { unfinished::abandon_all(); }

} // namespace longwave::compiler
