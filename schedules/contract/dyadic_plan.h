// What long_conv_dyadic remembers and computes, from its params alone (no Halide): the compiler
// lays the state out by it and counts its cost.
//
// A scale of a multi-scale kernel is d weights stretched by s = 2^n: constants (nearest), or
// straight lines between them. Sums of the signal over s rows are sums of two sums over s/2 rows,
// so each scale gets by with d products a row, whatever s is:
//     A_1 = u        A_2s[t] = A_s[t] + A_s[t−s]                  box of s rows
//     R_1 = u/2      R_2s[t] = (R_s[t] + R_s[t−s] + A_s[t−s])/2   ramp: (m + 1/2)/s of row t−m
//     D_s = A_s − R_s                                             ramp the other way
//     H_s[t] = R_s[t] + D_s[t−s]                                  hat of 2s rows
//     G_s[t] = A_h[t−h] − R_s[t],  h = s/2                        what the first hat lacks and the last has
//                                                                 too much
// A scale with offset o is, with e = o − h:
//     y[t] += Σ_{j<d} w_j·H_s[t−e−js] + w_0·G_s[t−e] − w_{d−1}·G_s[t−e−ds]
// and the taps of a kernel that ends within a scale are a hat less, and the rest in boxes and ramps
// of 2^b rows. Nothing is fed back, so nothing drifts.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

namespace longwave::schedules {

// Most rows of a call. Rings have this much room beyond what is looked back to, so that a call may
// write its rows before it reads.
inline constexpr int dyadic_rows = 64;

inline constexpr int dyadic_most_taps = 1 << 22, dyadic_most_init_scale = 16;
// Of all slots with their lanes, and of `period`: what indices of a kernel can reach.
inline constexpr int dyadic_most_floats = 1 << 28, dyadic_most_period = 1 << 30;

struct DyadicShape {
    int kernel_dim = 1, scales = 1, init_scale = 0;
    bool nearest = false;
    int taps = 1, direct = 1; // as expand_scales has them
};

// `length` slots from `offset` on, in which row t of a stream lies at t mod length; then
// dyadic_rows slots that repeat the first ones, so that any rows of a call lie in one piece.
struct DyadicRing {
    int offset = 0, length = 0;
    int lag = 0; // rows it is looked back
};

// factor · (what the ring has of `lag` rows ago)
struct DyadicRead {
    int ring, lag;
    float factor;
};
// The newest rows of a ring: the sum from left to right, each addition rounded once, so that every
// call makes the same bits.
struct DyadicWrite {
    int ring;
    std::vector<DyadicRead> sum; // none: the rows of u
};
// y += factor · Σ_{n < count} w[scale][first + n] · ring[lag + n·stride]; scale −1: the direct taps
struct DyadicTerm {
    int scale, first, count;
    int ring, lag, stride;
    float factor;
};

struct DyadicPlan {
    std::vector<DyadicRing> rings; // the first is u
    // In order; the writes of a step do not read each other's new rows.
    std::vector<std::vector<DyadicWrite>> steps;
    std::vector<DyadicTerm> terms;
    int64_t slots = 0;
    int period = 1; // all ring lengths divide it
    int reach = 0;  // how many rows before its own a result is made of

    // Rows after which calls over blocks of so many rows find the rings as they were.
    int64_t period_of(int block) const { return std::lcm(int64_t{period}, int64_t{block}); }

    // Of a row of one channel: products with weights of one copy, and additions that fill the
    // rings.
    int64_t products() const;
    int64_t additions() const;
};

// Rows of one call for a block: as many as divide it.
int dyadic_call_rows(int block);

// `rows` of a call only decides which steps can be one; rings and terms do not depend on it.
DyadicPlan dyadic_plan(const DyadicShape &shape, int rows = dyadic_rows);

// So few channels have a plane of slots each, and lanes run over time; more lie in tiles of 16
// lanes.
inline constexpr int dyadic_plane_channels = 4;
// Lanes of a slot: 1 or 16.
inline constexpr int dyadic_lanes(int channels) { return channels <= dyadic_plane_channels ? 1 : 16; }
// Groups of slots: a channel, or 16.
inline constexpr int dyadic_planes(int channels) {
    return channels <= dyadic_plane_channels ? channels : (channels + 15) / 16;
}

} // namespace longwave::schedules
