#include "compiler/emit/report.h"
#include "compiler/ops/op.h"
#include <algorithm>
#include <set>

namespace longwave::compiler {

using nlohmann::ordered_json;

namespace {

const char *name_of(EntryPlan::Kind kind) { return kind == EntryPlan::Kind::prepare ? "prepare" : kind == EntryPlan::Kind::run ? "run" : "stream"; }

// Layers in the order of the graph, each with its ops after all passes and its kernels in every entry.
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
        for (const auto &plan : in.entries) {
            std::vector<std::string> kernels;
            std::set<std::string> seen; // channel tiles that take turns are several steps of one kernel
            for (const auto &step : plan.steps)
                if (step.kind == Step::Kind::call && step.layer == layer && seen.insert(step.spec).second)
                    kernels.push_back(nlohmann::json::parse(step.spec).at("kernel"));
            if (!kernels.empty()) entry[name_of(plan.kind)] = kernels;
        }
        for (const auto &[where, c] : in.convolutions) {
            if (c.layer != layer) continue;
            ordered_json choice{{"algorithm", name_of(c.choice.algorithm)},
                                {"taps", c.shape.taps},
                                {"channels", c.shape.channels},
                                {"next_best", c.choice.runner_up}};
            if (c.choice.algorithm != Algorithm::direct) choice["length"] = c.choice.length;
            if (c.choice.partitions) choice["partitions"] = c.choice.partitions;
            if (c.choice.tail_partitions) choice["tail"] = {{"length", c.choice.tail_length}, {"partitions", c.choice.tail_partitions}};
            entry["convolution"][where] = choice;
        }
        list.push_back(std::move(entry));
    }
    return list;
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
        report["inputs"].push_back(i);
    }
    for (const auto &output : in.graph.outputs) report["outputs"].push_back({{"name", output.name}, {"width", in.graph.type(output.value).width()}});
    report["labels"] = in.package.labels.size();
    uint64_t parameters = 0;
    for (const auto &[key, tensor] : in.package.weights)
        if (std::find(in.package.unused.begin(), in.package.unused.end(), key) == in.package.unused.end()) parameters += tensor.data.size();
    report["parameters"] = parameters;
    report["layers"] = layers(in);
    report["fusion"] = make_certificates(in.graph);
    for (const auto &plan : in.entries) {
        ordered_json e{{"steps", plan.steps.size()}, {"arena_bytes", plan.arena_bytes}};
        if (plan.kind == EntryPlan::Kind::run) e["capacity"] = plan.block;
        if (plan.kind == EntryPlan::Kind::stream) {
            e["block"] = plan.block;
            e["period"] = plan.period;
            e["state_bytes"] = plan.state_bytes;
            e["delay"] = 0; // every op is causal without delay; an op that adds one changes its output's type
            if (in.package.inputs[0].sample_rate) e["block_ms"] = 1000.0 * plan.block / in.package.inputs[0].sample_rate;
        }
        report["entries"][name_of(plan.kind)] = e;
    }
    report["causal"] = in.no_stream.empty();
    if (!in.no_stream.empty()) report["no_stream"] = in.no_stream;
    report["weights_bytes"] = in.storage.weight_bytes().size();
    report["derived_bytes"] = in.storage.derived_bytes();
    report["kernels"] = in.kernels;
    for (const auto &code : in.code) report["targets"].push_back({{"name", code.target.name}, {"code_bytes", code.image.size()}});
    if (!in.package.unused.empty()) report["unused_weights"] = in.package.unused;
    return report;
}

ordered_json make_certificates(const ir::Graph &graph) {
    ordered_json list = ordered_json::array();
    for (const auto &c : graph.certificates) list.push_back({{"pass", c.pass}, {"layer", c.layer}, {"what", c.what}, {"error", c.error}});
    return list;
}

} // namespace longwave::compiler
