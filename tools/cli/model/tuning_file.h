// A tuning file (compiler/plan/tuning.h) during tuning. It is written after every measurement, so
// that an interrupted run can resume.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include "tools/kernels/structures.h"
#include <string>

namespace longwave::cli {

class TuningFile {
public:
    // A new file, or the existing one to resume. Fault::input: not a tuning file. Fault::usage:
    // measured for another target, on another CPU or by another version.
    static Expected<TuningFile> open(const std::string &path, const targets::Target &target);

    const kernels::Measured &measured() const { return measured_; }
    // Both write the file.
    Status put(const std::string &name, nlohmann::json result);
    Status add_time(double seconds); // time spent, added over all runs
    // Failed measurements that the tables need are repeated.
    void forget_failed_costs();

    bool complete() const; // everything is measured
    // The tables alone, as schedules/long_conv has them: costs.json and <target>.json. Fault::usage
    // while the file is not complete.
    Status write_tables(const std::string &folder) const;

    // {"tuning", "made", "costs", "structures"} as far as known, "gpu" as it was, and "measured".
    nlohmann::ordered_json json() const;

private:
    std::string path_;
    const targets::Target *target_ = nullptr;
    nlohmann::ordered_json made_;
    kernels::Measured measured_;
    nlohmann::ordered_json gpu_; // of tune --device; null: none
};

// The whole file; {"tuning": 1} if there is none. Fault::input: it cannot be read. Fault::usage: it
// is another file, or one of another version.
Expected<nlohmann::ordered_json> read_tuning_file(const std::string &path);
// One line per key.
Status write_tuning_file(const std::string &path, const nlohmann::ordered_json &json);

std::string today(); // "2026-11-26", UTC

} // namespace longwave::cli
