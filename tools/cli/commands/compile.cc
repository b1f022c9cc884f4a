// longwave compile: a model package becomes one file, and the stream of it is proved equal to the whole
// before that file is written.
#include "compiler/driver/compile.h"
#include "formats/package/file_bytes.h"
#include "formats/package/layer_types.h"
#include "formats/package/package.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/process/installed_program.h"
#include "tools/cli/model/model.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/check/streaming_check.h"
#include "tools/cli/output/report.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/text.h"
#include "tools/cli/check/entry_switching.h"
#include <algorithm>
#include <cstdio>
#include <iostream>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct CompileFlags {
    std::string package, output, targets, place, convolution, tuning,
        weights = "float32", gpu_storage = "f32", dump_after, cache, kgen, sign;
    std::vector<uint32_t> blocks, lengths;
    uint32_t window = 0, hop = 0;
    unsigned jobs = 0, walks = 20;
    bool stream = false, no_stream = false, no_whole = false, no_check = false, timings = false, json = false,
         quiet = false, layers = false;
};

// auto, layers with their device, a file of times; separated by commas.
Expected<compiler::Placement> placement_of(const std::string &text) {
    compiler::Placement placement;
    for (const std::string &part : split(text, ',')) {
        const size_t device = part.rfind('=');
        if (part == "auto") placement.automatic = true;
        else if (device != std::string::npos && device > 0 && part.substr(device + 1) == "cpu")
            placement.cpu_layers.insert(part.substr(0, device));
        else if (device == std::string::npos && placement.times.empty()) {
            LW_ASSIGN(const auto bytes, package::read_file(part, 16 << 20));
            placement.times.assign(bytes.begin(), bytes.end());
            placement.times_name = part;
            if (bytes.empty()) return Status::input(part + ": no times of layers: it is empty");
        } else {
            return Status::usage("--place " + part +
                                 ": expected auto, LAYER=cpu with the name of a layer, or one file of times");
        }
    }
    return placement;
}

Expected<compiler::Options> options_of(const CompileFlags &flags) {
    compiler::Options options;
    for (const std::string &name : split(flags.targets, ',')) {
        const std::string target = name == "host" ? host_target() : name;
        if (target.empty())
            return Status::usage("--target host: this CPU is none of the known targets");
        if (std::find(options.targets.begin(), options.targets.end(), target) == options.targets.end())
            options.targets.push_back(target);
    }
    LW_ASSIGN(options.place, placement_of(flags.place));
    options.stream = flags.stream      ? compiler::StreamMode::required
                     : flags.no_stream ? compiler::StreamMode::none
                                       : compiler::StreamMode::if_possible;
    options.blocks = flags.blocks;
    if (!flags.lengths.empty()) {
        options.length = flags.lengths[0];
        options.further_lengths.assign(flags.lengths.begin() + 1, flags.lengths.end());
    }
    options.window = flags.window;
    options.hop = flags.hop;
    options.whole = !flags.no_whole;
    options.jobs = flags.jobs;
    options.cache = flags.cache;
    options.convolution = flags.convolution;
    if (!flags.tuning.empty()) {
        LW_ASSIGN(const auto bytes, package::read_file(flags.tuning, 16 << 20));
        options.tuning.assign(bytes.begin(), bytes.end());
        options.tuning_name = flags.tuning;
        if (bytes.empty()) return Status::input(flags.tuning + ": no tuning file: it is empty");
    }
    options.weights = flags.weights;
    options.gpu_storage = flags.gpu_storage;
    options.dump_after = flags.dump_after;
    options.timings = flags.timings;
    options.dump = &std::cerr; // logs; stdout is for the report
    if (flags.kgen.empty()) {
        LW_ASSIGN(options.kgen, kgen_beside_this_program());
    } else {
        options.kgen = flags.kgen;
    }
    return options;
}

struct Proved {
    std::vector<Proof> proofs;
    std::vector<Walk> walks;
    std::vector<std::string> elsewhere; // targets this machine cannot run
    bool stream = false;                // there is a stream to prove
    bool hold() const {
        return std::all_of(proofs.begin(), proofs.end(), [](const Proof &p) { return p.holds(); }) &&
               std::all_of(walks.begin(), walks.end(), [](const Walk &w) { return w.holds(); });
    }
};

Expected<Proved> prove(const compiler::Compiled &compiled, const ordered_json &report, unsigned walks) {
    Proved result;
    std::vector<Model> models;
    if (!report.contains("targets")) return result;
    for (const auto &target : report["targets"]) {
        const std::string name = target["name"];
        auto model = Model::open(compiled.artifact, name);
        if (!model && model.status().fault() == Fault::device) {
            result.elsewhere.push_back(name);
            continue;
        }
        if (!model) return model.status();
        double worst = 0;
        LW_TRY(status_of(lw_model_verify(model->handle.get(), &worst), "golden vectors on " + name));
        if (!model->info.has_stream) continue;
        result.stream = true;
        for (uint32_t entry = 0; entry < model->info.n_stream_entries; entry++) {
            LW_ASSIGN(Proof proof, prove_stream(*model, 20, entry));
            result.proofs.push_back(std::move(proof));
        }
        if (model->info.n_stream_entries > 1)
            models.push_back(*std::move(model)); // to be walked through together
    }
    if (!models.empty() && models[0].info.n_stream_entries > 1) {
        LW_ASSIGN(Walk walk, walk_entries(models, walks));
        result.walks.push_back(std::move(walk));
    }
    return result;
}

const Proof &first_of(const std::vector<Proof> &proofs, uint32_t block) {
    return *std::find_if(proofs.begin(), proofs.end(), [&](const Proof &p) { return p.block == block; });
}

// A line for each block, with the worst of the variants.
std::string text(const Proved &proved) {
    std::string out;
    for (const Proof &proof : proved.proofs) {
        if (&proof != &first_of(proved.proofs, proof.block)) continue;
        Proof worst = proof;
        std::string variants;
        for (const Proof &other : proved.proofs) {
            if (other.block != proof.block) continue;
            variants += (variants.empty() ? "" : ", ") + other.variant;
            worst.largest_error = std::max(worst.largest_error, other.largest_error);
            worst.bit_equal = worst.bit_equal && other.bit_equal;
        }
        out += format("stream    block %u on %s: ", proof.block, variants.c_str()) + to_text(worst) + "\n";
    }
    for (const Walk &walk : proved.walks)
        out += format("entries   %s: ", walk.variants.c_str()) + to_text(walk) + "\n";
    for (const std::string &name : proved.elsewhere)
        out += format("          %s: not proved here: run `longwave verify` there\n", name.c_str());
    return out;
}

Status write(const std::string &path, const std::vector<uint8_t> &bytes) {
    if (path != "-") return write_output(path, bytes);
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
        return Status::device("standard output cannot be written");
    return {};
}

// Compiled bytes and their report. A signal on the way leaves nothing behind.
Expected<compiler::Compiled> compile_package(package::Package package, compiler::Options options,
                                             bool quiet) {
    Progress progress;
    if (!quiet)
        options.progress = [&](size_t done, size_t total, const std::string &what) {
            progress.show(done, total, what);
        };
    const Interruptible nothing_left_behind;
    return compiler::compile(std::move(package), options);
}

// Everything that the command reads: none of it may be the output.
Status check_output_of(const CompileFlags &flags, const std::string &path) {
    if (path == "-") return {};
    return check_output("-o", path,
                        {flags.package + "/model.json", flags.package + "/weights.safetensors", flags.sign,
                         flags.kgen, flags.tuning});
}

std::string wrote(const std::string &path, size_t bytes, double seconds, const ordered_json &build) {
    const size_t cached = build.value("kernels_cached", size_t{0});
    const size_t kernels = cached + build.value("kernels_compiled", size_t{0});
    return "wrote     " + path + "  " + bytes_text(bytes) + " · " + seconds_text(seconds) +
           format(", %zu of %zu kernels from the cache\n", cached, kernels);
}

Status compile(const CompileFlags &flags) {
    const double start = now();
    if (flags.package.empty()) return Status::usage("the model folder is missing (longwave compile --help)");
    LW_ASSIGN(compiler::Options options, options_of(flags));
    LW_ASSIGN(package::Package package, package::read(flags.package));
    const std::string path = flags.output.empty() ? package.name + ".lw" : flags.output;
    LW_TRY(check_output_of(flags, path));
    LW_ASSIGN(compiler::Compiled compiled,
              compile_package(std::move(package), std::move(options), flags.quiet));
    ordered_json report = ordered_json::parse(compiled.report, nullptr, false);
    if (report.is_discarded()) return Status::internal("the compile report is no JSON");
    const ordered_json build = report.value("build", ordered_json::object());
    if (build.contains("no_cache"))
        std::fprintf(stderr,
                     "note: no kernel cache, every kernel was compiled: %s (another place: --cache FOLDER)\n",
                     build["no_cache"].get<std::string>().c_str());
    const ordered_json gpu = report.value("gpu", ordered_json::object());
    for (const auto &[key, what] :
         {std::pair{"no_runs", "whole sequences"}, std::pair{"no_streams", "stream"}})
        if (gpu.contains(key))
            std::fprintf(stderr, "note: no %s for %s, on CPUs alone:\n%s\n", what,
                         gpu["name"].get<std::string>().c_str(), gpu[key].get<std::string>().c_str());

    Proved proved;
    if (!flags.no_check) {
        LW_ASSIGN(proved, prove(compiled, report, flags.walks));
    }
    FILE *out = path == "-" ? stderr : stdout;
    if (flags.json) {
        report["proof"] = {{"holds", proved.hold()},
                           {"variants", ordered_json::array()},
                           {"not_proved_here", proved.elsewhere}};
        for (const Proof &proof : proved.proofs) report["proof"]["variants"].push_back(to_json(proof));
        for (const Walk &walk : proved.walks) report["proof"]["walks"].push_back(to_json(walk));
        report["output"] = path;
    } else {
        LW_ASSIGN(const std::string lines, report_text(report, "the compile report"));
        std::fprintf(out, "%s%s", lines.c_str(), text(proved).c_str());
    }
    // A file on disk is a promise: none is written when the proof fails.
    if (!proved.hold()) {
        if (flags.json) std::fprintf(out, "%s\n", json_line(report).c_str());
        return Status::check("the stream does not equal the whole; nothing was written");
    }
    if (!flags.sign.empty()) {
        LW_ASSIGN(const PublicKey key, sign(compiled.artifact, flags.sign));
        if (flags.json) report["signed_by"] = to_hex(key);
        else std::fprintf(out, "signed    by %s\n", to_hex(key).c_str());
    }
    LW_TRY(write(path, compiled.artifact));
    const std::string last =
        flags.json ? json_line(report) + "\n" : wrote(path, compiled.artifact.size(), now() - start, build);
    std::fprintf(out, "%s", last.c_str());
    return {};
}

// Which machines the code is for.
void add_target_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option("--target", flags.targets,
                   "Targets, separated by commas. `host` is the best level of this CPU. vulkan-16k and "
                   "vulkan-32k are GPUs with that much shared memory (default: all levels of this CPU's "
                   "architecture)")
        ->value("TARGETS")
        ->suggests({"host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "vulkan-16k", "vulkan-32k"})
        ->separator(',');
    app.add_option("--place", flags.place,
                   "Device placement for offline runs on a GPU, separated by commas. LAYER=cpu runs a layer on the "
                   "CPU. `auto` does so for every layer that the GPU target cannot run. A FILE of `longwave bench "
                   "MODEL --device vulkan --layers --json` chooses the fastest placement by its times")
        ->value("PLACEMENT")
        ->suggests({"auto"});
}

// Which offline runs and streams the compiled model has.
void add_entry_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option("--blocks,--block", flags.blocks,
                   "Stream blocks in input ticks, separated by commas. Each makes one stream entry. The first is "
                   "the default entry (default: the least common multiple of the hops)")
        ->delimiter(',')
        ->check(range(1, 1 << 20))
        ->value("TICKS");
    app.add_option("--length,--lengths", flags.lengths,
                   "Longest offline run in input ticks. With several lengths, separated by commas, a run uses the "
                   "shortest that fits. Layers with a fixed length, such as orchid, accept only these lengths "
                   "(default: one second of audio, or the longest kernel)")
        ->delimiter(',')
        ->check(range(1, 1 << 24))
        ->value("TICKS");
    app.add_option("--window", flags.window,
                   "Stream a model that looks ahead: run it over the last TICKS input ticks, every --hop ticks. "
                   "Offline runs then have this length")
        ->check(range(1, 1 << 24))
        ->value("TICKS");
    app.add_option("--hop", flags.hop, "Input ticks between two windows of --window. A window has at most 64 hops")
        ->check(range(1, 1 << 20))
        ->value("TICKS");
    Option *stream = app.add_flag("--stream", flags.stream,
                                  "Fail if the model cannot stream (default: compile offline runs only)");
    app.add_flag("--no-stream", flags.no_stream, "Compile offline runs only")->excludes(stream);
    app.add_flag("--no-whole", flags.no_whole, "Compile the stream only, without offline runs");
}

// How numbers are stored, and which algorithms compute.
void add_weight_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option("--weights", flags.weights,
                   "Storage of the weights of linear layers. int8 has one scale per output. Sums stay float32, and "
                   "the report states the errors")
        ->value("TYPE")
        ->suggests({"float32", "bf16", "int8"})
        ->capture_default_str();
    app.add_option("--gpu-storage", flags.gpu_storage,
                   "Storage of intermediate tensors in offline runs on a GPU. With f16, sums stay float32, and the "
                   "device needs storageBuffer16BitAccess. Streams always store float32")
        ->value("TYPE")
        ->suggests({"f32", "f16"})
        ->capture_default_str();
    app.add_option("--convolution", flags.convolution,
                   "Use this algorithm wherever an op has several. The report lists their names (default: the "
                   "fastest by predicted cost)")
        ->value("ALGORITHM")
        ->suggests({"step", "chunk", "scan", "direct", "right_angle", "polyphase", "partitioned", "nonuniform", "dyadic",
                    "fused", "four_step", "blocks", "tiles", "queries"});
    app.add_option("--tuning", flags.tuning,
                   "Cost tables that `longwave tune` measured (default: the shipped tables)")
        ->file(".json");
}

// The types that model.json may name, one per line, or as a JSON list.
Status list_layers(bool json) {
    ordered_json names = ordered_json::array();
    for (const package::LayerType &type : package::layer_types()) names.push_back(type.name);
    std::sort(names.begin(), names.end());
    if (json) std::printf("%s\n", json_line(names).c_str());
    else
        for (const auto &name : names) std::printf("%s\n", name.get<std::string>().c_str());
    return {};
}

} // namespace

Command add_compile(CommandLine &program) {
    auto flags = std::make_shared<CompileFlags>();
    CommandLine *app = program.add_subcommand(
        "compile", "Compile a model folder into one .lw file, after checking the stream against the offline run.");
    app->add_option("folder", flags->package, "Model folder: model.json and weights.safetensors")->folder();
    app->add_option("-o,--output", flags->output,
                    "Compiled model to write, or - for standard output (default: NAME.lw)")
        ->file(".lw");
    add_target_flags(*app, *flags);
    add_entry_flags(*app, *flags);
    add_weight_flags(*app, *flags);
    app->add_option("--sign", flags->sign,
                    "File with a secret key of 64 hexadecimal digits (openssl rand -hex 32). Signs the compiled "
                    "model with Ed25519")
        ->file();
    app->add_flag("--no-check", flags->no_check,
                  "Do not run the compiled model: no golden vectors, no streaming check");
    app->add_flag("--no-proof", flags->no_check, "The former name of --no-check")->hidden();
    app->add_option("--walks", flags->walks,
                    "Number of random tests that switch between the stream entries of one model")
        ->check(range(1, 100000))
        ->capture_default_str();
    app->add_flag("--layers", flags->layers, "List the layer types that model.json may contain, and exit");
    app->add_option("--cache", flags->cache, "Folder of compiled kernels (default: in the user's cache folder)")
        ->folder();
    app->add_option("--jobs", flags->jobs, "Number of kernels to compile at once (default: number of CPUs)")
        ->check(range(1, 1024));
    app->add_option("--kgen", flags->kgen,
                    "Kernel compiler to start (default: the longwave-kgen next to this program)")
        ->file();
    app->add_option("--dump-after", flags->dump_after, "Print the graph to stderr after this pass")->value("PASS");
    app->add_flag("--timings", flags->timings, "Print the time of every step to stderr");
    app->add_flag("--quiet", flags->quiet, "Show no progress line. Only a terminal shows one");
    app->add_flag("--json", flags->json, "Print the report and the check results as one JSON object");
    return {app, [flags] { return flags->layers ? list_layers(flags->json) : compile(*flags); }};
}

} // namespace longwave::cli
