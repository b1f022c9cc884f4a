#include "runtime/core/budget.h"
#include "runtime/core/status.h"

namespace longwave::runtime {

lw_status Budget::allows(const char *what, uint64_t bytes) const {
    if (bytes <= limit && used <= limit - bytes) return LW_OK;
    return refuse(what, bytes < UINT64_MAX - used ? used + bytes : UINT64_MAX);
}

lw_status Budget::refuse(const char *what, uint64_t needed) const {
    return fail(LW_NO_MEMORY, {"rule V20: ", what, " needs ", needed,
                               " bytes with all that is open, lw_open_options.memory_limit is ", limit,
                               given ? "" : " (the default for a file of this size)"});
}

} // namespace longwave::runtime
