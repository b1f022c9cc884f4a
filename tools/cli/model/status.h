// A status of the C library as one of this program, with its exit code.
#pragma once
#include "formats/base/expected.h"
#include <longwave/longwave.h>
#include <string>

namespace longwave::cli {

// Ok for LW_OK. Otherwise `what` and the detail of lw_last_error().
Status status_of(lw_status status, const std::string &what);
// The same with the detail of a call elsewhere.
Status status_of(lw_status status, const std::string &what, const std::string &detail);

} // namespace longwave::cli
