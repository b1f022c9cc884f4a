#include "compiler/driver/check_options.h"
#include "compiler/ir/op.h"
#include "compiler/plan/choose.h"
#include "formats/artifact/features.h"
#include "formats/artifact/rules.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longwave::compiler {
namespace {

Expected<schedules::WeightFormat> find_weights(const std::string &name) {
    const auto format = schedules::find_weight_format(name);
    if (!format)
        return Status::usage(
            fmt::format("unknown weights \"{}\": expected {}", name, schedules::weight_format_names));
    return *format;
}

Expected<bool> find_byte_activations(const std::string &name) {
    if (name != "int16" && name != "int8")
        return Status::usage(fmt::format("unknown activations \"{}\": expected int16 or int8", name));
    return name == "int8";
}

Status check_storage(const Options &options, const devices::Traits *device) {
    if (options.gpu_storage == "f32") return Status::ok();
    if (options.gpu_storage != "f16")
        return Status::usage(
            fmt::format("unknown storage of a GPU \"{}\": expected f32 or f16", options.gpu_storage));
    if (!device || !device->fp16_storage)
        return Status::usage("--gpu-storage f16 is for offline runs on a GPU: add a GPU target, such as "
                             "--target host,vulkan-32k");
    if (options.window)
        return Status::usage(
            "--gpu-storage f16 is for offline runs: a stream with a --window has the bits of its "
            "runs, and streams store float32");
    if (!options.offline)
        return Status::usage("--gpu-storage f16 is for offline runs, which --no-whole leaves out: streams "
                             "exchange their state with the CPU and store float32");
    return Status::ok();
}

Status check_lengths(const Options &options) {
    std::vector<uint32_t> all = options.further_lengths;
    if (all.empty()) return Status::ok();
    all.push_back(options.length);
    std::sort(all.begin(), all.end());
    const auto twice = std::adjacent_find(all.begin(), all.end());
    if (all.front() == 0) return Status::usage("--length: one of several lengths is 0");
    if (twice != all.end()) return Status::usage(fmt::format("--length: {} is given twice", *twice));
    if (!options.offline)
        return Status::usage("--length has several lengths of offline runs, which --no-whole leaves out");
    return Status::ok();
}

Status check_streams(const Options &options) {
    if (options.streams.empty()) return Status::ok();
    if (options.stream == StreamMode::none)
        return Status::usage("--streams is for streams, which --no-stream leaves out");
    if (options.window)
        return Status::usage(
            "--streams: leave it out with --window, because a window is an offline run for each "
            "stream, and its kernels compute many rows at once already");
    if (options.streams.size() > artifact::cap::together)
        return Status::usage(fmt::format("--streams: {} numbers, expected at most {}", options.streams.size(),
                                         artifact::cap::together));
    uint32_t before = 1;
    for (const uint32_t n : options.streams) {
        if (n < 2 || n > artifact::cap::streams_together)
            return Status::usage(
                fmt::format("--streams: expected 2 to {}, found {}", artifact::cap::streams_together, n));
        if (n <= before) return Status::usage(fmt::format("--streams: {} does not ascend", n));
        before = n;
    }
    return Status::ok();
}

// The recipe of a file says which float32 of the model lies where.
Status check_packable(const Options &options, const devices::Traits *device) {
    if (!options.packable) return Status::ok();
    if (options.weights != "float32")
        return Status::usage("--pack is for weights of float32: leave out --weights " + options.weights);
    if (device) return Status::usage("--pack is for CPUs: name no GPU with --target");
    if (!options.offline)
        return Status::usage("--pack: leave out --no-whole, because an offline run makes the golden vectors "
                             "of other weights");
    if (options.window) return Status::usage("--pack: leave out --window");
    return Status::ok();
}

Status check_window_options(const Options &options) {
    if (!options.window && !options.hop) return Status::ok();
    if (!options.window || !options.hop)
        return Status::usage("--window N and --hop M belong together: the last N input ticks, every M ticks");
    if (!options.blocks.empty() || options.length || options.stream != StreamMode::if_possible)
        return Status::usage("--window makes the stream and offline runs of its length: it excludes "
                             "--blocks, --length, --stream and --no-stream");
    return Status::ok();
}

// The format has a limit of entries (V6). Both devices have those of every block and length.
Status check_entries(const Options &options, const devices::Traits *device) {
    const size_t devices = device ? 2 : 1, streams = artifact::cap::streams / devices,
                 lengths = (artifact::cap::entries - artifact::cap::streams) / devices - 1;
    if (options.blocks.size() > streams)
        return Status::usage(
            fmt::format("--blocks: at most {} blocks{}, found {}: compile the others into another file",
                        streams, device ? " with a GPU target" : "", options.blocks.size()));
    if (options.further_lengths.size() + 1 > lengths)
        return Status::usage(fmt::format("--length: at most {} lengths{}, found {}", lengths,
                                         device ? " with a GPU target" : "",
                                         options.further_lengths.size() + 1));
    return Status::ok();
}

} // namespace

std::vector<std::string> algorithm_names() { return ir::algorithm_names(); }

Expected<Request> check_options(const Options &options) {
    LW_TRY(check_algorithm_name(options.convolution));
    LW_TRY(check_streams(options));
    LW_TRY(check_window_options(options));
    LW_TRY(check_lengths(options));
    Request request;
    LW_ASSIGN(request.targets, find_targets(options.targets, *options.devices));
    LW_TRY(check_storage(options, request.targets.device));
    LW_TRY(check_packable(options, request.targets.device));
    LW_TRY(check_entries(options, request.targets.device));
    LW_ASSIGN(request.tuning, parse_tuning(options.tuning, options.tuning_name, request.targets.cpus));
    LW_ASSIGN(request.weights, find_weights(options.weights));
    LW_ASSIGN(request.byte_activations, find_byte_activations(options.activations));
    if (request.weights == schedules::WeightFormat::int4 && request.targets.device)
        return Status::usage("--weights int4 is for CPUs: leave the GPU target out, or choose int8");
    return request;
}

static std::string known(const std::vector<devices::Traits> &devices) {
    std::vector<std::string> names;
    for (const targets::Target &cpu : targets::all()) names.push_back(cpu.name);
    for (const devices::Traits &device : devices) names.push_back(device.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

Expected<Targets> find_targets(const std::vector<std::string> &names,
                               const std::vector<devices::Traits> &devices) {
    Targets found;
    for (const auto &name : names) {
        if (const auto *target = targets::find(name)) {
            found.cpus.push_back(*target);
            continue;
        }
        const devices::Traits *device = devices::find(devices, name);
        if (!device)
            return Status::usage(fmt::format("unknown target \"{}\": expected {}", name, known(devices)));
        if (found.device)
            return Status::usage(fmt::format(
                "targets {} and {}: an artifact has code for one of them at most", found.device->name, name));
        found.device = device;
    }
    // What prepares the model, and streams: an artifact always has code for CPUs.
    if (found.cpus.empty()) found.cpus = targets::for_machine(artifact::own_machine);
    if (found.cpus.empty())
        return Status::usage("none of the targets is of this machine's architecture: name one (--target)");
    return found;
}

} // namespace longwave::compiler
