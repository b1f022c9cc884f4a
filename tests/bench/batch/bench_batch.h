// Generators, or spotters, of one model: one by one, and the same number in one batch.
#pragma once
#include "formats/base/expected.h"
#include "longwave/batch.h"
#include <algorithm>
#include <ctime>
#include <memory>
#include <string>

namespace longwave::bench {

struct BatchOptions {
    uint32_t count = 16;  // generators or spotters
    uint32_t steps = 64;  // tokens or blocks of each in a round
    uint32_t rounds = 20; // of which the fastest counts
    std::string audio;    // what spotters hear
};

struct BatchTimes {
    double alone_us = 0, together_us = 0; // of a step of one of them, CPU time
    uint64_t results = 0;                 // tokens, or events
    bool same = true;                     // the results of both
};

using ModelHandle = std::unique_ptr<lw_model, decltype(&lw_model_close)>;
using BatchHandle = std::unique_ptr<lw_batch, decltype(&lw_batch_destroy)>;

Expected<BatchTimes> bench_generators(const lw_model *model, const BatchOptions &options);
Expected<BatchTimes> bench_spotters(const lw_model *model, const BatchOptions &options);

inline Status checked(lw_status status, const char *doing) {
    if (status == LW_OK) return {};
    return Status::input(std::string(doing) + ": " + lw_status_text(status) + ": " + lw_last_error());
}

// Other programs of the machine do not count.
inline double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of many rounds. The first one warms.
class Least {
public:
    template <class Function> Status time(Function &&function) {
        const double start = cpu_seconds();
        LW_TRY(function());
        if (warm_) seconds_ = std::min(seconds_, cpu_seconds() - start);
        warm_ = true;
        return {};
    }
    double us(uint64_t parts) const { return 1e6 * seconds_ / static_cast<double>(parts); }

private:
    double seconds_ = 1e30;
    bool warm_ = false;
};

} // namespace longwave::bench
