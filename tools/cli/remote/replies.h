// The payloads of a longwave-runner's replies, checked against the model that it was sent. Whoever
// gets values from here may index outputs by them.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/stream.h"
#include "tools/cli/remote/message.h"
#include <longwave/longwave.h>
#include <span>

namespace longwave::cli {

// What of a model decides the size of replies.
struct ReplySizes {
    std::vector<lw_output_info> run_outputs, stream_outputs;
    uint64_t state_bytes = 0; // a saved state, at most
    uint64_t largest_lag = 0; // input ticks between a push and the last of its rows, at most
    // Bytes of a reply, at most: the rows of a stream after `ticks` more, and those of an offline
    // run of `ticks`.
    uint64_t rows(uint64_t ticks) const;
    uint64_t run(uint64_t ticks) const;
};

// Rows of a stream. Each has the index and the width of an output, and the numbers of each output
// follow each other. The row handler is not called when one row of the reply is wrong.
Status read_rows(Message in, const ReplySizes &sizes, const OnRow &row);
// Rows of an offline run of `ticks`, by output: as many as its clock gives.
Expected<std::vector<std::vector<float>>> read_run(Message in, const ReplySizes &sizes, uint64_t ticks);
// The worst error of the golden vectors: a number that is not negative.
Expected<double> read_verdict(Message in);
// Of a request that has no payload as its reply.
Status read_nothing(const Message &in);
// That the runner speaks this version of wire.h.
Status read_version(Message in);

} // namespace longwave::cli
