#include "schedules/halide/versions.h"

namespace longwave::schedules {

namespace {

struct FileVersion {
    std::string_view file, version;
};
constexpr FileVersion table[] = {
#include "kernel_versions.inc"
};

nlohmann::json versions_for(targets::Kind kind) {
    nlohmann::json list = nlohmann::json::object();
    for (const std::string &name : kernel_names(kind)) list[name] = version_of(*find_schedule(name, kind));
    return list;
}

} // namespace

std::string version_of(const Schedule &schedule) {
    // The compiler may name the file by a longer path.
    for (const FileVersion &row : table)
        if (schedule.file.ends_with(row.file)) return std::string(row.version);
    throw SpecError("no version for the kernels of " + std::string(schedule.file));
}

nlohmann::json versions() {
    return {{"cpu", versions_for(targets::Kind::cpu)},
            {"gpu", versions_for(targets::Kind::gpu)},
            {"program", std::rbegin(table)->version}};
}

} // namespace longwave::schedules
