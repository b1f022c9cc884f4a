// longwave tune: measures the planner's tables on this machine and writes them to a file for
// `longwave compile --tuning`. Each candidate runs in its own process: this program with --measure.
#include "formats/base/expected.h"
#include "targets/target.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/tuning_file.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/process/programs.h"
#include "tools/kernels/kernel_call.h"
#include "tools/kernels/machine.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using nlohmann::json;
using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// longwave tune --device: measures what the planner's choices for a GPU rest on.

#if LONGWAVE_WITH_VULKAN
// Three significant digits.
double three_digits(double value) { return std::strtod(format("%.3g", value).c_str(), nullptr); }

Expected<ordered_json> measure(const std::string &device) {
    LW_ASSIGN(const std::shared_ptr<lw_device> opened, open_device(device));
    lw_vulkan_info info = {};
    lw_vulkan_costs costs = {};
    info.struct_size = sizeof info;
    costs.struct_size = sizeof costs;
    LW_TRY(status_of(lw_vulkan_get_info(opened.get(), &info), "--device " + device));
    LW_TRY(status_of(lw_vulkan_measure(opened.get(), &costs), "--device " + device));
    const ordered_json found{{"device", info.name},
                             {"driver", info.driver},
                             {"date", today()},
                             {"bytes_per_ns", three_digits(costs.bytes_per_ns)},
                             {"ns_per_dispatch", three_digits(costs.ns_per_dispatch)},
                             {"busy_workgroups", costs.busy_workgroups}};
    return ordered_json::parse(json_line(found)); // a driver may name its device in any bytes
}
#else
Expected<ordered_json> measure(const std::string &device) { return open_device(device).status(); }
#endif

// Measures the device, "vulkan", "vulkan:NAME" or "vulkan:NUMBER", writes "gpu" into the tuning file
// `output` and prints the result. Other keys of the file stay. Fault::usage: another kind of device,
// or this program was built without Vulkan. Fault::device: there is no such device, or it fails.
Status tune_device(const std::string &device, const std::string &output, bool json) {
    if (device.substr(0, device.find(':')) != "vulkan")
        return Status::usage("--device " + device +
                             ": expected vulkan or vulkan:NAME; without --device the CPU is measured");
    LW_TRY(check_output("-o", output, {}));
    LW_ASSIGN(ordered_json file, read_tuning_file(output));
    LW_ASSIGN(const ordered_json gpu, measure(device));
    file["gpu"] = gpu;
    LW_TRY(write_tuning_file(output, file));
    if (json) {
        const ordered_json all{{"what", "tune"}, {"output", output}, {"gpu", gpu}};
        print_text(stdout, "%s\n", json_line(all).c_str());
        return {};
    }
    print_text(stdout, "gpu       %s\n", printable(gpu["device"].get<std::string>()).c_str());
    print_text(stdout, "          copies %g GB/s, from %g workgroups of 256 threads on; %s per dispatch\n",
               gpu["bytes_per_ns"].get<double>(), gpu["busy_workgroups"].get<double>(),
               seconds_text(gpu["ns_per_dispatch"].get<double>() * 1e-9).c_str());
    print_text(stdout, "wrote     %s\n", output.c_str());
    return {};
}

// longwave tune MODEL: times the variants of a model's kernels on a GPU.

#if LONGWAVE_WITH_VULKAN
Expected<std::vector<lw_vulkan_variants>> variants_of(const Model &model) {
    size_t n = 0;
    (void)lw_vulkan_get_variants(model.handle.get(), nullptr, &n); // says how many there are
    std::vector<lw_vulkan_variants> list(n);
    if (n > 0) list[0].struct_size = sizeof list[0];
    LW_TRY(status_of(lw_vulkan_get_variants(model.handle.get(), list.data(), &n), "variants"));
    return list;
}

// "linear in=96 out=12 rows=1 + gelu"
std::string variant_text(const std::string &spec) {
    const json kernel = json::parse(spec, nullptr, false);
    if (!kernel.is_object()) return spec;
    std::string text = kernel.value("kernel", "");
    const json params = kernel.value("params", json::object()),
               epilogue = kernel.value("epilogue", json::array());
    for (const auto &[name, value] : params.items()) text += " " + name + "=" + value.dump();
    for (const json &one : epilogue) text += " + " + one.value("op", "");
    return text;
}

ordered_json times_json(const lw_vulkan_variants &kernel) {
    ordered_json us = ordered_json::array();
    for (uint32_t v = 0; v < kernel.n; v++) us.push_back(kernel.us[v]);
    return {{"kernel", kernel.kernel}, {"chosen", kernel.chosen}, {"us", us}};
}

void print_times(const lw_vulkan_variants &kernel) {
    std::string times;
    for (uint32_t v = 0; v < kernel.n; v++)
        times += "  " + (kernel.us[v] > 0 ? seconds_text(kernel.us[v] * 1e-6) : std::string("-")) +
                 (v == kernel.chosen ? " *" : "");
    print_text(stdout, "  %-64s%s\n", variant_text(kernel.kernel).c_str(), times.c_str());
}
#endif

// Times them anew on the device, "vulkan", "vulkan:NAME" or "vulkan:NUMBER", and prints the result.
// The device's cache remembers the choice. Fault::usage: another kind of device. Fault::device:
// there is no such device, or the model has no code for it.
Status tune_variants(const std::string &path, const std::string &device, bool as_json) {
    if (device.substr(0, device.find(':')) != "vulkan")
        return Status::usage("--device " + device +
                             ": expected vulkan or vulkan:NAME for the variants of a model");
    ModelFlags flags;
    flags.path = path;
    flags.device = device;
    flags.use.time_variants = true;
    LW_ASSIGN(const Model model, Model::open(flags));
#if LONGWAVE_WITH_VULKAN
    LW_ASSIGN(const std::vector<lw_vulkan_variants> kernels, variants_of(model));
    const std::string name = printable(cli::name_of(model.device.get()));
    if (as_json) {
        ordered_json list = ordered_json::array();
        for (const lw_vulkan_variants &kernel : kernels) list.push_back(times_json(kernel));
        print_text(
            stdout, "%s\n",
            json_line(ordered_json{{"what", "variants"}, {"device", name}, {"kernels", list}}).c_str());
        return {};
    }
    size_t changed = 0;
    for (const lw_vulkan_variants &kernel : kernels) changed += kernel.chosen > 0;
    print_text(stdout,
               "gpu       %s\n          %zu kernels have variants; of %zu another than the first is the "
               "fastest (*)\n",
               name.c_str(), kernels.size(), changed);
    for (const lw_vulkan_variants &kernel : kernels) print_times(kernel);
#endif
    return {};
}

struct TuneFlags {
    std::string model, output = "longwave-tuning.json", target, cache, kgen, measure, tables, device;
    double minutes = 10, timeout = 120, seconds = 0.3;
    bool compare = false, json = false, quiet = false;
};

Expected<const targets::Target *> target_of(const TuneFlags &flags) {
    const targets::Target *best = nullptr;
    for (const targets::Target &target : targets::all())
        if (!target.by_name && kernels::host_runs(target)) best = &target;
    if (flags.target.empty() && best) return best;
    const targets::Target *target = targets::find(flags.target);
    if (!target) return Status::usage("--target " + flags.target + ": unknown target");
    if (!kernels::host_runs(*target))
        return Status::usage("--target " + flags.target + ": this CPU cannot run its code");
    return target;
}

Expected<std::string> kgen_of(const TuneFlags &flags) {
    if (!flags.kgen.empty()) return flags.kgen;
    return installed_kgen();
}

// ---- one candidate, in a process of its own

Status measure_one(const TuneFlags &flags) {
    end_with_parent();
    LW_ASSIGN(const targets::Target *const target, target_of(flags));
    LW_ASSIGN(const std::string kgen, kgen_of(flags));
    LW_ASSIGN(const TuningFile file, TuningFile::open(flags.output, *target));
    kernels::MeasureOptions options{
        .target = target, .kgen = kgen, .cache = flags.cache, .seconds = flags.seconds};
    const ordered_json tuned = file.json();
    const bool candidate = flags.measure.rfind("structures ", 0) == 0;
    if (!candidate && tuned.contains("structures")) options.structures = tuned["structures"].dump();
    const Interruptible nothing_left_behind;
    kernels::pin_to_this_cpu();
    LW_ASSIGN(const nlohmann::json result, kernels::measure(flags.measure, options));
    print_text(stdout, "%s\n", result.dump().c_str());
    return {};
}

// ---- all of them

class Tuner {
public:
    Tuner(const TuneFlags &flags, const targets::Target &target, std::string kgen)
        : flags_(flags), target_(target), kgen_(std::move(kgen)), start_(now()) {
        std::error_code error;
        self_ = std::filesystem::read_symlink("/proc/self/exe", error).string();
    }

    Status run() {
        LW_ASSIGN(TuningFile file, TuningFile::open(flags_.output, target_));
        file.forget_failed_costs();
        Status status = search(file);
        if (status) status = file.add_time(now() - start_);
        progress_.finish();
        LW_TRY(status);
        print(file);
        return {};
    }

    // Runs one process. Returns its result, or its failure as {"failed": reason}.
    Expected<nlohmann::json> one(const std::string &name) const {
        std::vector<std::string> arguments = {
            self_,      "tune",       "--measure", name,  "--output",  flags_.output,
            "--target", target_.name, "--kgen",    kgen_, "--seconds", format("%g", flags_.seconds)};
        if (!flags_.cache.empty()) arguments.insert(arguments.end(), {"--cache", flags_.cache});
        LW_ASSIGN(const SandboxedResult done, run_sandboxed(arguments, flags_.timeout));
        if (!done.failure.empty()) return nlohmann::json{{"failed", done.failure}};
        nlohmann::json result = nlohmann::json::parse(done.output, nullptr, false);
        if (result.is_discarded()) return nlohmann::json{{"failed", "its output is not JSON"}};
        return result;
    }

    Status compare() {
        LW_ASSIGN(const TuningFile file, TuningFile::open(flags_.output, target_));
        if (!file.json().contains("structures"))
            return Status::usage(flags_.output + ": has no measured structures yet");
        const auto names = kernels::judged_kernels();
        ordered_json list = ordered_json::array();
        size_t within = 0;
        for (size_t i = 0; i < names.size(); i++) {
            if (!flags_.quiet) progress_.show(i, names.size(), names[i]);
            LW_ASSIGN(const auto result, one("judge " + names[i]));
            list.push_back({{"kernel", names[i]}, {"ratio", result}});
            within += result.is_number() && result.get<double>() <= 1.05;
        }
        progress_.finish();
        if (flags_.json) {
            const ordered_json all{{"what", "tuning"},
                                   {"target", target_.name},
                                   {"cpu", kernels::cpu_name()},
                                   {"within_5_percent", within},
                                   {"kernels", list}};
            print_text(stdout, "%s\n", json_line(all).c_str());
            return {};
        }
        print_text(stdout, "time with %s, relative to the shipped tables, %s\n", flags_.output.c_str(),
                   target_.name.c_str());
        for (const auto &row : list)
            print_text(stdout, "  %-18s %s\n", row["kernel"].get<std::string>().c_str(),
                       row["ratio"].is_number() ? format("%.3f", row["ratio"].get<double>()).c_str()
                                                : row["ratio"].dump().c_str());
        print_text(stdout, "within 5 %%: %zu of %zu\n", within, names.size());
        return {};
    }

private:
    double spent() const { return now() - start_; }

    // Structures come first, because costs depend on them. Structures get three fifths of the time.
    Status search(TuningFile &file) {
        while (spent() < 0.6 * 60 * flags_.minutes) {
            const auto names = kernels::structure_names(target_, file.measured());
            const auto next = std::find_if(names.begin(), names.end(),
                                           [&](const auto &name) { return !file.measured().count(name); });
            if (next == names.end()) break;
            LW_TRY(measure(file, *next));
        }
        for (const std::string &name : kernels::cost_names())
            if (spent() < 60 * flags_.minutes && !file.measured().count("cost " + name))
                LW_TRY(measure(file, "cost " + name));
        return {};
    }

    Status measure(TuningFile &file, const std::string &name) {
        const size_t costs = kernels::cost_names().size(),
                     total = kernels::structure_total(target_, file.measured()) + costs;
        if (!flags_.quiet)
            progress_.show(file.measured().size(), std::max(total, file.measured().size()),
                           format("%.0f s left · ", std::max(0.0, 60 * flags_.minutes - spent())) + name);
        LW_ASSIGN(nlohmann::json result, one(name));
        if (!kernels::plausible(name, result)) result = {{"failed", "its output is not a measurement"}};
        return file.put(name, std::move(result));
    }

    void print(const TuningFile &file) const {
        const ordered_json json = file.json();
        size_t failed = 0;
        for (const auto &[name, result] : file.measured())
            failed += !kernels::succeeded(file.measured(), name);
        if (flags_.json) {
            const ordered_json all{{"what", "tune"},
                                   {"output", flags_.output},
                                   {"made", json["made"]},
                                   {"measured", file.measured().size()},
                                   {"failed", failed},
                                   {"complete", file.complete()},
                                   {"structures", json.contains("structures")},
                                   {"costs", json.contains("costs")}};
            print_text(stdout, "%s\n", json_line(all).c_str());
            return;
        }
        print_text(stdout, "machine   %s, code %s\n", kernels::cpu_name().c_str(), target_.name.c_str());
        print_text(stdout, "%s", kernels::structure_summary(target_, file.measured()).c_str());
        print_text(stdout, "costs     %s\n",
                   json.contains("costs") ? "all tables" : "not complete, so the shipped tables stay in use");
        print_text(stdout, "wrote     %s  %zu measured, %zu failed, %s%s\n", flags_.output.c_str(),
                   file.measured().size(), failed, seconds_text(spent()).c_str(),
                   file.complete() ? "" : "; not complete: repeat the command to continue");
    }

    const TuneFlags &flags_;
    const targets::Target &target_;
    std::string kgen_, self_;
    double start_;
    Progress progress_;
};

Status tune(const TuneFlags &flags) {
    if (!flags.model.empty() && flags.device.empty())
        return Status::usage("a model is timed on a GPU: add --device vulkan");
    if (!flags.model.empty()) return tune_variants(flags.model, flags.device, flags.json);
    if (!flags.device.empty()) return tune_device(flags.device, flags.output, flags.json);
    if (!flags.measure.empty()) return measure_one(flags);
    LW_ASSIGN(const targets::Target *const target, target_of(flags));
    if (!flags.tables.empty()) {
        LW_ASSIGN(const TuningFile file, TuningFile::open(flags.output, *target));
        return file.write_tables(flags.tables);
    }
    LW_ASSIGN(std::string kgen, kgen_of(flags));
    LW_TRY(check_output("-o", flags.output, {kgen}));
    Tuner tuner(flags, *target, std::move(kgen));
    return flags.compare ? tuner.compare() : tuner.run();
}

} // namespace

Command add_tune(CommandLine &program) {
    auto flags = std::make_shared<TuneFlags>();
    CommandLine *app = program.add_subcommand(
        "tune", "Measure the cost tables and the structures of transforms on this machine.");
    Option *const model =
        app->add_option("model", flags->model,
                        "Compiled model: time the variants of its kernels on --device instead, and "
                        "remember the fastest")
            ->file(".lw");
    Option *const output = app->add_option("-o,--output", flags->output,
                                           "Tuning file to write. If it exists, tuning resumes from it")
                               ->file(".json")
                               ->capture_default_str();
    Option *const device =
        app->add_option("--device", flags->device,
                        "GPU to measure instead of the CPU: copies, dispatches and how many workgroups keep "
                        "it busy. vulkan is the best GPU. vulkan:NAME and vulkan:NUMBER choose one of "
                        "`longwave devices`")
            ->value("DEVICE")
            ->suggests({"vulkan"});
    Option *const minutes =
        app->add_option("--minutes", flags->minutes, "Longest time to measure, in minutes")
            ->check(range(0.0, 10000.0))
            ->capture_default_str();
    Option *const timeout =
        app->add_option("--timeout", flags->timeout,
                        "Longest time per measurement in seconds, including the compilation")
            ->check(range(0.05, 3600.0))
            ->value("SECONDS")
            ->capture_default_str();
    Option *const seconds =
        app->add_option("--seconds", flags->seconds, "Time to call each kernel, in seconds")
            ->check(range(0.001, 60.0))
            ->capture_default_str();
    Option *const target = app->add_option("--target", flags->target,
                                           "CPU level to measure (default: the best level of this CPU)")
                               ->value("TARGET")
                               ->suggests({"x86-64-v2", "x86-64-v3", "x86-64-v4"});
    Option *const compare =
        app->add_flag("--compare", flags->compare,
                      "Compare the transforms of the tuning file with the shipped ones instead, alternately");
    Option *const tables = app->add_option("--tables", flags->tables,
                                           "Write the tables of the tuning file into this folder instead")
                               ->folder();
    app->add_option("--measure", flags->measure,
                    "(internal) Measure a single candidate by name and print the result")
        ->hidden();
    app->add_flag("--quiet", flags->quiet, "Show no progress line. Only a terminal shows one");
    app->add_flag("--json", flags->json, "Print the result as one JSON object");
    Option *const cache = app->add_option("--cache", flags->cache,
                                          "Folder of compiled kernels (default: in the user's cache folder)")
                              ->folder();
    Option *const kgen =
        app->add_option("--kgen", flags->kgen,
                        "Kernel compiler to start (default: the longwave-kgen next to this program)")
            ->file();
    for (const Option *of_the_cpu : {minutes, timeout, seconds, target, compare, tables, cache, kgen})
        device->excludes(of_the_cpu);
    model->excludes(output);
    app->footer("`longwave compile --tuning FILE` reads the tuning file.");
    return {app, [flags] { return tune(*flags); }};
}

} // namespace longwave::cli
