// docs/model-format.md, written from the layer table and the texts in docs/model-format.in.md.
#pragma once
#include "formats/base/expected.h"
#include <string>

namespace longwave::package {

// The page. Fails with one line per layer, attribute or tensor that has no text, and per text that
// names none of the table.
Expected<std::string> model_format(const std::string &source);

} // namespace longwave::package
