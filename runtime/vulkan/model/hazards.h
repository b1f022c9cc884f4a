// Which steps must wait for those before them. Steps that read what others wrote, or write what
// others touched, have a barrier in between. Others run side by side.
// In a run each argument has a descriptor of its own. In a stream a descriptor reaches a whole
// region for all streams: a field of the state, a cache, or the arena. Vulkan counts every access
// through a descriptor as one to all that it reaches, so there whole regions are compared.
#pragma once
#include "formats/artifact/schema.h"
#include <cstdint>

namespace longwave::runtime::vulkan {

class Hazards {
public:
    enum class Reach { bytes, regions };
    Hazards(const fb::Plan &plan, Reach reach) : plan_(plan), reach_(reach) {}

    // Whether the step touches what steps since the last barrier wrote, or writes what they
    // touched.
    bool must_wait(const fb::Step &step) const;
    void add(const fb::Step &step);
    void clear() { n_ = 0, full_ = false; } // at a barrier

private:
    struct Touched {
        fb::Space space;
        bool written;
        uint64_t begin, end;
    };
    template <class Visit> void each(const fb::Step &step, const Visit &visit) const;
    Touched region_of(const Touched &bytes) const;

    static constexpr uint32_t most = 64;
    const fb::Plan &plan_;
    const Reach reach_;
    Touched touched_[most];
    uint32_t n_ = 0;
    bool full_ = false; // it no longer knows everything: the next step waits
};

} // namespace longwave::runtime::vulkan
