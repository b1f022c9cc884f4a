// A fixture as models to run: the case itself, and for single layers also the bare kernel.
#pragma once
#include "tests/oracles/oracle_package.h"
#include "tests/oracles/trial.h"

namespace longwave::oracles {

Expected<std::vector<Trial>> read_trials(const std::string &json_path);
// The operator that a fixture names; empty where it cannot be read.
std::string kind_of(const std::string &json_path);

} // namespace longwave::oracles
