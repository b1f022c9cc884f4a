#include "compiler/placement/layer_times.h"
#include "compiler/plan/shallow_json.h"
#include <cmath>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

using nlohmann::json;

bool is_time(const json &object, const char *key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() && std::isfinite(found->get<double>()) &&
           found->get<double>() >= 0;
}

std::string text_of(const json &object, const char *key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Expected<MeasuredLayers> parse(std::string_view text, const std::string &model) {
    const json all = parse_shallow(text);
    if (!all.is_object() || !all.contains("layer_times"))
        return Status::input(
            "no times of layers: make it with longwave bench MODEL --device vulkan --layers --json");
    if (all["layer_times"] != layer_times_version)
        return Status::input(fmt::format("version {}, this program reads {}: measure again",
                                         all["layer_times"].dump().substr(0, 20), layer_times_version));
    if (const std::string of = text_of(all, "model"); of != model)
        return Status::input(fmt::format("times of model \"{}\", and \"{}\" is compiled", of, model));
    MeasuredLayers measured;
    for (const auto &[key, to] : {std::pair{"submission_us", &measured.transfers.submission},
                                  std::pair{"byte_us", &measured.transfers.byte},
                                  std::pair{"move_us", &measured.transfers.transfer}}) {
        if (!is_time(all, key)) return Status::input(fmt::format("{} must be a time of 0 or more", key));
        *to = all[key].get<double>();
    }
    const auto layers = all.find("layers");
    if (layers == all.end() || !layers->is_array()) return Status::input("\"layers\" must be a list");
    for (const json &layer : *layers) {
        const std::string name = layer.is_object() ? text_of(layer, "layer") : "";
        const bool there = layer.is_object() && layer.contains("gpu_us") && !layer["gpu_us"].is_null();
        if (name.empty() || !is_time(layer, "cpu_us") || (there && !is_time(layer, "gpu_us")))
            return Status::input(fmt::format("row {} of \"layers\": expected layer, cpu_us and gpu_us",
                                             &layer - &(*layers)[0]));
        measured.layers[name] = {layer["cpu_us"].get<double>(),
                                 there ? layer["gpu_us"].get<double>() : never};
    }
    measured.made = fmt::format("{} and {}", text_of(all, "device"), text_of(all, "processor"));
    return measured;
}

} // namespace

Expected<MeasuredLayers> parse_layer_times(std::string_view text, const std::string &name,
                                           const std::string &model) {
    auto measured = parse(text, model);
    if (!measured)
        return Status(measured.status().fault(), fmt::format("{}: {}", name, measured.status().message()));
    return measured;
}

} // namespace longwave::compiler
