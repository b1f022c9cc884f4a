#include "compiler/plan/tuning.h"
#include "compiler/plan/shallow_json.h"
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

using nlohmann::json;

bool in_range(const json &row, const char *name, int low, int high, bool needed) {
    const auto found = row.find(name);
    if (found == row.end()) return !needed;
    return found->is_number_integer() && found->get<int64_t>() >= low && found->get<int64_t>() <= high;
}

// What schedules/long_conv/transform.h can be built from.
bool is_structure(const json &row, int64_t after) {
    return row.is_object() && in_range(row, "up_to", 1, 1 << 30, true) &&
           row["up_to"].get<int64_t>() > after && in_range(row, "vec", 1, 16, true) &&
           in_range(row, "outer", 2, 64, true) && in_range(row, "columns", 0, 4096, false) &&
           in_range(row, "chunk", 1, 64, false) && in_range(row, "gap", 0, 64, false) &&
           (!row.contains("fused") || row["fused"].is_boolean());
}

Status check_structures(const json &all, const std::vector<targets::Target> &targets) {
    if (!all.is_object() || all.empty()) return Status::input("\"structures\" must be an object of targets");
    std::string known;
    for (const auto &[target, table] : all.items()) {
        if (!targets::find(target))
            return Status::input(fmt::format("\"structures\" names an unknown target \"{}\"", target));
        known += (known.empty() ? "" : ", ") + target;
        const auto good = [&table = table](const char *list) {
            const auto rows = table.is_object() ? table.value(list, json()) : json();
            bool all_good = rows.is_array() && !rows.empty();
            for (size_t i = 0; all_good && i < rows.size(); i++)
                all_good = is_structure(rows[i], i ? rows[i - 1]["up_to"].get<int64_t>() : 0);
            return all_good;
        };
        if (!good("structures") || (table.contains("phases") && !good("phases")))
            return Status::input(fmt::format("structures of {}: no list of rows with up_to (ascending), vec, "
                                             "outer, columns, chunk, gap and fused",
                                             target));
    }
    for (const targets::Target &target : targets)
        if (!all.contains(target.name))
            return Status::usage(fmt::format("measured for {}, and {} is compiled as well: --target {}",
                                             known, target.name, known));
    return Status::ok();
}

// A range that holds every device there is or may be. Beyond it a number was mistyped.
struct DeviceNumber {
    const char *name;
    double low, high;
    double costs::DeviceCosts::*to;
};
constexpr DeviceNumber device_numbers[] = {
    {"bytes_per_ns", 0.001, 1e6, &costs::DeviceCosts::bytes_per_ns},
    {"ns_per_dispatch", 0.1, 1e9, &costs::DeviceCosts::ns_per_dispatch},
    {"busy_workgroups", 1, 65536, &costs::DeviceCosts::busy_workgroups},
};

Status bad_gpu(const std::string &what) {
    return Status::input(fmt::format(
        "\"gpu\": {}: measure again with `longwave tune --device vulkan`, or remove \"gpu\"", what));
}

Expected<costs::DeviceCosts> parse_device(const json &gpu, std::string &name) {
    if (!gpu.is_object()) return bad_gpu("no object");
    const auto device = gpu.find("device");
    if (device == gpu.end() || !device->is_string() || device->get_ref<const std::string &>().empty())
        return bad_gpu("\"device\" must be the name of the GPU");
    name = device->get<std::string>();
    costs::DeviceCosts costs;
    for (const DeviceNumber &number : device_numbers) {
        const auto found = gpu.find(number.name);
        if (found == gpu.end()) return bad_gpu(fmt::format("\"{}\" is missing", number.name));
        const double value = found->is_number() ? found->get<double>() : 0; // NaN is in no range
        if (!(value >= number.low && value <= number.high))
            return bad_gpu(fmt::format("\"{}\" must be a number from {} to {}, and is {}", number.name,
                                       number.low, number.high, found->dump().substr(0, 20)));
        costs.*number.to = value;
    }
    return costs;
}

Expected<Tuning> parse(std::string_view text, const std::vector<targets::Target> &targets) {
    const json all = parse_shallow(text);
    if (!all.is_object() || !all.contains("tuning")) return Status::input("no tuning file");
    if (all["tuning"] != tuning_version)
        return Status::input(fmt::format("version {} of tuning files is unknown, expected {}: measure again "
                                         "with `longwave tune`",
                                         all["tuning"].dump().substr(0, 20), tuning_version));
    if (!all.contains("costs") && !all.contains("structures") && !all.contains("gpu"))
        return Status::input("holds no tables yet: continue it with `longwave tune -o`");
    Tuning tuning;
    if (all.contains("costs")) {
        LW_ASSIGN(tuning.measured_costs, costs::parse(all["costs"].dump()));
    }
    if (all.contains("gpu")) {
        if (!tuning.measured_costs) tuning.measured_costs = costs::shipped();
        LW_ASSIGN(tuning.measured_costs->device, parse_device(all["gpu"], tuning.measured_device));
    }
    if (all.contains("structures")) {
        LW_TRY(check_structures(all["structures"], targets));
        tuning.structures = all["structures"].dump();
    }
    if (const auto made = all.find("made"); made != all.end() && made->is_object())
        for (const char *name : {"processor", "target", "date"})
            if (made->contains(name) && (*made)[name].is_string())
                tuning.made += (tuning.made.empty() ? "" : ", ") + (*made)[name].get<std::string>();
    return tuning;
}

} // namespace

Expected<Tuning> parse_tuning(std::string_view text, const std::string &name,
                              const std::vector<targets::Target> &targets) {
    if (text.empty()) return Tuning{};
    auto tuning = parse(text, targets);
    if (!tuning)
        return Status(tuning.status().fault(), fmt::format("{}: {}", name, tuning.status().message()));
    return tuning;
}

} // namespace longwave::compiler
