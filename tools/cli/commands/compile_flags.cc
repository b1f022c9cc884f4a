#include "tools/cli/commands/compile_flags.h"
#include "formats/package/file_bytes.h"
#include "targets/target.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/programs.h"
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <unistd.h>

namespace longwave::cli {
namespace {

// How much memory this process may have.

// A limit in a file of the kernel, or none: the file is missing, or says "max".
uint64_t limit_in(const std::string &file) {
    uint64_t bytes = 0;
    return std::ifstream(file) >> bytes ? bytes : UINT64_MAX;
}

// Of the control group of this process and of those around it (version 2), or of the one that the
// process sees as the root (version 1).
uint64_t group_limit() {
    uint64_t least = std::min(limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                              limit_in("/sys/fs/cgroup/memory.max"));
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::/")) continue;
        for (std::string group = line.substr(3); group.size() > 1; group.resize(group.rfind('/')))
            least = std::min(least, limit_in("/sys/fs/cgroup" + group + "/memory.max"));
    }
    return least;
}

// Bytes of the machine, or of the control group of this process if that has a lower limit. 0: unknown.
uint64_t machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 0;
    return std::min(static_cast<uint64_t>(pages) * static_cast<uint64_t>(page), group_limit());
}

// auto, layers with their device, or a file of times, separated by commas.
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
            if (bytes.empty())
                return Status::input(
                    part + ": the file is empty; expected the output of `longwave bench --layers --json`");
        } else {
            return Status::usage(
                "--place " + part +
                ": expected auto, LAYER=cpu with the name of a layer, or one file of layer times");
        }
    }
    return placement;
}

// Which machines the code is for.
void add_target_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option("--target", flags.targets,
                   "Targets, separated by commas. `host` is the best level of this CPU. vulkan-16k and "
                   "vulkan-32k are GPUs with that much shared memory (default: x86-64-v2, x86-64-v3 and "
                   "x86-64-v4; on ARM arm64 and arm64-dotprod)")
        ->value("TARGETS")
        ->suggests({"host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-zen4", "arm64", "arm64-dotprod",
                    "armv7", "armv7-vfp4", "cortex-m55", "wasm32", "vulkan-16k", "vulkan-32k"})
        ->separator(',');
    app.add_option("--emulator", flags.emulators,
                   "Check code of another architecture with this command, such as \"qemu-aarch64 -cpu max\". "
                   "It starts "
                   "longwave-runner-TARGET, which lies next to this program. With several such targets: "
                   "TARGET=COMMAND, "
                   "once for each")
        ->single()
        ->value("COMMAND");
    app.add_option("--emulator-timeout", flags.emulator_timeout,
                   "Longest time that one answer of longwave-runner may take, in seconds")
        ->value("SECONDS")
        ->check(range(0.1, 86400.0));
    app.add_option(
           "--place", flags.place,
           "Device placement for offline runs on a GPU, separated by commas. LAYER=cpu runs a layer on the "
           "CPU. `auto` does so for every layer that the GPU target cannot run. A FILE of `longwave bench "
           "MODEL --device vulkan --layers --json` chooses the fastest placement by its times")
        ->value("PLACEMENT")
        ->suggests({"auto"});
}

// Which offline runs and streams the compiled model has.
void add_entry_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option(
           "--blocks,--block", flags.blocks,
           "Stream blocks in input ticks, separated by commas. Each makes one stream entry. The first is "
           "the default entry (default: the least common multiple of the hops)")
        ->delimiter(',')
        ->check(range(1, 1 << 20))
        ->value("TICKS");
    app.add_option(
           "--streams", flags.streams,
           "Kernels for so many streams at once, which read the weights once for all of them: lw_batch, "
           "`longwave bench --streams`. Up to four numbers, ascending. The file grows by their code "
           "(default: one stream)")
        ->delimiter(',')
        ->check(range(2, 64))
        ->value("N");
    app.add_option(
           "--length,--lengths", flags.lengths,
           "Longest offline run in input ticks. With several lengths, separated by commas, a run uses the "
           "shortest that fits. Layers with a fixed length, such as orchid, accept only these lengths "
           "(default: one second of audio, or the longest kernel)")
        ->delimiter(',')
        ->check(range(1, 1 << 24))
        ->value("TICKS");
    app.add_option(
           "--window", flags.window,
           "Stream a model that looks ahead: run it over the last TICKS input ticks, every --hop ticks. "
           "Offline runs then have this length")
        ->check(range(1, 1 << 24))
        ->value("TICKS");
    app.add_option("--hop", flags.hop,
                   "Input ticks between two windows of --window. A window has at most 64 hops")
        ->check(range(1, 1 << 20))
        ->value("TICKS");
    app.add_option(
           "--context", flags.context,
           "Tokens that attention layers of a folder of save_pretrained see, the last one included. A "
           "stream with such layers needs it (default: all tokens, offline only)")
        ->check(range(1, 1 << 20))
        ->value("TOKENS");
    Option *stream = app.add_flag("--stream", flags.stream,
                                  "Fail if the model cannot stream (default: compile offline runs only)");
    app.add_flag("--no-stream", flags.no_stream, "Compile offline runs only")->excludes(stream);
    app.add_flag("--no-whole", flags.no_whole, "Compile the stream only, without offline runs");
}

// How numbers are stored, and which algorithms compute.
void add_weight_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option(
           "--weights", flags.weights,
           "Storage of the weights of linear layers. int8 has one scale per output, int4 one per 32 inputs "
           "of an output; CPUs then multiply integers. Both also store long taps as int8. The report states "
           "the errors")
        ->value("TYPE")
        ->suggests({"float32", "bf16", "int8", "int4"})
        ->capture_default_str();
    app.add_flag("--pack", flags.pack,
                 "Let `longwave pack` put other weights into the file. Layers are not merged, and norms not "
                 "folded");
    app.add_option("--activations", flags.activations,
                   "What CPUs round the input rows of such layers to, with int8 or int4 weights. int8 is "
                   "faster on some "
                   "CPUs and less exact. The line `precision` of the report states the effect")
        ->value("TYPE")
        ->suggests({"int16", "int8"})
        ->capture_default_str();
    app.add_option(
           "--gpu-storage", flags.gpu_storage,
           "Storage of intermediate tensors in offline runs on a GPU. With f16, sums stay float32, and the "
           "device needs storageBuffer16BitAccess. Streams always store float32")
        ->value("TYPE")
        ->suggests({"f32", "f16"})
        ->capture_default_str();
    app.add_option(
           "--gpu-chain", flags.gpu_chain,
           "Steps of a stream on a GPU that touch at most so many bytes share dispatches. 0: each step has "
           "its own")
        ->value("BYTES")
        ->capture_default_str();
    app.add_option(
           "--gpu-variants", flags.gpu_variants,
           "Most variants of a kernel for a GPU, which takes the fastest. 1: no choice, a smaller file")
        ->value("N")
        ->check(range(1, 8))
        ->capture_default_str();
    app.add_option(
           "--convolution", flags.convolution,
           "Use this algorithm wherever an op has several. The report lists their names (default: the "
           "fastest by predicted cost)")
        ->value("ALGORITHM")
        ->suggests(compiler::algorithm_names());
    app.add_option("--tuning", flags.tuning,
                   "Cost tables that `longwave tune` measured (default: the shipped tables)")
        ->file(".json");
}

} // namespace

// What has no meaning for a model that a program contains.
static Status check_static_flags(const CompileFlags &flags) {
    if (flags.output == "-")
        return Status::usage("--emit static: name a file with -o, because a header is written beside it");
    if (!flags.sign.empty())
        return Status::usage(
            "--emit static: leave --sign out, because the program that contains the model is what to sign");
    if (flags.no_code)
        return Status::usage("--emit static: leave --no-code out, because the library is the code");
    return {};
}

Expected<compiler::Options> options_of(const CompileFlags &flags) {
    if (flags.version > 0 && flags.sign.empty())
        return Status::usage(
            "--model-version: give --sign too, because a version counts only under a signature");
    if (flags.no_code && flags.output == "-")
        return Status::usage("--no-code: name a file with -o, because a second file is written beside it");
    if (flags.emit != "lw" && !flags.emit_static())
        return Status::usage("--emit " + flags.emit + ": expected lw or static");
    if (flags.emit_static()) LW_TRY(check_static_flags(flags));
    compiler::Options options;
    for (const std::string &name : split(flags.targets, ',')) {
        const std::string target = name == "host" ? host_target() : name;
        if (target.empty()) return Status::usage("--target host: no target matches this CPU; name a target");
        if (std::find(options.targets.begin(), options.targets.end(), target) == options.targets.end())
            options.targets.push_back(target);
    }
    if (flags.emit_static() && (options.targets.size() != 1 || options.targets[0].starts_with("vulkan")))
        return Status::usage("--emit static: expected one CPU target, such as --target arm64");
    for (const std::string &name : options.targets)
        if (const targets::Target *target = targets::find(name);
            target && !target->loads_code && !flags.emit_static())
            return Status::usage("--target " + name +
                                 ": its programs contain their models: add --emit static");
    if (flags.no_golden)
        for (const std::string &name : options.targets)
            if (name.starts_with("vulkan"))
                return Status::usage("--no-golden: leave it out for " + name +
                                     ", because a GPU runs only after its golden vectors");
    if (flags.no_code && (options.targets.size() != 1 || options.targets[0].starts_with("vulkan")))
        return Status::usage("--no-code: expected one CPU target, such as --target host");
    LW_ASSIGN(options.place, placement_of(flags.place));
    options.stream = flags.stream      ? compiler::StreamMode::required
                     : flags.no_stream ? compiler::StreamMode::none
                                       : compiler::StreamMode::if_possible;
    options.blocks = flags.blocks;
    options.streams = flags.streams;
    if (!flags.lengths.empty()) {
        options.length = flags.lengths[0];
        options.further_lengths.assign(flags.lengths.begin() + 1, flags.lengths.end());
    }
    options.window = flags.window;
    options.hop = flags.hop;
    options.offline = !flags.no_whole;
    options.jobs = flags.jobs;
    options.memory = flags.memory ? flags.memory : machine_memory() / 4 * 3;
    options.checks = !flags.no_check;
    options.cache = flags.cache;
    options.convolution = flags.convolution;
    if (!flags.tuning.empty()) {
        LW_ASSIGN(const auto bytes, package::read_file(flags.tuning, 16 << 20));
        options.tuning.assign(bytes.begin(), bytes.end());
        options.tuning_name = flags.tuning;
        if (bytes.empty())
            return Status::input(flags.tuning +
                                 ": the file is empty; expected a tuning file of `longwave tune`");
    }
    options.weights = flags.weights;
    options.packable = flags.pack;
    options.activations = flags.activations;
    options.gpu_storage = flags.gpu_storage;
    options.gpu_chained_bytes = flags.gpu_chain;
    options.gpu_variants = flags.gpu_variants;
    options.dump_after = flags.dump_after;
    options.timings = flags.timings;
    options.dump = &printable_log(); // logs; stdout is for the report
    if (flags.kgen.empty()) {
        LW_ASSIGN(options.kgen, installed_kgen());
    } else {
        options.kgen = flags.kgen;
    }
    return options;
}

void add_compile_flags(CommandLine &app, CompileFlags &flags) {
    app.add_option("folder", flags.package,
                   "Model folder: model.json and weights.safetensors, or a folder of save_pretrained")
        ->folder();
    app.add_option("-o,--output", flags.output,
                   "Compiled model to write, or - for standard output (default: NAME.lw)")
        ->file(".lw");
    app.add_option("--emit", flags.emit,
                   "Form of the compiled model. `static` writes a library NAME.a and a header NAME.h for "
                   "programs that contain the model and load nothing, and for wasm32 the weights as "
                   "NAME.weights. Needs --target with one CPU target")
        ->value("FORM")
        ->suggests({"lw", "static"})
        ->capture_default_str();
    add_target_flags(app, flags);
    add_entry_flags(app, flags);
    add_weight_flags(app, flags);
    app.add_option("--sign", flags.sign,
                   "File with a secret key of 64 hexadecimal digits (longwave keygen). Signs the compiled "
                   "model with Ed25519")
        ->file();
    app.add_option(
           "--model-version", flags.version,
           "With --sign: version of the model, under the signature. Devices can reject versions below their "
           "least one")
        ->value("N");
    app.add_flag(
        "--no-code", flags.no_code,
        "Leave the machine code out of the compiled model. NAME.kernels.c gets it as C, for programs that "
        "contain their kernels. Needs --target with one CPU target");
    app.add_flag(
        "--no-golden", flags.no_golden,
        "Leave the golden vectors out of the compiled model, after the check. The file is smaller, and "
        "`longwave verify` has nothing to recompute. Not for GPUs");
    app.add_flag("--no-check", flags.no_check,
                 "Do not run the compiled model: no golden vectors, no streaming check");
    app.add_flag("--no-proof", flags.no_check, "The former name of --no-check")->hidden();
    app.add_option("--walks", flags.walks,
                   "Number of random tests that switch between the stream entries of one model")
        ->check(range(1, 100000))
        ->capture_default_str();
    app.add_flag("--layers", flags.layers, "List the layer types that model.json may contain, and exit");
    app.add_option("--cache", flags.cache, "Folder of compiled kernels (default: in the user's cache folder)")
        ->folder();
    app.add_option("--jobs", flags.jobs, "Number of kernels to compile at once (default: number of CPUs)")
        ->check(range(1, 1024));
    app.add_option(
           "--memory", flags.memory,
           "Most memory that the compile and its check may take, such as 500M or 2G. A larger compile "
           "is rejected (default: three quarters of the memory of the machine or control group)")
        ->size();
    app.add_option("--kgen", flags.kgen,
                   "Kernel compiler to start (default: the longwave-kgen next to this program)")
        ->file();
    app.add_option("--dump-after", flags.dump_after, "Print the graph to stderr after this pass")
        ->value("PASS");
    app.add_flag("--timings", flags.timings, "Print the time of every step to stderr");
    app.add_flag("--quiet", flags.quiet, "Show no progress line. Only a terminal shows one");
    app.add_flag("--json", flags.json, "Print the report and the check results as one JSON object");
}

} // namespace longwave::cli
