// Mu-law and A-law of ITU-T G.711, in fractions of full scale.
#include "formats/audio/source.h"

namespace longwave::audio {

float decode_mulaw(uint8_t code) {
    const unsigned bits = static_cast<uint8_t>(~code);
    const int magnitude = static_cast<int>(((bits & 15) << 3) + 132) << (bits >> 4 & 7);
    return static_cast<float>(bits & 128 ? 132 - magnitude : magnitude - 132) / 32768.0f;
}

float decode_alaw(uint8_t code) {
    const unsigned bits = code ^ 0x55u, segment = bits >> 4 & 7;
    int magnitude = static_cast<int>((bits & 15) << 4) + 8;
    if (segment > 0) magnitude = (magnitude + 256) << (segment - 1);
    return static_cast<float>(bits & 128 ? magnitude : -magnitude) / 32768.0f;
}

} // namespace longwave::audio
