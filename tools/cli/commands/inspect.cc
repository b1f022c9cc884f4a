// longwave inspect: the contents of a compiled model. Works for artifacts of any machine: without
// --time it reads, it does not run.
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/description.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/report.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/model_page.h"
#include <algorithm>
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct InspectFlags {
    ModelFlags model;
    std::string html;
    bool json = false, steps = false, time = false;
};

// The state of each layer: fields with their sizes.
void print_state(const ordered_json &json) {
    if (json["state"].empty()) return;
    print_text(stdout, "state     %s per stream, saved and loaded as one block\n",
               bytes_text(json["state_bytes"]).c_str());
    std::string layer;
    for (const auto &field : json["state"]) {
        std::string dims;
        for (const auto &extent : field["dims"])
            dims += (dims.empty() ? "" : " x ") + std::to_string(extent.get<uint32_t>());
        const std::string of = field["layer"];
        print_text(stdout, "          %-28s %-20s %-8s %s %-20s %10s\n", of == layer ? "" : of.c_str(),
                   field["name"].get<std::string>().c_str(), field["kind"].get<std::string>().c_str(),
                   field["elem"].get<std::string>().c_str(), dims.c_str(),
                   bytes_text(field["bytes"]).c_str());
        layer = of;
    }
}

// What the host may change while a stream runs.
void print_scalars(const ordered_json &json) {
    for (const auto &scalar : json.value("scalars", ordered_json::array()))
        print_text(stdout, "scalar    %s: %g ... %g, initially %g%s%s%s\n",
                   scalar["name"].get<std::string>().c_str(), scalar["low"].get<double>(),
                   scalar["high"].get<double>(), scalar["initial"].get<double>(),
                   scalar["unit"] == "" ? "" : " ", scalar["unit"].get<std::string>().c_str(),
                   scalar["smoothed"].get<bool>() ? ", smoothed" : "");
}

// The first line, where no report says it.
void print_title(const ordered_json &json) {
    print_text(stdout, "%s", json["name"].get<std::string>().c_str());
    for (const auto &input : json["inputs"]) {
        print_text(stdout, "   %s: %s", input["name"].get<std::string>().c_str(),
                   input["kind"].get<std::string>().c_str());
        if (input["sample_rate"] != 0) print_text(stdout, " %u Hz", input["sample_rate"].get<unsigned>());
        else if (input["vocabulary"] != 0) print_text(stdout, " of %u", input["vocabulary"].get<unsigned>());
        else print_text(stdout, " x %u", input["width"].get<unsigned>());
    }
    if (!json["labels"].empty()) print_text(stdout, " -> %zu classes", json["labels"].size());
    print_text(stdout, "\n");
}

void print_file(const ordered_json &json) {
    std::string parts; // the others have lines of their own
    for (const auto &part : json["parts"])
        if (part["name"] == "header and plan" || part["name"] == "golden vectors")
            parts += " · " + part["name"].get<std::string>() + " " + bytes_text(part["bytes"]);
    print_text(stdout, "file      format %s, %s%s · by %s\n", json["format"].get<std::string>().c_str(),
               bytes_text(json["bytes"]).c_str(), parts.c_str(), json["producer"].get<std::string>().c_str());
    print_text(stdout, "trust     %s", json["signature"].get<std::string>().c_str());
    if (json["version"] != 0) print_text(stdout, ", version %s", json["version"].dump().c_str());
    print_text(stdout, "\n");
    print_text(stdout, "weights   %s, %s of tables prepared at open\n",
               bytes_text(json["weights_bytes"]).c_str(), bytes_text(json["derived_bytes"]).c_str());
    for (const auto &variant : json["variants"])
        print_text(stdout, "code      %s: %s, %u kernels%s\n", variant["target"].get<std::string>().c_str(),
                   variant["in_file"].get<bool>() ? (bytes_text(variant["code_bytes"]) + " of code").c_str()
                                                  : "not in the file",
                   json["kernels"].get<unsigned>(),
                   variant["runs_here"].get<bool>() ? "" : " (not on this CPU)");
    if (json.contains("recipe"))
        print_text(stdout, "recipe    takes other weights: %u tensors; golden vectors of the %s\n",
                   json["recipe"]["tensors"].get<unsigned>(),
                   json["recipe"]["golden_from"].get<std::string>().c_str());
    for (const auto &target : json.value("modules", ordered_json::array()))
        print_text(stdout, "modules   %s: %s of SPIR-V, %u kernels, at most %s shared\n",
                   target["target"].get<std::string>().c_str(), bytes_text(target["bytes"]).c_str(),
                   target["modules"].get<unsigned>(), bytes_text(target["shared_bytes"]).c_str());
}

void print_outputs(const ordered_json &outputs) {
    for (const auto &output : outputs) {
        print_text(stdout, "          -> %s: %u %s, %u row%s per %s",
                   output["name"].get<std::string>().c_str(), output["width"].get<unsigned>(),
                   output.contains("sample_rate") ? "samples" : "values",
                   output["clock"][0] == 0 ? 1 : output["clock"][0].get<unsigned>(),
                   output["clock"][0].get<unsigned>() > 1 ? "s" : "",
                   output["clock"][0] == 0 ? "sequence" : (output["clock"][1].dump() + " ticks").c_str());
        if (output.contains("sample_rate"))
            print_text(stdout, ", audio %u Hz, lag %u", output["sample_rate"].get<unsigned>(),
                       output["lag"].get<unsigned>());
        print_text(stdout, "\n");
    }
}

// Outputs stand below the first of the entries that have the same ones. `alone`: no report says
// delay, caches and calls of a stream.
void print_entries(const ordered_json &json, bool alone) {
    std::vector<ordered_json> seen;
    for (const auto &entry : json["entries"]) {
        const std::string kind = entry["kind"];
        print_text(stdout, "%-9s ", kind.c_str());
        if (kind == "run") print_text(stdout, "up to %u ticks: ", entry["block"].get<unsigned>());
        if (kind == "stream") print_text(stdout, "block %u: ", entry["block"].get<unsigned>());
        if (kind == "stream" && alone && !entry["outputs"].empty())
            print_text(stdout, "delay %u ticks, ", entry["outputs"][0]["delay"].get<unsigned>());
        if (kind != "stream" || alone) print_text(stdout, "%u steps, ", entry["steps"].get<unsigned>());
        print_text(stdout, "working memory %s%s", bytes_text(entry["arena_bytes"]).c_str(),
                   entry["mixed"].get<bool>() ? " on a GPU and the CPU"
                   : entry["device"] == "gpu" ? " on a GPU"
                                              : "");
        if (alone && entry["cache_bytes"] != 0)
            print_text(stdout, ", caches %s per stream", bytes_text(entry["cache_bytes"]).c_str());
        print_text(stdout, "\n");
        ordered_json outputs = entry["outputs"];
        for (auto &output : outputs) output.erase("delay");
        if (!outputs.empty() && std::find(seen.begin(), seen.end(), outputs) == seen.end()) {
            print_outputs(outputs);
            seen.push_back(std::move(outputs));
        }
        if (entry.contains("plan"))
            for (const auto &step : entry["plan"])
                print_text(stdout, "          %-32s %s\n", step["name"].get<std::string>().c_str(),
                           step["kernel"].get<std::string>().c_str());
    }
}

Status write_page(const InspectFlags &flags, const ArtifactFile &file, const ordered_json &json) {
    std::vector<StepTimes> times;
    if (flags.time) {
        LW_ASSIGN(times, measure_steps(file, flags.model));
        if (times.empty())
            return Status::device(flags.model.path + ": --time: this CPU runs none of its code");
    }
    LW_ASSIGN(const std::string page,
              model_page({file, json["report"], json["certificates"], json["signature"], times},
                         flags.model.path + ": its compile report"));
    LW_TRY(write_output(flags.html, {reinterpret_cast<const uint8_t *>(page.data()), page.size()}));
    print_text(stderr, "%s: %s\n", flags.html.c_str(), bytes_text(page.size()).c_str());
    return {};
}

Status inspect(const InspectFlags &flags) {
    const std::string &path = flags.model.path;
    if (flags.time && flags.html.empty()) return Status::usage("--time: needs --html, which shows the times");
    if (!flags.html.empty()) LW_TRY(check_output("--html", flags.html, {path}));
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(path));
    LW_ASSIGN(const ordered_json json, description_of(file, path, flags.steps));
    if (!flags.html.empty()) LW_TRY(write_page(flags, file, json));
    if (flags.json) {
        print_text(stdout, "%s\n", json_line(json).c_str());
        return {};
    }
    ReportText report;
    if (!json["report"].is_null()) {
        LW_ASSIGN(report, report_of_model(json["report"], path + ": its compile report"));
    }
    if (report.title.empty()) print_title(json);
    else print_text(stdout, "%s", report.title.c_str());
    print_file(json);
    print_entries(json, report.title.empty());
    print_state(json);
    print_scalars(json);
    print_text(stdout, "%s", report.body.c_str());
    return {};
}

} // namespace

Command add_inspect(CommandLine &program) {
    auto flags = std::make_shared<InspectFlags>();
    CommandLine *app = program.add_subcommand(
        "inspect", "Print the contents of a compiled model: inputs, outputs, entries, state and report.");
    app->add_option("model", flags->model.path, "Compiled model (.lw)")->file(".lw")->required();
    app->add_flag("--steps", flags->steps, "Also print every step of every entry");
    app->add_flag("--json", flags->json,
                  "Print one JSON object, with the compile report and the certificates");
    app->add_option(
           "--html", flags->html,
           "Write a page to look at: graph, layers, memory, kernels, state and hashes. It is one file and "
           "needs no network")
        ->file(".html");
    app->add_flag(
        "--time", flags->time,
        "With --html: run the model on this machine, and show the time of each kernel at each level of "
        "code");
    return {app, [flags] { return inspect(*flags); }};
}

} // namespace longwave::cli
