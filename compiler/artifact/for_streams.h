// Kernels that do the work of a stream's call for several streams at once
// (schedules/halide/builder.h, lw_batch).
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longwave::compiler {

struct SpecForStreams {
    uint32_t streams;
    std::string spec;
};
// By the specification of one stream.
using SpecsForStreams = std::map<std::string, std::vector<SpecForStreams>>;

// Arguments of a call that lie in the arena of its stream, wherever it is called. The runtime has the arenas
// of several streams `apart` bytes from each to the next.
struct InArenas {
    uint64_t apart = 0;
    std::set<size_t> arguments = {};
};

std::vector<SpecForStreams> specs_for_streams(const std::string &spec, const std::vector<uint32_t> &streams,
                                              const InArenas &in_arenas);

// Bytes from each argument of one stream to that of the next; 0: all share it. Fault::internal: the
// arguments do not fit each other.
Expected<std::vector<uint64_t>> strides_of_streams(const schedules::Signature &one,
                                                   const schedules::Signature &many, uint32_t streams,
                                                   const std::string &spec);

} // namespace longwave::compiler
