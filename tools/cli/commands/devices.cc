// longwave devices: lists the CPU, the GPUs and the targets that each can run; or the microphones.
#include "runtime/platform/cpu.h"
#include "targets/target.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/microphone/microphone.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct DevicesFlags {
    bool json = false, microphones = false;
};

ordered_json cpu() {
    const artifact::Host host = platform::host();
    ordered_json targets = ordered_json::array();
    for (const targets::Target &target : targets::for_machine(host.machine))
        if ((target.features & ~host.features) == 0) targets.push_back(target.name);
    return {{"device", "cpu"}, {"targets", targets}};
}

#if LONGWAVE_WITH_VULKAN
ordered_json describe(const lw_vulkan_info &info, size_t number) {
    static constexpr const char *kinds[] = {"other", "integrated", "discrete", "virtual", "software"};
    ordered_json targets = ordered_json::array();
    for (const targets::Target &target : targets::gpus())
        if (runs(info, target)) targets.push_back(target.name);
    return {{"device", format("vulkan:%zu", number)},
            {"name", info.name},
            {"kind", kinds[info.kind]},
            {"vulkan", format("%u.%u.%u", info.api_major, info.api_minor, info.api_patch)},
            {"shared_bytes", info.shared_bytes},
            {"threads", info.threads},
            {"memory_bytes", info.memory_bytes},
            {"missing", info.missing},
            {"targets", targets}};
}

Expected<ordered_json> gpus() {
    lw_vulkan_info list[16] = {};
    list[0].struct_size = sizeof list[0];
    size_t n = std::size(list);
    const lw_status status = lw_vulkan_devices(nullptr, list, &n);
    if (status != LW_TOO_SMALL) LW_TRY(status_of(status, "vulkan"));
    ordered_json found = ordered_json::array();
    for (size_t i = 0; i < std::min(n, std::size(list)); i++) found.push_back(describe(list[i], i));
    return found;
}
#else
Expected<ordered_json> gpus() {
    return Status::usage(
        "vulkan: this program was built without Vulkan; build it with libvulkan-dev installed");
}
#endif

std::string joined(const ordered_json &names) {
    std::string text;
    for (const auto &name : names) text += (text.empty() ? "" : ", ") + name.get<std::string>();
    return text;
}

Status microphones(bool json) {
    LW_ASSIGN(const auto list, list_microphones());
    for (const MicrophoneDescription &microphone : list) {
        const ordered_json line = {{"microphone", microphone.name}, {"description", microphone.description}};
        if (json) print_text(stdout, "%s\n", json_line(line).c_str());
        else print_text(stdout, "%-30s %s\n", microphone.name.c_str(), microphone.description.c_str());
    }
    if (list.empty()) print_text(stderr, "ALSA knows no microphone\n");
    return {};
}

Status devices(const DevicesFlags &flags) {
    if (flags.microphones) return microphones(flags.json);

    ordered_json all = ordered_json::array({cpu()});
    const auto found = gpus();
    if (found) all.insert(all.end(), found->begin(), found->end());
    if (flags.json) {
        for (const auto &device : all) print_text(stdout, "%s\n", json_line(device).c_str());
    } else {
        print_text(stdout, "cpu       runs %s\n", joined(all[0]["targets"]).c_str());
        for (size_t i = 1; i < all.size(); i++) {
            const ordered_json &gpu = all[i];
            print_text(stdout, "%-9s %s (%s, Vulkan %s), %s shared, %u threads per workgroup, %s: %s\n",
                       gpu["device"].get<std::string>().c_str(), gpu["name"].get<std::string>().c_str(),
                       gpu["kind"].get<std::string>().c_str(), gpu["vulkan"].get<std::string>().c_str(),
                       bytes_text(gpu["shared_bytes"]).c_str(), gpu["threads"].get<unsigned>(),
                       bytes_text(gpu["memory_bytes"]).c_str(),
                       gpu["missing"] != "" ? ("cannot be used: " + gpu["missing"].get<std::string>()).c_str()
                       : gpu["targets"].empty() ? "runs no target"
                                                : ("runs " + joined(gpu["targets"])).c_str());
        }
    }
    if (!found) print_text(stderr, "%s\n", found.status().message().c_str()); // a note, not a failure
    return {};
}

} // namespace

Command add_devices(CommandLine &program) {
    auto flags = std::make_shared<DevicesFlags>();
    CommandLine *app =
        program.add_subcommand("devices", "List CPU and GPU devices and the targets each can run.");
    app->add_flag("--json", flags->json, "Print one JSON object per line");
    app->add_flag("--microphones", flags->microphones,
                  "List the ALSA devices that `longwave listen --microphone` can record from, instead");
    return {app, [flags] { return devices(*flags); }};
}

} // namespace longwave::cli
