#include "runtime/listen/gain.h"
#include <cstring>

namespace longwave::runtime {
namespace {

// Every 10 ms that sound moves the factor up 0.06 dB when they are below the target, or down 0.24 dB
// when they are above: it settles where a fifth of them are above. Up 6 dB in a second of sound.
constexpr float up = 1.0069317f, down = 0.97274722f;
constexpr float target = 0.01f; // power of 10 ms, -20 dB of full scale: docs/keyword.md
// 10 ms sound when they are 10 dB above the floor. It follows the quietest at once, and rises 20 dB in
// a second: noise that begins and stays is soon the floor, and words have gaps. Below -80 dB nothing
// differs.
constexpr float above_floor = 10, floor_rise = 1.0471285f, lowest_floor = 1e-8f;
constexpr float least = 0.25118864f, most = 31.622777f; // -12 dB and 30 dB
constexpr uint32_t magnitude = 0x7fffffffu;

uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float bounded(float factor) { return factor < least ? least : factor > most ? most : factor; }

// By the bits: the library may be compiled by someone with -ffast-math. False for NaN and negative
// numbers.
bool between(float value, float low, float high) {
    return bits_of(value) >= bits_of(low) && bits_of(value) <= bits_of(high);
}

} // namespace

float factor_of(float db) {
    const double x = double{db} * 0.11512925464970229 / 256; // ln 10 / 20
    double power = 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4)));
    for (int i = 0; i < 8; ++i) power *= power;
    return static_cast<float>(power);
}

void Gain::build(uint32_t sample_rate, float db, bool automatic) {
    step_ = sample_rate < 100 ? 1 : sample_rate / 100;
    start_ = db == 0 ? 1 : factor_of(db);
    if (automatic) start_ = bounded(start_); // factor_of rounds
    automatic_ = automatic;
}

GainState Gain::begin() const {
    GainState state;
    if (automatic_) state.factor = start_;
    return state;
}

void Gain::heard(const float *samples, size_t n, GainState &state) const {
    if (!automatic_) return;
    for (size_t i = 0; i < n; ++i) // values beyond 4, infinity and NaN count as silence
        if ((bits_of(samples[i]) & magnitude) <= bits_of(4.0f)) state.sum += samples[i] * samples[i];
    state.count += static_cast<uint32_t>(n);
    if (state.count < step_) return;
    const float power = state.sum / static_cast<float>(step_);
    const float risen = state.floor > 0 ? state.floor * floor_rise : power;
    state.floor = power < risen ? power : risen;
    if (state.floor < lowest_floor) state.floor = lowest_floor;
    if (power > above_floor * state.floor) {
        state.factor *= power * state.factor * state.factor < target ? up : down;
        state.factor = bounded(state.factor);
    }
    state.sum = 0;
    state.count = 0;
}

bool Gain::valid(const GainState &state) const {
    return between(state.factor, least, most) && between(state.floor, 0, 16) &&
           between(state.sum, 0, 16 * static_cast<float>(step_)) && state.count < step_;
}

} // namespace longwave::runtime
