// The lowering functions of all layers, one file each. The comment at the top of each file says
// what it builds.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

// The input of a layer that is a part of another layer.
inline std::span<const Flow> one(const Flow &x) { return {&x, 1}; }

// Shared by layers that read ids: checks that the ids of the input are below `vocabulary`, and
// multiplies the rows by `scale`.
void check_vocabulary(Lowering &lowering, const Layer &layer, Flow input);
Expected<Flow> scaled(Lowering &lowering, const Layer &layer, Flow x);

Expected<Flow> lower_adaptive_embedding(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_adaptive_softmax(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_add(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_activation(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_attention(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_branches(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_chela(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_conv1d(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_conv2d(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_embedding(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_exponential_sums(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_flatten(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_gated_mlp(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_glu(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_lightnet_attention(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_linear(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_linear_attention(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_log_mel(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_lrpe(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_m2_mlp(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_mean_window(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_norm(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_orchid(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_pair_features(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_patch_embedding(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_pooling(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_residual(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_sgconv(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_short_long(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_state_space(Lowering &, const Layer &, std::span<const Flow>);
Expected<Flow> lower_tpe(Lowering &, const Layer &, std::span<const Flow>);

} // namespace longwave::compiler::layers
