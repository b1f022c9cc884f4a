// zita-convolver: partitions of several lengths, the longer ones in threads of their own. They
// inherit the caller's one CPU, so that wall-clock time is that of all of them.
#include "tests/bench/stream/contestant.h"
#include <algorithm>
#include <sched.h>
#include <zita-convolver.h>

namespace longwave::bench {
namespace {

class ZitaStream final : public StreamContestant {
public:
    ZitaStream(const StreamProblem &p, uint32_t largest) : p_(p), largest_(largest) {}
    ~ZitaStream() override {
        if (!running_) return;
        convolver_.stop_process();
        while (!convolver_.check_stop()) sched_yield();
        convolver_.cleanup();
    }
    Status open() {
        const uint32_t least = std::max<uint32_t>(p_.block, Convproc::MINPART);
        convolver_.set_options(Convproc::OPT_FFTW_MEASURE | Convproc::OPT_VECTOR_MODE);
        if (convolver_.configure(p_.channels, p_.channels, p_.taps, p_.block, least,
                                 std::max(least, largest_), 0.0f))
            return Status::internal("zita-convolver refuses the configuration");
        for (uint32_t o = 0; o < p_.channels; o++)
            for (uint32_t i = 0; i < p_.heard(); i++) {
                auto *kernel = const_cast<float *>(p_.filter(o, i));
                if (convolver_.impdata_create(p_.first(o) + i, o, 1, kernel, 0,
                                              static_cast<int32_t>(p_.taps)))
                    return Status::internal("zita-convolver refuses the taps");
            }
        if (convolver_.start_process(0, SCHED_OTHER))
            return Status::internal("zita-convolver does not start");
        running_ = true;
        return {};
    }
    std::string name() const override { return "zita"; }
    uint32_t period() const override { return std::max(1u, largest_ / p_.block); }
    std::string settings() const override {
        return "{\"largest\":" + std::to_string(largest_) + ",\"late_blocks\":" + std::to_string(late_) + "}";
    }
    Status block(const float *in, float *out) override {
        for (uint32_t c = 0; c < p_.channels; c++) {
            float *to = convolver_.inpdata(c);
            for (uint32_t n = 0; n < p_.block; n++) to[n] = in[n * p_.channels + c];
        }
        const int flags = convolver_.process(true);
        if (flags & Convproc::FL_LOAD) return Status::internal("zita-convolver fell behind");
        late_ += (flags & Convproc::FL_LATE) != 0;
        for (uint32_t c = 0; c < p_.channels; c++) {
            const float *from = convolver_.outdata(c);
            for (uint32_t n = 0; n < p_.block; n++) out[n * p_.channels + c] = from[n];
        }
        return {};
    }

private:
    const StreamProblem &p_;
    uint32_t largest_;
    Convproc convolver_;
    bool running_ = false;
    uint64_t late_ = 0; // blocks without all of their long partitions: what they give then is wrong
};

} // namespace

Streamer zita_stream(const StreamProblem &problem, uint32_t largest) {
    auto zita = std::make_unique<ZitaStream>(problem, largest);
    LW_TRY(zita->open());
    return std::unique_ptr<StreamContestant>(std::move(zita));
}

} // namespace longwave::bench
