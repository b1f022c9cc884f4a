#include "tools/cli/commands/bench_layers.h"
#include "formats/artifact/geometry.h"
#include "tools/cli/files/limited_json.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/status.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/kernels/machine.h"
#include <cstdio>
#if LONGWAVE_WITH_VULKAN
#include <longwave/vulkan.h>
#endif

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// The run entry of the artifact that takes the longest sequences on a kind of device; -1: none.
int longest_run(const fb::Plan &plan, fb::DeviceKind device) {
    int longest = -1;
    for (uint32_t e = 0; e < plan.entries()->size(); e++) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (entry.kind() != fb::EntryKind::run || entry.device() != device) continue;
        if (longest < 0 || entry.block() > plan.entries()->Get(static_cast<uint32_t>(longest))->block())
            longest = static_cast<int>(e);
    }
    return longest;
}

// Names of layers in the order of the compile report.
Expected<std::vector<std::string>> layers_of(const fb::Plan &plan, const std::string &path) {
    LW_ASSIGN(const ordered_json report,
              parse_limited(plan.report() ? plan.report()->string_view() : std::string_view(),
                            path + ": its compile report"));
    std::vector<std::string> names;
    if (report.is_object() && report.contains("layers") && report["layers"].is_array())
        for (const auto &layer : report["layers"])
            if (layer.is_object() && layer.contains("layer") && layer["layer"].is_string())
                names.push_back(layer["layer"].get<std::string>());
    return names;
}

// A step's name begins with that of its layer. names.size(): it belongs to none.
size_t layer_of(const std::vector<std::string> &names, const fb::Step &step) {
    const std::string_view name = step.name() ? step.name()->string_view() : std::string_view();
    size_t found = names.size();
    for (size_t i = 0; i < names.size(); i++)
        if (name.size() > names[i].size() && name.starts_with(names[i]) && name[names[i].size()] == ' ' &&
            (found == names.size() || names[i].size() > names[found].size()))
            found = i;
    return found;
}

#if LONGWAVE_WITH_VULKAN
// Bytes that the calls of a layer reach on the GPU, each argument once.
std::vector<uint64_t> bytes_of(const fb::Plan &plan, int entry, const std::vector<std::string> &names) {
    std::vector<uint64_t> layers(names.size(), 0);
    for (const fb::Step *step : *plan.entries()->Get(static_cast<uint32_t>(entry))->steps()) {
        const size_t layer = layer_of(names, *step);
        if (layer == names.size() || step->kind() != fb::StepKind::call || step->cpu()) continue;
        for (const fb::KernelArg *arg : *plan.kernels()->Get(step->kernel())->args()) {
            uint64_t span = 0;
            if (arg->kind() != fb::ArgKind::scalar && artifact::span_bytes(*arg, &span))
                layers[layer] += span;
        }
    }
    return layers;
}

// Microseconds per layer in an entry, summed over its steps on one device; -1: the layer has no
// call there.
Expected<std::vector<double>> times_of(const Model &model, const fb::Plan &plan, int entry, bool gpu,
                                       const std::vector<std::string> &names, lw_vulkan_times &found) {
    const auto &steps = *plan.entries()->Get(static_cast<uint32_t>(entry))->steps();
    std::vector<double> us(steps.size()), layers(names.size(), -1);
    found.struct_size = sizeof found;
    LW_TRY(status_of(
        lw_vulkan_time_run(model.handle.get(), static_cast<uint32_t>(entry), us.data(), us.size(), &found),
        "layer times"));
    for (uint32_t i = 0; i < steps.size(); i++) {
        const fb::Step &step = *steps.Get(i);
        const size_t layer = layer_of(names, step);
        if (layer == names.size() || (gpu && step.cpu())) continue;
        if (step.kind() == fb::StepKind::call && layers[layer] < 0) layers[layer] = 0;
        if (layers[layer] >= 0 || step.kind() == fb::StepKind::zero)
            layers[layer] = std::max(layers[layer], 0.0) + us[i];
    }
    return layers;
}
#endif

} // namespace

Expected<ordered_json> bench_layers(const ModelFlags &flags) {
#if LONGWAVE_WITH_VULKAN
    if (!flags.device.starts_with("vulkan"))
        return Status::usage("--layers compares a GPU with the CPU; pass --device vulkan");
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.path));
    const fb::Plan &plan = file.plan();
    const int here = longest_run(plan, fb::DeviceKind::cpu), there = longest_run(plan, fb::DeviceKind::gpu);
    if (here < 0 || there < 0)
        return Status::usage(
            flags.path + ": --layers needs offline runs on a GPU; compile with --target host,vulkan-32k, and "
                         "with --place auto if the target rejects a layer");
    ModelFlags both = flags;
    both.use.fall_back = true; // so that the model has its CPU part
    LW_ASSIGN(const Model model, Model::open(both));
    LW_ASSIGN(const auto names, layers_of(plan, flags.path));
    lw_vulkan_times times = {};
    LW_ASSIGN(const auto cpu, times_of(model, plan, here, false, names, times));
    LW_ASSIGN(const auto gpu, times_of(model, plan, there, true, names, times));
    ordered_json json = {{"layer_times", 1},
                         {"model", plan.name()->str()},
                         {"device", name_of(model.device.get())},
                         {"processor", kernels::cpu_name()},
                         {"ticks", plan.entries()->Get(static_cast<uint32_t>(there))->block()},
                         {"submission_us", times.submission_us},
                         {"byte_us", times.byte_us},
                         {"move_us", times.move_us}};
    const std::vector<uint64_t> bytes = bytes_of(plan, there, names);
    json["layers"] = ordered_json::array();
    for (size_t i = 0; i < names.size(); i++)
        if (cpu[i] >= 0)
            json["layers"].push_back({{"layer", names[i]},
                                      {"cpu_us", cpu[i]},
                                      {"gpu_us", gpu[i] >= 0 ? ordered_json(gpu[i]) : ordered_json()},
                                      {"gpu_bytes", bytes[i]}});
    return json;
#else
    return Status::usage("--layers: this program was built without Vulkan");
#endif
}

void print_layers(const ordered_json &json) {
    print_text(stdout, "layers    %u ticks on %s and %s, one thread, each layer timed alone\n",
               json["ticks"].get<unsigned>(), json["processor"].get<std::string>().c_str(),
               json["device"].get<std::string>().c_str());
    for (const auto &layer : json["layers"]) {
        print_text(stdout, "          %s %10.1f µs on the CPU,",
                   padded(layer["layer"].get<std::string>(), 28).c_str(), layer["cpu_us"].get<double>());
        if (layer["gpu_us"].is_null()) print_text(stdout, "  not supported\n");
        else print_text(stdout, " %10.1f µs on the GPU\n", layer["gpu_us"].get<double>());
    }
    print_text(stdout, "transfers %.1f µs per submission, %.1f µs per transfer and %.0f µs per MB\n",
               json["submission_us"].get<double>(), json["move_us"].get<double>(),
               json["byte_us"].get<double>() * 1e6);
}

} // namespace longwave::cli
