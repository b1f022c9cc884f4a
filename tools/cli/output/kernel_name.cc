#include "tools/cli/output/kernel_name.h"
#include "tools/cli/files/limited_json.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"

namespace longwave::cli {

KernelText kernel_text(const fb::Plan &plan, uint32_t kernel) {
    const std::string text = plan.kernels()->Get(kernel)->spec()->str();
    const auto spec = parse_limited(text, "kernel");
    if (!spec || !spec->is_object()) return {printable(text), ""};
    KernelText found;
    const auto add = [&](const std::string &text_of) {
        found.parameters += (found.parameters.empty() ? "" : ", ") + printable(text_of);
    };
    const auto words = [](const nlohmann::ordered_json &value) {
        return value.is_string() ? value.get<std::string>() : value.dump();
    };
    if (spec->contains("kernel")) found.name = printable(words((*spec)["kernel"]));
    if (spec->contains("params") && (*spec)["params"].is_object())
        for (const auto &[key, value] : (*spec)["params"].items())
            if (!value.is_structured()) add(key + " " + words(value));
    if (spec->contains("epilogue") && (*spec)["epilogue"].is_array())
        for (const auto &op : (*spec)["epilogue"])
            if (op.is_object() && op.contains("op") && op["op"].is_string())
                add("then " + op["op"].get<std::string>());
    if (found.name.empty()) found.name = printable(text);
    return found;
}

} // namespace longwave::cli
