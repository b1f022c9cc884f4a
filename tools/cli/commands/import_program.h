// The importer, in place of this program: it has its own arguments and its own help.
#pragma once
#include "formats/base/status.h"

namespace longwave::cli {

Status import_program(char **arguments); // returns only if Python does not start

} // namespace longwave::cli
