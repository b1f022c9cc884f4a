#include "compiler/devices/traits.h"

namespace longwave::devices {

// The defaults of Traits are those of a CPU: tiles that fit the cache, kernels that keep their own
// counts.
const Traits &host() {
    static const Traits cpu{.host = true};
    return cpu;
}

} // namespace longwave::devices
