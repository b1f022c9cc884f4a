// A status of the runtime as one of the project, and back.
#pragma once
#include "formats/base/status.h"
#include <longwave/longwave.h>
#include <string>

namespace longwave::packer {

inline Status status_of(lw_status status) {
    if (status == LW_OK) return Status::ok();
    const std::string detail = lw_last_error();
    const std::string text = lw_status_text(status) + (detail.empty() ? "" : ": " + detail);
    switch (status) {
    case LW_CHECK_FAILED: return Status::check(text);
    case LW_NO_MEMORY:
    case LW_DEVICE: return Status::device(text);
    default: return Status::input(text);
    }
}

} // namespace longwave::packer
