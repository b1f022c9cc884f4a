// longwave inspect: the contents of a compiled model. Works for artifacts of any machine: it reads,
// it does not run.
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules_generated.h"
#include "formats/base/elem.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/limited_json.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/report.h"
#include "tools/cli/output/text.h"
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct InspectFlags {
    std::string model;
    bool json = false, steps = false;
};

std::string_view view_of(const flatbuffers::String *text) {
    return text ? text->string_view() : std::string_view();
}
std::string text_of(const flatbuffers::String *text) { return std::string(view_of(text)); }

const char *kind_name(fb::EntryKind kind) {
    return kind == fb::EntryKind::prepare ? "prepare" : kind == fb::EntryKind::run ? "run" : "stream";
}
const char *kind_name(fb::InputKind kind) {
    return kind == fb::InputKind::audio ? "audio" : kind == fb::InputKind::features ? "features" : "tokens";
}
template <class T> uint32_t size_of(const flatbuffers::Vector<T> *vector) {
    return vector ? vector->size() : 0;
}

ordered_json describe(const fb::Plan &plan, const fb::Entry &entry, bool steps) {
    ordered_json json = {{"kind", kind_name(entry.kind())},
                         {"device", entry.device() == fb::DeviceKind::gpu ? "gpu" : "cpu"},
                         {"mixed", artifact::mixed(entry)},
                         {"block", entry.block()},
                         {"steps", size_of(entry.steps())},
                         {"rebuild_steps", size_of(entry.rebuild())},
                         {"cache_bytes", entry.cache_bytes()},
                         {"arena_bytes", entry.arena_bytes()},
                         {"period", entry.period()}};
    if (entry.least() > 0) json["fixed_by"] = text_of(entry.fixed());
    json["outputs"] = ordered_json::array();
    if (entry.outputs())
        for (const auto *port : *entry.outputs())
            list_in(json, "outputs")
                .push_back({{"name", text_of(port->name())},
                            {"width", port->width()},
                            {"clock", {port->clock_num(), port->clock_den()}},
                            {"delay", port->delay()}});
    if (!steps) return json;
    json["plan"] = ordered_json::array();
    for (const auto *step : *entry.steps())
        list_in(json, "plan")
            .push_back({{"name", text_of(step->name())},
                        {"kernel", step->kind() == fb::StepKind::call
                                       ? text_of(plan.kernels()->Get(step->kernel())->spec())
                                   : artifact::moves(*step) ? "move"
                                                            : "clear"},
                        {"device", entry.device() == fb::DeviceKind::gpu && !step->cpu() ? "gpu" : "cpu"},
                        {"period", step->period()},
                        {"phase", step->phase()},
                        {"tiles", step->tiles()}});
    return json;
}

const char *kind_name(fb::StateKind kind) {
    return kind == fb::StateKind::history ? "history" : kind == fb::StateKind::carry ? "carry" : "spectra";
}

// The fields of the stream state.
ordered_json state_of(const fb::Plan &plan) {
    ordered_json list = ordered_json::array();
    if (!plan.state()) return list;
    for (const auto *field : *plan.state()) {
        const Elem elem = artifact::elem_of(field->elem());
        uint64_t bytes = bytes_of(elem);
        ordered_json dims = ordered_json::array();
        for (const uint32_t extent : *field->dims()) {
            bytes *= extent;
            dims.push_back(extent);
        }
        list.push_back({{"layer", text_of(field->layer())},
                        {"name", text_of(field->name())},
                        {"kind", kind_name(field->kind())},
                        {"elem", longwave::name_of(elem)},
                        {"dims", dims},
                        {"bytes", bytes}});
    }
    return list;
}

// The SPIR-V modules of each GPU target.
Expected<ordered_json> modules_of(const ArtifactFile &file) {
    LW_ASSIGN(const std::vector<artifact::ModulesView> all, file.modules());
    ordered_json list = ordered_json::array();
    for (const artifact::ModulesView &modules : all) {
        uint64_t shared = 0, bytes = 0;
        for (const auto *module : *modules.manifest().modules()) {
            shared = std::max<uint64_t>(shared, module->shared_bytes());
            bytes += module->size();
        }
        list.push_back({{"target", modules.manifest().target()->str()},
                        {"modules", modules.manifest().modules()->size()},
                        {"bytes", bytes},
                        {"shared_bytes", shared}});
    }
    return list;
}

Expected<ordered_json> describe(const ArtifactFile &file, const std::string &path, bool steps) {
    const fb::Plan &plan = file.plan();
    const artifact::Header &header = file.view().header();
    const Signature signature = signature_of(header);
    ordered_json json = {{"name", text_of(plan.name())},
                         {"producer", text_of(plan.producer())},
                         {"format", format("%u.%u", header.major, header.minor)},
                         {"bytes", file.size()},
                         {"signed", signature.state == Signature::State::valid},
                         {"signature", signature.text},
                         {"key", signature.key},
                         {"version", header.version}};
    for (const auto *input : *plan.inputs())
        list_in(json, "inputs")
            .push_back({{"name", text_of(input->name())},
                        {"kind", kind_name(input->kind())},
                        {"width", input->width()},
                        {"sample_rate", input->sample_rate()},
                        {"vocabulary", input->vocabulary()}});
    json["labels"] = ordered_json::array();
    if (plan.labels())
        for (const auto *label : *plan.labels()) list_in(json, "labels").push_back(label->str());
    for (const auto *entry : *plan.entries())
        list_in(json, "entries").push_back(describe(plan, *entry, steps));
    for (const auto *variant : *plan.variants())
        list_in(json, "variants")
            .push_back({{"target", text_of(variant->target())},
                        {"code_bytes",
                         artifact::detached(*variant) ? 0 : file.view().segment(variant->segment()).size},
                        {"in_file", !artifact::detached(*variant)},
                        {"runs_here", runs_here(*variant)}});
    LW_ASSIGN(const ordered_json modules, modules_of(file));
    if (!modules.empty()) json["modules"] = modules;
    json["kernels"] = size_of(plan.kernels());
    json["weights_bytes"] = plan.weights_bytes();
    json["derived_bytes"] = plan.derived_bytes();
    json["state_bytes"] = plan.state_bytes();
    json["state"] = state_of(plan);
    // The plan was verified. These two texts were not, so their size and depth are limited here.
    LW_ASSIGN(json["report"], parse_limited(view_of(plan.report()), path + ": its compile report"));
    LW_ASSIGN(json["certificates"],
              parse_limited(view_of(plan.certificates()), path + ": its list of certificates"));
    return json;
}

// The state of each layer: fields with their sizes.
void print_state(const ordered_json &json) {
    if (json["state"].empty()) return;
    std::printf("state     %s per stream, saved and loaded as one block\n",
                bytes_text(json["state_bytes"]).c_str());
    std::string layer;
    for (const auto &field : json["state"]) {
        std::string dims;
        for (const auto &extent : field["dims"])
            dims += (dims.empty() ? "" : " x ") + std::to_string(extent.get<uint32_t>());
        const std::string of = field["layer"];
        std::printf("          %-28s %-20s %-8s %s %-20s %10s\n", of == layer ? "" : of.c_str(),
                    field["name"].get<std::string>().c_str(), field["kind"].get<std::string>().c_str(),
                    field["elem"].get<std::string>().c_str(), dims.c_str(),
                    bytes_text(field["bytes"]).c_str());
        layer = of;
    }
}

void print(const ordered_json &json, const std::string &report) {
    std::printf("%s", json["name"].get<std::string>().c_str());
    for (const auto &input : json["inputs"]) {
        std::printf("   %s: %s", input["name"].get<std::string>().c_str(),
                    input["kind"].get<std::string>().c_str());
        if (input["sample_rate"] != 0) std::printf(" %u Hz", input["sample_rate"].get<unsigned>());
        else if (input["vocabulary"] != 0) std::printf(" of %u", input["vocabulary"].get<unsigned>());
        else std::printf(" x %u", input["width"].get<unsigned>());
    }
    if (!json["labels"].empty()) std::printf(" -> %zu classes", json["labels"].size());
    std::printf("\nfile      format %s, %s · by %s\n", json["format"].get<std::string>().c_str(),
                bytes_text(json["bytes"]).c_str(), json["producer"].get<std::string>().c_str());
    std::printf("signature %s", json["signature"].get<std::string>().c_str());
    if (json["version"] != 0) std::printf(", version %s", json["version"].dump().c_str());
    std::printf("\n");
    std::printf("weights   %s, %s of tables prepared at open\n", bytes_text(json["weights_bytes"]).c_str(),
                bytes_text(json["derived_bytes"]).c_str());
    for (const auto &variant : json["variants"])
        std::printf("code      %s: %s of code, %u kernels%s\n", variant["target"].get<std::string>().c_str(),
                    variant["in_file"].get<bool>() ? bytes_text(variant["code_bytes"]).c_str() : "none",
                    json["kernels"].get<unsigned>(),
                    variant["runs_here"].get<bool>() ? "" : " (not on this CPU)");
    for (const auto &target : json.value("modules", ordered_json::array()))
        std::printf("modules   %s: %s of SPIR-V, %u kernels, at most %s shared\n",
                    target["target"].get<std::string>().c_str(), bytes_text(target["bytes"]).c_str(),
                    target["modules"].get<unsigned>(), bytes_text(target["shared_bytes"]).c_str());
    for (const auto &entry : json["entries"]) {
        const std::string kind = entry["kind"];
        std::printf("%-9s %u steps%s", kind.c_str(), entry["steps"].get<unsigned>(),
                    entry["mixed"].get<bool>() ? " on a GPU and the CPU"
                    : entry["device"] == "gpu" ? " on a GPU"
                                               : "");
        if (kind == "run") std::printf(", up to %u ticks", entry["block"].get<unsigned>());
        if (kind == "stream")
            std::printf(", block %u, delay %u ticks, caches %s per stream", entry["block"].get<unsigned>(),
                        entry["outputs"].empty() ? 0 : entry["outputs"][0]["delay"].get<unsigned>(),
                        bytes_text(entry["cache_bytes"]).c_str());
        std::printf(", working memory %s\n", bytes_text(entry["arena_bytes"]).c_str());
        for (const auto &output : entry["outputs"])
            std::printf("          -> %s: %u values, %u row%s per %u ticks\n",
                        output["name"].get<std::string>().c_str(), output["width"].get<unsigned>(),
                        output["clock"][0] == 0 ? 1 : output["clock"][0].get<unsigned>(),
                        output["clock"][0].get<unsigned>() > 1 ? "s" : "",
                        output["clock"][0] == 0 ? entry["block"].get<unsigned>()
                                                : output["clock"][1].get<unsigned>());
        if (entry.contains("plan"))
            for (const auto &step : entry["plan"])
                std::printf("          %-32s %s\n", step["name"].get<std::string>().c_str(),
                            step["kernel"].get<std::string>().c_str());
    }
    print_state(json);
    std::printf("%s", report.c_str());
}

Status inspect(const InspectFlags &flags) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model));
    LW_ASSIGN(const ordered_json json, describe(file, flags.model, flags.steps));
    if (flags.json) {
        std::printf("%s\n", json_line(json).c_str());
        return {};
    }
    std::string report;
    if (!json["report"].is_null()) {
        LW_ASSIGN(report, report_text(json["report"], flags.model + ": its compile report"));
    }
    print(json, report);
    return {};
}

} // namespace

Command add_inspect(CommandLine &program) {
    auto flags = std::make_shared<InspectFlags>();
    CommandLine *app = program.add_subcommand(
        "inspect", "Print the contents of a compiled model: inputs, outputs, entries, state and report.");
    app->add_option("model", flags->model, "Compiled model (.lw)")->file(".lw")->required();
    app->add_flag("--steps", flags->steps, "Also print every step of every entry");
    app->add_flag("--json", flags->json,
                  "Print one JSON object, with the compile report and the certificates");
    return {app, [flags] { return inspect(*flags); }};
}

} // namespace longwave::cli
