// The header of a model that a program contains (longwave compile --emit static).
#pragma once
#include <cstdint>
#include <string>

namespace longwave::cli {

// Bytes. What a program cannot have is 0.
struct StaticSizes {
    uint64_t code = 0, constants = 0; // of the library: read-only
    uint64_t weights = 0;             // of the file beside it
    uint64_t model = 0, stream = 0, spotter = 0, speech_detector = 0,
             run = 0;   // memory that the program gives
    uint64_t stack = 0; // of a call of the library, at most; 0: not known
    uint32_t block = 0; // input ticks
};

// "longwave_kws": the symbol of the model. What C does not allow in a name is '_'.
std::string static_symbol(const std::string &name);

// C that declares the model and states its sizes as macros.
std::string static_header(const std::string &name, const std::string &target, const StaticSizes &sizes);

} // namespace longwave::cli
