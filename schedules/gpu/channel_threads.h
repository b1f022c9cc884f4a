// Kernels of a thread for each channel, which goes through rows by itself.
#pragma once
#include "schedules/gpu/program.h"
#include <algorithm>

namespace longwave::gpu {

inline uint32_t channel_lanes(uint32_t channels) { return std::min(channels, 64u); }

// `beside`: workgroups of the same channels, along dimension 1.
inline Program channel_program(const std::string &entry, uint32_t channels, uint32_t beside = 1) {
    const uint32_t lanes = channel_lanes(channels);
    return {entry, {lanes, 1, 1}, {(channels + lanes - 1) / lanes, beside, 1}};
}

inline void each_channel(Program &p, uint32_t channels, const std::function<void(Uint channel)> &body) {
    const uint32_t lanes = channel_lanes(channels);
    const Uint channel = p.group(0) * lanes + p.thread();
    if (channels % lanes == 0) return body(channel);
    p.when(channel < channels, [&] { body(channel); });
}

} // namespace longwave::gpu
