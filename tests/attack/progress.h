// What the attack has done to each subject, summed over runs: for people and for a later run.
#pragma once
#include "tests/attack/victim.h"
#include <map>
#include <string>

namespace longwave::attack {

struct Totals {
    uint64_t next = 0; // of the order of its mutants
    Counts counts;
    double cpu_seconds = 0; // of the workers
    uint64_t findings = 0;
};

class Progress {
public:
    // Reads the file, if it is there. Ends the process for a file that is something else. An empty
    // path: nothing is read or saved.
    explicit Progress(std::string path);

    Totals &of(const std::string &subject) { return subjects_[subject]; }
    void save() const; // the old file or the new one is there, never a part

private:
    const std::string path_;
    std::map<std::string, Totals> subjects_; // also those that this run leaves alone
};

} // namespace longwave::attack
