#include "compiler/artifact/report.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/compare.h"
#include "compiler/plan/transfers.h"
#include "formats/package/json_text.h"
#include "formats/package/package.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace longwave::compiler {

using nlohmann::ordered_json;

namespace {

const char *name_of(EntryPlan::Kind kind) {
    return kind == EntryPlan::Kind::prepare ? "prepare" : kind == EntryPlan::Kind::run ? "run" : "stream";
}

const char *name_of(StateKind kind) { return kind == StateKind::history ? "history" : "carry"; }

// Calls of kernels, and bytes that these read and write, in one block on average.
struct Traffic {
    double calls = 0, bytes = 0;
};

// `wide`: what is stored as float16 counted as if it were float32.
Traffic work_of(const ReportInputs &in, const std::vector<Step> &steps, bool replays, bool wide = false) {
    std::map<std::string, uint64_t> bytes;
    for (size_t i = 0; i < in.specs.size(); i++)
        for (const auto &arg : in.signatures[i].args) {
            if (arg.kind == schedules::ArgKind::scalar) continue;
            uint64_t elements = 1;
            for (const auto &dim : arg.dims) elements *= dim.extent;
            bytes[in.specs[i]] += elements * bytes_of(wide && arg.elem == Elem::f16 ? Elem::f32 : arg.elem) *
                                  (arg.kind == schedules::ArgKind::inout ? 2 : 1);
        }
    Traffic work;
    for (const Step &step : steps) {
        const double firings = replays ? step.replay_from - step.replay_to : 1.0 / step.period;
        if (step.kind == Step::Kind::call) work.calls += firings * step.tiles;
        work.bytes += firings * step.tiles *
                      static_cast<double>(step.kind == Step::Kind::call ? bytes[step.spec] : step.bytes);
    }
    return work;
}

// What the blocks of a stream will cost, predicted by what the planner chose by, and for other
// steps by the bytes they touch: only the shape of it is meant, how far the dearest block is above
// the others. `own_target`: of an entry with one; empty: all targets of the CPU.
ordered_json predicted(const ReportInputs &in, const EntryPlan &plan, const std::string &own_target) {
    constexpr double bytes_a_ns = 20;
    std::vector<double> blocks(plan.period, 0.0);
    for (const Step &step : plan.steps) {
        const double cost =
            step.cost > 0 ? step.cost : step.period * work_of(in, {step}, false).bytes / bytes_a_ns;
        for (uint32_t b = step.phase; b < plan.period; b += step.period) blocks[b] += cost;
    }
    const double mean = std::accumulate(blocks.begin(), blocks.end(), 0.0) / plan.period,
                 ratio = mean > 0 ? *std::max_element(blocks.begin(), blocks.end()) / mean : 1;
    ordered_json found{{"block_us", mean / 1000}, {"dearest_to_mean", ratio}}, times = ordered_json::object();
    if (!own_target.empty()) times[own_target] = mean / 1000;
    for (size_t i = 0; own_target.empty() && i < in.code.size(); i++) {
        const targets::Target &target = in.code[i].target;
        times[target.name] = mean * target.relative_time / 1000;
    }
    if (!times.empty()) found["targets"] = std::move(times);
    if (ratio > 1.5)
        found["remark"] = fmt::format("the dearest of {} blocks is predicted to take {:.1f} times the mean: "
                                      "a longer block, or one with more divisors, spreads the work better",
                                      plan.period, ratio);
    return found;
}

// The lags that golden vectors exercise, and those that the entry computes: a run has none beyond
// its capacity.
ordered_json lags_of(const ReportInputs &in, const EntryPlan &plan) {
    const auto ticks = in.golden.ticks(static_cast<uint16_t>(&plan - in.entries.data()));
    const uint32_t rows = plan.kind == EntryPlan::Kind::run ? plan.block : plan.window;
    uint32_t most = in.reach.ticks;
    if (rows > 0) most = in.reach.whole ? rows - 1 : std::min(most, rows - 1);
    return {{"ticks", ticks}, {"exercised", std::min(most, std::max(1u, ticks) - 1)}, {"longest", most}};
}

ordered_json entry_report(const ReportInputs &in, const EntryPlan &plan) {
    const Traffic work = work_of(in, plan.steps, false);
    ordered_json e{{"name", plan.name()},
                   {"kind", name_of(plan.kind)},
                   {"steps", plan.steps.size()},
                   {"arena_bytes", plan.arena_bytes}};
    e["calls"] = work.calls;
    e["moved_bytes"] = work.bytes;
    if (!plan.device->host) e["gpu"] = plan.device->name;
    const auto halves =
        std::count_if(plan.buffers.begin(), plan.buffers.end(), [](const Buffer &b) { return b.half; });
    if (halves > 0)
        e["storage"] = {{"float16", halves},
                        {"float32", static_cast<int64_t>(plan.buffers.size()) - halves},
                        {"moved_bytes_of_float32", work_of(in, plan.steps, false, true).bytes}};
    const auto by_channel = std::count_if(plan.buffers.begin(), plan.buffers.end(),
                                          [](const Buffer &b) { return b.channel_major; });
    if (by_channel > 0) e["channel_major"] = by_channel;
    if (plan.kind == EntryPlan::Kind::run) e["capacity"] = plan.block;
    if (plan.least) e["fixed_by"] = plan.fixed;
    if (plan.kind != EntryPlan::Kind::prepare) e["lags"] = lags_of(in, plan);
    if (plan.kind != EntryPlan::Kind::stream) return e;
    e["block"] = plan.block;
    if (plan.window) e["window"] = plan.window;
    e["period"] = plan.period;
    uint32_t delay = 0;
    for (const auto &port : plan.outputs) delay = std::max(delay, port.delay);
    e["delay"] = delay;
    if (const uint32_t rate = in.package.inputs[0].sample_rate) {
        e["block_ms"] = 1000.0 * plan.block / rate;
        e["delay_ms"] = 1000.0 * delay / rate;
    }
    e["cache_bytes"] = plan.cache_bytes;
    e["predicted"] = predicted(in, plan, e.value("gpu", ""));
    if (plan.rebuild.empty()) return e;
    const Traffic again = work_of(in, plan.rebuild, true);
    e["switch"] = {{"calls", again.calls},
                   {"moved_bytes", again.bytes},
                   {"blocks", again.bytes / std::max(1.0, work.bytes)}};
    return e;
}

ordered_json state_report(const StateRecord &record) {
    ordered_json list = ordered_json::array();
    for (const StateField *field : record.fields()) {
        list.push_back({{"layer", field->layer},
                        {"name", field->name},
                        {"kind", name_of(field->kind)},
                        {"elem", name_of(field->elem)},
                        {"dims", field->dims},
                        {"bytes", field->bytes()}});
        if (field->kind == StateKind::history) list.back()["needed_rows"] = field->needs;
    }
    return list;
}

// The rows of a value: how many for each input tick, how wide, how late.
void add_rows(ordered_json &to, const ir::Type &type) {
    to["rows"] = {{"num", type.clock.num}, {"den", type.clock.den}};
    to["width"] = type.width();
    to["delay"] = type.delay;
}

// The layer that computes a value, or the name of the input. Empty: a constant.
std::string source_of(const ir::Graph &graph, ir::ValueId value) {
    if (const ir::Node *node = graph.producer(value)) return node->layer;
    for (const ir::GraphInput &input : graph.inputs)
        if (input.value == value) return input.name;
    return "";
}

// The layers and inputs that a layer reads, and the rows of what others read of it last.
void add_edges(const ReportInputs &in, const std::string &layer, ordered_json &entry) {
    ordered_json from = ordered_json::array();
    for (const ir::Node &node : in.graph.nodes) {
        if (node.layer != layer) continue;
        for (const ir::ValueId value : node.inputs) {
            const std::string name = source_of(in.graph, value);
            if (!name.empty() && name != layer && std::find(from.begin(), from.end(), name) == from.end())
                from.push_back(name);
        }
        add_rows(entry, in.graph.type(node.output));
    }
    entry["from"] = std::move(from);
}

// Layers in the order of the graph, each with its ops after all passes and its kernels in every
// entry.
ordered_json layers(const ReportInputs &in) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> ops;
    for (const auto &node : in.graph.nodes) {
        if (!ops.count(node.layer)) order.push_back(node.layer);
        ops[node.layer].push_back(node.op->name);
    }
    ordered_json list = ordered_json::array();
    for (const auto &layer : order) {
        ordered_json entry{{"layer", layer}, {"ops", ops[layer]}};
        add_edges(in, layer, entry);
        for (const auto &plan : in.entries) {
            std::vector<std::string> kernels;
            std::set<std::string> seen; // channel tiles that take turns are several steps of one kernel
            for (const auto &step : plan.steps)
                if (step.kind == Step::Kind::call && step.layer == layer && seen.insert(step.spec).second)
                    kernels.push_back(nlohmann::json::parse(step.spec).at("kernel"));
            if (!kernels.empty())
                package::list_in(entry, "kernels").push_back({{"entry", plan.name()}, {"names", kernels}});
        }
        for (const auto &[where, report] : in.algorithms) {
            if (report.layer != layer) continue;
            ordered_json choice{{"entry", where},
                                {"op", report.op},
                                {"algorithm", report.choice.algorithm->name},
                                {"next_best", report.choice.runner_up},
                                {"predicted_ns", report.choice.cost},
                                {"elements", report.elements}};
            if (!report.choice.refused.empty()) choice["not_possible"] = report.choice.refused;
            for (const auto &[name, value] : report.choice.decisions.list()) choice[name] = value;
            package::list_in(entry, "algorithms").push_back(std::move(choice));
        }
        list.push_back(std::move(entry));
    }
    return list;
}

// What weights in fewer bytes cost in accuracy: of each product and each kernel of taps, and of the
// outputs on the golden input.
ordered_json weights_report(const ReportInputs &in) {
    ordered_json layers = ordered_json::array(), outputs = ordered_json::array();
    for (const StoredWeights &w : in.stored) {
        ordered_json layer{{"layer", w.layer},
                           {"format", schedules::name_of(w.format)},
                           {"error", w.error},
                           {"largest", w.largest}};
        if (w.taps) layer["taps"] = true;
        layers.push_back(std::move(layer));
    }
    for (size_t i = 0; i < in.changes.size(); i++)
        outputs.push_back({{"name", in.graph.outputs[i].name}, {"change", in.changes[i]}});
    return {{"layers", std::move(layers)}, {"outputs", std::move(outputs)}};
}

} // namespace

ordered_json make_report(const ReportInputs &in) {
    ordered_json report{{"name", in.package.name}};
    for (const auto &input : in.package.inputs) {
        static const char *kinds[] = {"audio", "features", "tokens"};
        ordered_json i{{"name", input.name}, {"kind", kinds[static_cast<int>(input.kind)]}};
        if (input.sample_rate) i["sample_rate"] = input.sample_rate;
        if (input.vocabulary) i["vocabulary"] = input.vocabulary;
        if (input.width != 1) i["width"] = input.width;
        package::list_in(report, "inputs").push_back(i);
    }
    for (const auto &output : in.graph.outputs) {
        ordered_json o{{"name", output.name}, {"layer", source_of(in.graph, output.value)}};
        const ir::Type &type = in.graph.type(output.value);
        add_rows(o, type);
        if (const uint32_t rate = package::sample_rate_of(in.package, output.name, type.width(),
                                                          type.clock.num, type.clock.den)) {
            const auto lag = std::find_if(in.package.outputs.begin(), in.package.outputs.end(),
                                          [&](const package::Output &of) { return of.name == output.name; })
                                 ->lag;
            o["kind"] = "audio";
            o["sample_rate"] = rate;
            o["lag"] = lag;
        }
        package::list_in(report, "outputs").push_back(std::move(o));
    }
    report["labels"] = in.package.labels.size();
    uint64_t parameters = 0;
    for (const auto &[key, tensor] : in.package.weights)
        if (std::find(in.package.unused.begin(), in.package.unused.end(), key) == in.package.unused.end())
            parameters += tensor.elements();
    report["parameters"] = parameters;
    report["layers"] = layers(in);
    report["fusion"] = make_certificates(in.graph);
    report["precision"] = {{"rounding", in.precision.rounding}, {"limit", in.precision.limit()}};
    if (in.precision.halves > 0 || in.precision.between > 0)
        report["precision"]["float16"] = {{"rounding", in.precision.halves},
                                          {"limit", in.precision.fp16_limit()}};
    if (!in.stored.empty()) report["stored_weights"] = weights_report(in);
    report["look_back"] = {{"ticks", in.reach.ticks},
                           {"layer", in.reach.layer},
                           {"whole", in.reach.whole},
                           {"recurrent", in.reach.recurrent}};
    for (const auto &plan : in.entries) package::list_in(report, "entries").push_back(entry_report(in, plan));
    report["state"] = state_report(in.record);
    report["state_bytes"] = in.record.bytes();
    report["causal"] = in.no_stream.empty();
    const bool slides = std::any_of(in.entries.begin(), in.entries.end(),
                                    [](const EntryPlan &plan) { return plan.window > 0; });
    if (!in.no_stream.empty() && !slides) report["no_stream"] = in.no_stream;
    report["weights_bytes"] = in.storage.weight_bytes();
    report["derived_bytes"] = in.storage.derived_bytes();
    report["kernels"] = in.kernels;
    for (const auto &code : in.code)
        package::list_in(report, "targets")
            .push_back({{"name", code.target.name},
                        {"code_bytes", code.image.size()},
                        {"kernel_bytes", code.kernel_bytes}});
    if (!in.package.unused.empty()) report["unused_weights"] = in.package.unused;
    return report;
}

// Where each layer of the device's offline run is computed and why, and the transfers that this
// takes.
static ordered_json placement_report(const EntryPlan &entry, const Placed &placed) {
    ordered_json layers = ordered_json::array();
    std::set<std::string> seen;
    uint64_t moves = 0, bytes = 0;
    for (const Step &step : entry.steps) {
        if (step.kind == Step::Kind::to_device || step.kind == Step::Kind::to_cpu)
            moves++, bytes += step.bytes;
        if (step.kind != Step::Kind::call || !seen.insert(step.layer).second) continue;
        layers.push_back({{"layer", step.layer}, {"device", step.cpu ? "cpu" : "gpu"}});
        ordered_json &layer = layers.back();
        const auto times = placed.times.find(step.layer);
        if (times != placed.times.end()) {
            layer["cpu_us"] = times->second.cpu;
            layer["gpu_us"] =
                times->second.device < never ? ordered_json(times->second.device) : ordered_json();
        }
        const auto why = placed.cpu_layers.find(step.layer);
        if (why != placed.cpu_layers.end()) layer["why"] = why->second;
        else if (times != placed.times.end())
            layer["why"] = times->second.device <= times->second.cpu ? "it takes less there"
                                                                     : "moving would take more than it saves";
    }
    const std::vector<DeviceSegment> segments = device_segments(entry.steps);
    const auto submissions = std::count_if(segments.begin(), segments.end(),
                                           [](const DeviceSegment &segment) { return !segment.cpu; });
    ordered_json report{{"layers", std::move(layers)},
                        {"submissions", submissions},
                        {"moves", moves},
                        {"moved_bytes", bytes}};
    if (placed.measured.empty()) return report;
    report["predicted"] = {{"on", placed.measured}, {"us", placed.time}, {"cpu_us", placed.cpu}};
    report["predicted"]["gpu_us"] = placed.device < never ? ordered_json(placed.device) : ordered_json();
    report["predicted"]["exact"] = placed.exact;
    return report;
}

ordered_json device_report(const DeviceReportInputs &in) {
    ordered_json report{{"name", in.device.name}, {"kernels", in.kernels}, {"bytes", in.bytes}};
    if (in.measured_device.empty()) report["costs"] = "assumed";
    else report["costs"] = {{"measured", in.measured_device}};
    for (const auto &[entry, count] : in.dispatches)
        report["dispatches"].push_back({{"entry", entry}, {"count", count}});
    const auto run = std::find_if(in.entries.begin(), in.entries.end(), [&](const EntryPlan &plan) {
        return plan.device == &in.device && plan.kind == EntryPlan::Kind::run;
    });
    if (run != in.entries.end() && (!in.placed.cpu_layers.empty() || !in.placed.measured.empty()))
        report["placement"] = placement_report(*run, in.placed);
    if (!in.no_run.empty()) report["no_runs"] = in.no_run;
    if (!in.no_stream.empty()) report["no_streams"] = in.no_stream;
    return report;
}

ordered_json make_certificates(const ir::Graph &graph) {
    ordered_json list = ordered_json::array();
    for (const auto &c : graph.certificates)
        list.push_back({{"pass", c.pass},
                        {"layer", c.layer},
                        {"what", c.what},
                        {"bound", ir::rewrite_bound},
                        {"error", c.error}});
    return list;
}

} // namespace longwave::compiler
