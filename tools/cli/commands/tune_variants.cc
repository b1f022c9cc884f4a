#include "tools/cli/commands/tune_variants.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/status.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>
#include <vector>

using nlohmann::json;
using nlohmann::ordered_json;

namespace longwave::cli {

namespace {

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
std::string kernel_text(const std::string &spec) {
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
    print_text(stdout, "  %-64s%s\n", kernel_text(kernel.kernel).c_str(), times.c_str());
}
#endif

} // namespace

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

} // namespace longwave::cli
