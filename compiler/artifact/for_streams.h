// Kernels that do the work of a stream's call for several streams at once
// (schedules/halide/builder.h, lw_batch).
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <map>
#include <string>
#include <vector>

namespace longwave::compiler {

struct SpecForStreams {
    uint32_t streams;
    std::string spec;
};
// By the specification of one stream.
using SpecsForStreams = std::map<std::string, std::vector<SpecForStreams>>;

std::vector<SpecForStreams> specs_for_streams(const std::string &spec, const std::vector<uint32_t> &streams);

// Bytes from each argument of one stream to that of the next; 0: all share it. Fault::internal: the
// arguments do not fit each other.
Expected<std::vector<uint64_t>> strides_of_streams(const schedules::Signature &one,
                                                   const schedules::Signature &many, uint32_t streams,
                                                   const std::string &spec);

} // namespace longwave::compiler
