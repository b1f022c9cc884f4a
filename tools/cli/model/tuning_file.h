// A tuning file (compiler/plan/tuning.h) while it is being measured: what is known so far lies in it after every
// candidate, so that a run that was ended goes on where it was.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include "tools/kernels/search.h"
#include <string>

namespace longwave::cli {

class TuningFile {
public:
    // A new one, or the one at `path` gone on with. Fault::input when it is no tuning file, Fault::usage when
    // it was measured for another target, on another CPU or by another version.
    static Expected<TuningFile> open(const std::string &path, const targets::Target &target);

    const kernels::Measured &measured() const { return measured_; }
    // Both write the file.
    Status put(const std::string &name, nlohmann::json result);
    Status add_time(double seconds); // what was spent, over all runs
    // Failures of rows that the tables cannot do without are tried again.
    void forget_failed_costs();

    bool complete() const; // nothing is left to measure
    // The tables alone, as schedules/long_conv has them: costs.json and <target>.json. Fault::usage while the
    // file is not complete.
    Status write_tables(const std::string &folder) const;

    // {"tuning", "made", "costs", "structures"} as far as known, and "measured".
    nlohmann::ordered_json json() const;

private:
    std::string path_;
    const targets::Target *target_ = nullptr;
    nlohmann::ordered_json made_;
    kernels::Measured measured_;
};

} // namespace longwave::cli
