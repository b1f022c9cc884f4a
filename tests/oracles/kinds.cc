#include "tests/oracles/kinds.h"
#include "formats/package/problems.h"

namespace longwave::oracles {

std::span<const Kind> kinds() {
    static constexpr Kind table[] = {
        {"chela.short_reparam", chela_reparam_trials},
        {"chela.layer", chela_layer_trials},
        {"chela.model", chela_model_trials},
        {"stream.chela", chela_model_trials},
        {"lightnet.attention", lightnet_attention_trials},
        {"lightnet.attention_noncausal", lightnet_attention_trials},
        {"lightnet.core", lightnet_core_trials},
        {"lightnet.lrpe_md", lightnet_position_trials},
        {"lightnet.md_tpe_paper", lightnet_position_trials},
        {"lightnet.model", lightnet_model_trials},
        {"lightnet.tpe", lightnet_position_trials},
        {"stream.lightnet", lightnet_model_trials},
        {"orchid.m2_block", orchid_trials},
        {"orchid.operator", orchid_trials},
    };
    return table;
}

Expected<const package::Tensor *> Fixture::tensor(const std::string &key, size_t rank) const {
    const package::Tensor *found = find(key);
    if (found && found->shape.size() == rank) return found;
    return Status::input(name + ": expected tensor " + key + " of rank " + std::to_string(rank) +
                         (found ? ", found shape " + package::shape_text(found->shape) : ", found none"));
}

std::map<std::string, package::Tensor> Fixture::weights(const std::string &prefix) const {
    std::map<std::string, package::Tensor> found;
    for (const auto &[key, tensor] : tensors)
        if (key.starts_with("w.")) found[prefix + key.substr(2)] = tensor;
    return found;
}

} // namespace longwave::oracles
