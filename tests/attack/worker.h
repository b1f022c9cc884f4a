// Worker processes that try mutants until a crash or a hang ends them, and who watches them.
#pragma once
#include "tests/attack/mutants.h"
#include "tests/attack/progress.h"
#include <memory>
#include <string>

struct lw_device;

namespace longwave::attack {

struct Subject {
    Subject(const std::string &path, Progress &progress, double goal);

    const std::string name;
    const std::unique_ptr<Mutants> mutants;
    Totals &totals;    // of all runs, in the progress
    const double goal; // CPU seconds after which it has had enough
};

struct Turn {
    uint64_t seed;                    // where in the list of mutants the attack began
    bool gpu;                         // GPU models run on the device, if there is one
    const std::string &found;         // folder of findings
    double cpu_seconds, wall_seconds; // whichever ends first
};

lw_device *open_device(bool wanted);

// Mutants from `subject.totals.next` on. False: a finding ended the turn early; it is kept.
bool take_turn(Subject &subject, const Turn &turn);

double cpu_seconds_of_children();

} // namespace longwave::attack
