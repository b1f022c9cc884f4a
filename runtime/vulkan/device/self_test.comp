// What every kernel counts on: sums that keep what they round off, numbers near zero, infinity and
// NaN. The numbers come from the host, so that no compiler computes with them.
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Given { float given[]; };
layout(binding = 1) buffer Found { uint found[]; };
// Adds x to high, and what that loses to low.
#define ADD(x) \
    sum = high + x; \
    part = sum - high; \
    lost = (high - (sum - part)) + (x - part); \
    low += lost; \
    high = sum;
void main() {
    precise float high = 0, low = 0, sum, part, lost;
    // Eight terms an iteration: lavapipe ends the loops of a thread after 65,535 iterations.
    for (int iteration = 0; iteration < 12800; ++iteration) {
        ADD(given[0])
        ADD(given[1])
        ADD(given[2])
        ADD(given[3])
        ADD(given[4])
        ADD(given[5])
        ADD(given[6])
        ADD(given[7])
    }
    found[0] = floatBitsToUint(high);
    found[1] = floatBitsToUint(low);
    precise const float tiny = given[8] * given[9], huge = given[11] * given[12];
    precise const float none = huge - huge, still = none * given[13], kept = given[10] + given[14];
    found[2] = floatBitsToUint(tiny);
    found[3] = floatBitsToUint(given[10]);
    found[4] = floatBitsToUint(kept);
    found[5] = floatBitsToUint(huge);
    found[6] = floatBitsToUint(none);
    found[7] = floatBitsToUint(still);
    found[8] = none == none ? 1u : 0u;
}
