#include "schedules/registry.h"
#include "schedules/kernels.h"

namespace longwave::schedules {

namespace {

struct Entry {
    const char *name;
    BuildFunction build;
};

constexpr Entry table[] = {
    {"conv2d", build_conv2d},
    {"embedding", build_embedding},
    {"expand_scales", build_expand_scales},
    {"frame_power", build_frame_power},
    {"linear", build_linear},
    {"long_conv_direct", build_long_conv_direct},
    {"long_conv_partitioned", build_long_conv_partitioned},
    {"long_conv_right_angle", build_long_conv_right_angle},
    {"mean_run", build_mean_run},
    {"mean_stream", build_mean_stream},
    {"mean_window", build_mean_window},
    {"norm", build_norm},
    {"pair_features", build_pair_features},
    {"pointwise", build_pointwise},
    {"softmax", build_softmax},
    {"spectrum", build_spectrum},
};

} // namespace

BuildFunction find_kernel(const std::string &name) {
    for (const Entry &entry : table)
        if (name == entry.name) return entry.build;
    return nullptr;
}

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const Entry &entry : table) names.push_back(entry.name);
    return names;
}

} // namespace longwave::schedules
