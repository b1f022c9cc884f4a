// A tuning file: what the planner's choices and the transforms' structures rest on, measured on one
// machine by `longwave tune`. JSON: "tuning" 1; "made": what it was measured with, for people;
// "costs" as schedules/long_conv/tables/costs.json; "structures" {target: as
// schedules/long_conv/<target>.json}; "gpu" {"device", "bytes_per_ns", "ns_per_dispatch",
// "busy_workgroups"}. Each may be missing, and what is shipped or assumed stands.
#pragma once
#include "compiler/ops/costs.h"
#include "formats/base/expected.h"
#include "targets/target.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::compiler {

struct Tuning {
    std::optional<costs::Tables> measured_costs; // tables, costs of a device or both
    std::string structures;      // of all targets in it, as longwave-kgen takes them; empty: the shipped ones
    std::string made;            // one line: processor, target, date; empty when it does not say
    std::string measured_device; // whose costs these are; empty: they are assumed
    const costs::Tables &costs() const { return measured_costs ? *measured_costs : costs::shipped(); }
};

inline constexpr int tuning_version = 1;

// An empty text is the shipped tables. `name` stands before every message. Fault::input for a text
// that is not a tuning file of this version, Fault::usage when it has structures, but none for one
// of the targets: kernels of one artifact would be tuned and untuned.
Expected<Tuning> parse_tuning(std::string_view text, const std::string &name,
                              const std::vector<targets::Target> &targets);

} // namespace longwave::compiler
