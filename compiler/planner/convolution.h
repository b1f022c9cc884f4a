// Which algorithm computes a long convolution, and what it costs: measured figures from schedules/long_conv/costs.json, kept as data.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

enum class Algorithm { direct, right_angle, partitioned, nonuniform };
const char *name_of(Algorithm algorithm);

struct ConvolutionShape {
    uint32_t channels = 0, copies = 1, taps = 0;
    uint32_t rows = 0; // rows of the whole sequence, or of one stream block
    bool streaming = false, two_sided = false;
    uint32_t layers = 1; // long convolutions of the entry: what all of them walk over decides which cache it comes from
};

struct ConvolutionChoice {
    Algorithm algorithm = Algorithm::direct;
    uint32_t length = 0;                           // right_angle: transform length; partitioned, nonuniform: block
    uint32_t partitions = 0;                       // partitioned, nonuniform: of `length` taps each
    uint32_t tail_length = 0, tail_partitions = 0; // nonuniform: the taps behind these, in larger blocks
    double cost = 0;                               // estimated ns for each output element, one thread
    std::string runner_up;                         // "direct, +38 %"; empty when nothing else applies
};

// `force` names an algorithm or is empty. Errors (Fault::usage): the forced one does not apply, with the reason.
Expected<ConvolutionChoice> choose_convolution(const ConvolutionShape &shape, const std::string &force);

} // namespace longwave::compiler
