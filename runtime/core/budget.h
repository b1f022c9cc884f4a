// How much memory a model and whatever is made from it may take: lw_open_options.memory_limit.
// Asked before memory is taken: a check afterwards would be too late.
#pragma once
#include "longwave/longwave.h"
#include <cstdint>

namespace longwave::runtime {

struct Budget {
    uint64_t limit = 0;
    bool given = false; // else the default for a file of this size
    uint64_t used = 0;  // by the model itself, for as long as it is open

    // Whether `bytes` more fit. `what`: for the message, as in "a stream".
    lw_status allows(const char *what, uint64_t bytes) const;
    lw_status take(const char *what, uint64_t bytes) {
        const lw_status status = allows(what, bytes);
        if (status == LW_OK) used += bytes;
        return status;
    }
    lw_status refuse(const char *what, uint64_t needed) const;
};

} // namespace longwave::runtime
