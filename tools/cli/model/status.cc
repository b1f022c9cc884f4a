#include "tools/cli/model/status.h"

namespace longwave::cli {

Status status_of(lw_status status, const std::string &what) {
    return status == LW_OK ? Status() : status_of(status, what, lw_last_error());
}

Status status_of(lw_status status, const std::string &what, const std::string &detail) {
    if (status == LW_OK) return {};
    std::string text = what + ": " + (detail.empty() ? lw_status_text(status) : detail);
    if (detail.starts_with(what + ":")) text = detail; // it names the file itself
    switch (status) {
    case LW_CHECK_FAILED: return Status::check(std::move(text));
    case LW_NO_STREAM: return Status::usage(std::move(text));
    case LW_NOT_FOUND:
    case LW_BAD_ARTIFACT:
    case LW_BAD_VERSION:
    case LW_BAD_STATE:
    case LW_BAD_TOKEN:
    case LW_TOO_LONG:
    case LW_TOO_SHORT:
    case LW_UNSIGNED_CODE:
    case LW_OLD_VERSION:
    case LW_NO_CODE:
    case LW_NOT_FINITE:
    case LW_IO: return Status::input(std::move(text));
    case LW_NO_VARIANT:
    case LW_NO_MEMORY:
    case LW_NO_DEVICE:
    case LW_UNSUPPORTED:
    case LW_DEVICE_LOST:
    case LW_TIMEOUT:
    case LW_DEVICE_WRONG:
    case LW_DEVICE: return Status::device(std::move(text));
    default: return Status::internal(std::move(text));
    }
}

} // namespace longwave::cli
