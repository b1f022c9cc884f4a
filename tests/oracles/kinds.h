// Kinds of fixtures by the operator that they name: how each becomes models to run.
#pragma once
#include "tests/oracles/trial.h"
#include <nlohmann/json.hpp>
#include <span>

namespace longwave::oracles {

// A fixture as it lies in its two files.
struct Fixture {
    std::string name, operation;
    nlohmann::json config;
    std::map<std::string, package::Tensor> tensors; // "w.…", "in.…", "ref.…"

    const package::Tensor *find(const std::string &key) const { // null when there is none
        const auto found = tensors.find(key);
        return found == tensors.end() ? nullptr : &found->second;
    }
    bool has(const std::string &key) const { return find(key) != nullptr; }
    // Fault::input: missing, or of another rank.
    Expected<const package::Tensor *> tensor(const std::string &key, size_t rank) const;
    // w.* with `prefix` in place of "w.".
    std::map<std::string, package::Tensor> weights(const std::string &prefix = "") const;
};

struct Kind {
    const char *operation;
    Expected<std::vector<Trial>> (*trials)(const Fixture &fixture);
};

// One line a kind; the trials of each family are in a file of their own.
std::span<const Kind> kinds();

Expected<std::vector<Trial>> chela_reparam_trials(const Fixture &fixture);
Expected<std::vector<Trial>> chela_layer_trials(const Fixture &fixture);
Expected<std::vector<Trial>> chela_model_trials(const Fixture &fixture);
Expected<std::vector<Trial>> lightnet_attention_trials(const Fixture &fixture);
Expected<std::vector<Trial>> lightnet_core_trials(const Fixture &fixture);
Expected<std::vector<Trial>> lightnet_model_trials(const Fixture &fixture);
Expected<std::vector<Trial>> lightnet_position_trials(const Fixture &fixture);
Expected<std::vector<Trial>> orchid_trials(const Fixture &fixture);

} // namespace longwave::oracles
