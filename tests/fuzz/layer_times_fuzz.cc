// Placement files: measured times of layers (compiler/placement/layer_times.h). What must hold: any
// text gives times that can be added up, or one line that says what is wrong.
#include "compiler/placement/layer_times.h"
#include "tests/fuzz/must.h"
#include <cmath>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const auto measured = compiler::parse_layer_times(text, "file", "model");
    if (!measured) {
        must(measured.status().fault() == Fault::input || measured.status().fault() == Fault::usage,
             "a file from outside is never an internal failure");
        const std::string &line = measured.status().message();
        must(line.starts_with("file") && line.find('\n') == line.npos,
             "one line names the file and says why");
        return 0;
    }
    for (const auto &[name, times] : measured->layers)
        must(times.cpu >= 0 && std::isfinite(times.cpu) && times.device >= 0, "times are times");
    const auto &transfers = measured->transfers;
    must(transfers.submission >= 0 && transfers.byte >= 0 && transfers.transfer >= 0,
         "times of transfers are times");
    return 0;
}
