#include "compiler/layers/layer_table.h"
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

std::span<const LayerDef> all_layers() {
    static constexpr LayerDef table[] = {
        {"log_mel", lower_log_mel},
        {"conv2d", lower_conv2d},
        {"conv1d", lower_conv1d},
        {"flatten", lower_flatten},
        {"linear", lower_linear},
        {"attention", lower_attention},
        {"patch_embedding", lower_patch_embedding},
        {"linear_attention", lower_linear_attention},
        {"lightnet_attention", lower_lightnet_attention},
        {"lrpe", lower_lrpe},
        {"tpe", lower_tpe},
        {"exponential_sums", lower_exponential_sums},
        {"gated_mlp", lower_gated_mlp},
        {"batch_norm", lower_norm},
        {"layer_norm", lower_norm},
        {"transposed_layer_norm", lower_norm},
        {"rms_norm", lower_norm},
        {"scale_norm", lower_norm},
        {"relu", lower_activation},
        {"gelu", lower_activation},
        {"silu", lower_activation},
        {"sigmoid", lower_activation},
        {"tanh", lower_activation},
        {"softplus", lower_activation},
        {"gelu_tanh", lower_activation},
        {"hardswish", lower_activation},
        {"leaky_relu", lower_activation},
        {"elu", lower_activation},
        {"clamp", lower_activation},
        {"abs", lower_activation},
        {"square", lower_activation},
        {"sqrt", lower_activation},
        {"exp", lower_activation},
        {"reciprocal", lower_activation},
        {"softmax", lower_activation},
        {"log_softmax", lower_activation},
        {"glu", lower_glu},
        {"embedding", lower_embedding},
        {"adaptive_embedding", lower_adaptive_embedding},
        {"adaptive_softmax", lower_adaptive_softmax},
        {"sgconv", lower_sgconv},
        {"short_long", lower_short_long},
        {"state_space", lower_state_space},
        {"chela", lower_chela},
        {"orchid", lower_orchid},
        {"m2_mlp", lower_m2_mlp},
        {"branches", lower_branches},
        {"residual", lower_residual},
        {"mean", lower_pooling},
        {"mean_window", lower_mean_window},
        {"last", lower_pooling},
        {"first", lower_pooling},
        {"sum", lower_pooling},
        {"add", lower_add},
        {"pair_features", lower_pair_features},
    };
    return table;
}

const LayerDef *find_layer(const std::string &type) {
    for (const auto &def : all_layers())
        if (type == def.type) return &def;
    return nullptr;
}

} // namespace longwave::compiler::layers
