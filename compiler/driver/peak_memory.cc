#include "compiler/driver/peak_memory.h"
#include "compiler/base/parallel.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

// Assumed, with room: this program without a model, and a kernel compiler with a kernel of many points.
constexpr uint64_t program = 100u << 20, kernel_compiler = 250u << 20;

std::string size_text(uint64_t bytes) {
    return bytes < 1e9 ? fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6)
                       : fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

// Most values that a reference holds at once for each input tick, of all rows in float64.
double values_of_a_tick(const ir::Graph &graph) {
    const auto of = [&](ir::ValueId v) {
        const ir::Type &type = graph.type(v);
        return type.clock.timeless() ? 0.0 : double(type.width()) * type.clock.num / type.clock.den;
    };
    std::vector<uint32_t> readers(graph.values.size());
    for (const ir::Node &node : graph.nodes)
        for (const ir::ValueId v : node.inputs) readers[v]++;
    double alive = 0, outputs = 0, most = 0;
    for (const ir::GraphInput &input : graph.inputs) alive += of(input.value);
    for (const ir::GraphOutput &output : graph.outputs) readers[output.value]++, outputs += of(output.value);
    const double inputs = alive;
    for (const ir::Node &node : graph.nodes) {
        most = std::max(most, alive += of(node.output));
        for (const ir::ValueId v : node.inputs)
            if (--readers[v] == 0 && !graph.constant(v)) alive -= of(v);
    }
    return most + 2 * inputs + 3 * outputs; // the inputs again, and outputs as they are and rounded
}

PeakMemory::Part references_of(const Plans &plans, const GoldenVectors &golden, unsigned workers) {
    PeakMemory::Part part{.remedy = "choose smaller --blocks, or a shorter --window or --length"};
    for (size_t i = 0; i < plans.entries.size(); i++) {
        if (!plans.graphs[i]) continue;
        const uint64_t ticks = golden.longest(*plans.graphs[i], plans.entries[i]);
        const double values = values_of_a_tick(*plans.graphs[i]) + 8.0 * workers; // transforms of filters
        const auto bytes = static_cast<uint64_t>(static_cast<double>(ticks) * values * sizeof(double));
        if (bytes <= part.bytes) continue;
        part.bytes = bytes;
        part.what = fmt::format("float64 references of {} ticks for {}", ticks, plans.entries[i].name());
    }
    return part;
}

PeakMemory::Part check_of(const Plans &plans, uint64_t variants) {
    uint64_t entries = 0, stream = 0, arena = 0, run = 0;
    for (const EntryPlan &entry : plans.entries) {
        uint64_t &most = entry.kind == EntryPlan::Kind::stream ? arena : run;
        most = std::max(most, entry.arena_bytes);
        stream += entry.cache_bytes;
        entries += entry.kind == EntryPlan::Kind::stream;
    }
    stream += plans.record.bytes() + arena;
    // The streams of all entries are tested together, two of each.
    const uint64_t streams = entries > 1 ? 2 * entries * variants : entries;
    const uint64_t models = variants * plans.storage.derived_bytes();
    PeakMemory::Part part{.bytes = models + run + streams * stream};
    part.what = streams * stream > models + run
                    ? fmt::format("the check ({} streams of {})", streams, size_text(stream))
                    : fmt::format("the check ({} models of {}, an offline run of {})", variants,
                                  size_text(plans.storage.derived_bytes()), size_text(run));
    part.remedy = entries > 1 ? "choose fewer or smaller --blocks, or one --target"
                              : "choose one --target or a shorter --length";
    part.remedy += ", or leave the check out with --no-check";
    return part;
}

} // namespace

const PeakMemory::Part &PeakMemory::largest() const {
    return std::max({std::cref(kernels), std::cref(references), std::cref(check)},
                    [](const Part &a, const Part &b) { return a.bytes < b.bytes; });
}

PeakMemory peak_memory(const Plans &plans, const GoldenVectors &golden, const Options &options,
                       size_t variants) {
    const unsigned workers = workers_for(options.jobs);
    PeakMemory peak{.always = program + 2 * plans.storage.weight_bytes()};
    peak.kernels = {.bytes = workers * kernel_compiler,
                    .what = fmt::format("{} kernel compilers at a time", workers),
                    .remedy = "give --jobs 1"};
    peak.references = references_of(plans, golden, workers);
    if (options.checks) peak.check = check_of(plans, variants);
    return peak;
}

Status check_memory(const PeakMemory &peak, const Options &options) {
    if (options.memory == 0 || peak.bytes() <= options.memory) return Status::ok();
    const PeakMemory::Part &part = peak.largest();
    const bool weights = peak.always > part.bytes;
    return Status::input(
        fmt::format("this compile needs about {} of memory, more than the {} that it may take. {} are for "
                    "{}: {}, or give "
                    "--memory {}M",
                    size_text(peak.bytes()), size_text(options.memory),
                    size_text(weights ? peak.always : part.bytes), weights ? "the weights" : part.what,
                    weights ? "choose smaller --weights" : part.remedy, (peak.bytes() >> 20) + 1));
}

} // namespace longwave::compiler
