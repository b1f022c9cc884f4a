// The bytes between this program and a longwave-runner.
#pragma once
#include "formats/base/status.h"
#include <cstddef>
#include <cstdint>
#include <span>

namespace longwave::cli {

class Channel {
public:
    virtual ~Channel() = default;
    // A whole request, in two pieces. The time limit of its reply begins. Fault::device: the other
    // end is gone, or sends before it has read the request, or the time is over.
    virtual Status send(std::span<const uint8_t> head, std::span<const uint8_t> payload) = 0;
    // Exactly so many bytes of the reply. Fault::device likewise.
    virtual Status receive(std::span<uint8_t> to) = 0;
    // The other end broke the rules of wire.h: `how` continues its name.
    virtual Status broken(const std::string &how) = 0;
};

} // namespace longwave::cli
