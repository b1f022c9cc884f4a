// Where standard output and standard error go.
#pragma once

namespace longwave::cli {

// Whether both go to one terminal, file or pipe. Then an error is printed once, as text.
bool output_beside_errors();

} // namespace longwave::cli
