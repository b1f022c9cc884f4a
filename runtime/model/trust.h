// Whether the caller trusts a file: signature, key and version.
#pragma once
#include "runtime/core/model.h"

namespace longwave::runtime {

// LW_INVALID_ARGUMENT when the options ask for a signature that nothing checks.
lw_status check_trust_options(const lw_open_options &options);

// The model's data are checked, and nothing of it runs before this has returned LW_OK. It asks for
// a signature before it looks at what the file contains: a file without code could replace a signed
// one as well.
lw_status check_trust(lw_model &model, const lw_open_options &options);

} // namespace longwave::runtime
