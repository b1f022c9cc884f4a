// The schedule files, one function each. What each computes, its params and its arguments: README.md.
#pragma once

namespace longwave::schedules {

class KernelBuilder;

void build_conv2d(KernelBuilder &);
void build_embedding(KernelBuilder &);
void build_expand_scales(KernelBuilder &);
void build_frame_power(KernelBuilder &);
void build_linear(KernelBuilder &);
void build_long_conv_direct(KernelBuilder &);
void build_long_conv_partitioned(KernelBuilder &);
void build_long_conv_right_angle(KernelBuilder &);
void build_mean_run(KernelBuilder &);
void build_mean_stream(KernelBuilder &);
void build_mean_window(KernelBuilder &);
void build_norm(KernelBuilder &);
void build_pair_features(KernelBuilder &);
void build_pointwise(KernelBuilder &);
void build_softmax(KernelBuilder &);
void build_spectrum(KernelBuilder &);

} // namespace longwave::schedules
