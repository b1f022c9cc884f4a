#include "tools/cli/model/tuning_file.h"
#include "compiler/plan/tuning.h"
#include "formats/package/file_bytes.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/kernels/machine.h"
#include <cmath>
#include <ctime>
#include <filesystem>
#include <longwave/longwave.h>
#include <span>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

constexpr uint64_t max_file = 4 << 20;

ordered_json made_here(const targets::Target &target) {
    return {{"processor", kernels::cpu()},
            {"name", kernels::cpu_name()},
            {"target", target.name},
            {"longwave", lw_version()},
            {"date", today()},
            {"settings",
             "longwave tune: one pinned thread, one process a candidate; structures: 64 channels, "
             "medians of rounds in turns with the generic one; costs: 128 channels, lower "
             "quartiles of calls in a loop, ns an output element"},
            {"seconds", 0.0}};
}

// One value per line.
std::string lines_of(const ordered_json &object) {
    std::string text = "{";
    for (const auto &[key, value] : object.items())
        text += (text.size() > 1 ? ",\n  " : "\n  ") + ordered_json(key).dump() + ": " + value.dump();
    return text + "\n}\n";
}

Status write_text(const std::string &path, const std::string &text) {
    return write_output(path, std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

std::string text_at(const ordered_json &object, const char *name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Status other_file(const std::string &path, const std::string &what) {
    return Status(Fault::usage, path + ": " + what + "; remove the file, or name another with -o");
}

} // namespace

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm date = {};
    gmtime_r(&now, &date);
    char text[11] = {};
    std::strftime(text, sizeof text, "%Y-%m-%d", &date);
    return text;
}

Expected<ordered_json> read_tuning_file(const std::string &path) {
    std::error_code error;
    const bool there = std::filesystem::exists(path, error);
    if (error) return Status::input(path + ": cannot be read: " + error.message()); // not to be replaced
    if (!there) return ordered_json{{"tuning", compiler::tuning_version}};
    LW_ASSIGN(const auto bytes, package::read_file(path, max_file));
    auto json = parse_limited({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path);
    if (!json) return other_file(path, "not a tuning file");
    if (!json->is_object() || !json->contains("tuning") || (*json)["tuning"] != compiler::tuning_version)
        return other_file(path, "not a tuning file of this version");
    return json;
}

Status write_tuning_file(const std::string &path, const ordered_json &json) {
    return write_text(path, lines_of(json));
}

Expected<TuningFile> TuningFile::open(const std::string &path, const targets::Target &target) {
    TuningFile file;
    file.path_ = path;
    file.target_ = &target;
    file.made_ = made_here(target);
    LW_ASSIGN(const ordered_json json, read_tuning_file(path));
    if (json.contains("gpu")) file.gpu_ = json["gpu"];
    if (json.size() == (json.contains("gpu") ? 2 : 1)) return file; // nothing of a CPU yet
    const ordered_json made = json.value("made", ordered_json::object());
    for (const char *name : {"processor", "target", "longwave"})
        if (text_at(made, name) != text_at(file.made_, name))
            return other_file(path, std::string("was measured with ") + name + " \"" + text_at(made, name) +
                                        "\", but this machine has \"" + text_at(file.made_, name) + "\"");
    if (made.contains("seconds") && made["seconds"].is_number()) file.made_["seconds"] = made["seconds"];
    const ordered_json measured = json.value("measured", ordered_json::object());
    if (!measured.is_object()) return other_file(path, "\"measured\" must be an object");
    for (const auto &[name, result] : measured.items()) {
        const nlohmann::json one(result);
        if (!kernels::plausible(name, one)) return other_file(path, "\"" + name + "\" is not a measurement");
        file.measured_[name] = one;
    }
    return file;
}

ordered_json TuningFile::json() const {
    const std::string provenance = "longwave tune, " + text_at(made_, "processor") + ", " +
                                   text_at(made_, "target") + ", " + text_at(made_, "date");
    ordered_json json{{"tuning", compiler::tuning_version}, {"made", made_}};
    kernels::Measured rows; // without "cost "
    for (const auto &[name, result] : measured_)
        if (name.rfind("cost ", 0) == 0 && kernels::succeeded(measured_, name)) rows[name.substr(5)] = result;
    if (const ordered_json costs = kernels::assemble_costs(rows); !costs.is_null()) {
        json["costs"] = {{"provenance", provenance}};
        json["costs"].update(costs);
    }
    if (const ordered_json table = kernels::structure_table(*target_, measured_); !table.is_null())
        json["structures"] = {{target_->name, {{"provenance", provenance}, {"structures", table}}}};
    if (!gpu_.is_null()) json["gpu"] = gpu_;
    json["measured"] = ordered_json::object();
    for (const auto &[name, result] : measured_) json["measured"][name] = ordered_json(result);
    return json;
}

Status TuningFile::put(const std::string &name, nlohmann::json result) {
    measured_[name] = std::move(result);
    return write_tuning_file(path_, json());
}

Status TuningFile::add_time(double seconds) {
    made_["seconds"] = std::lround(made_["seconds"].get<double>() + seconds);
    return write_tuning_file(path_, json());
}

void TuningFile::forget_failed_costs() {
    std::erase_if(measured_, [&](const auto &one) {
        return one.first.rfind("cost ", 0) == 0 && !kernels::succeeded(measured_, one.first);
    });
}

bool TuningFile::complete() const {
    for (const std::string &name : kernels::structure_names(*target_, measured_))
        if (!measured_.count(name)) return false;
    for (const std::string &name : kernels::cost_names())
        if (!kernels::succeeded(measured_, "cost " + name)) return false;
    return true;
}

Status TuningFile::write_tables(const std::string &folder) const {
    const ordered_json all = json();
    if (!all.contains("costs") || !all.contains("structures"))
        return Status::usage(path_ + ": its tables are not complete; continue with `longwave tune -o " +
                             path_ + "`");
    LW_TRY(write_text(folder + "/costs.json", lines_of(all["costs"])));
    return write_text(folder + "/" + target_->name + ".json", lines_of(all["structures"][target_->name]));
}

} // namespace longwave::cli
