#include "tools/cli/commands/tune_device.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/status.h"
#include "tools/cli/model/tuning_file.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>
#include <cstdlib>

using nlohmann::ordered_json;

namespace longwave::cli {

namespace {

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

} // namespace

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

} // namespace longwave::cli
