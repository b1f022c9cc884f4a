// Tuning files (compiler/plan/tuning.h). What must hold: any text gives tables or one line that
// says what is wrong; the cost of each algorithm by tables that were read can be asked.
#include "compiler/plan/tuning.h"
#include "tests/fuzz/must.h"
#include <cmath>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const auto tuning = compiler::parse_tuning(text, "file", {*targets::find("x86-64-v3")});
    if (!tuning) {
        must(tuning.status().fault() == Fault::input || tuning.status().fault() == Fault::usage,
             "a file from outside is never an internal failure");
        const std::string &line = tuning.status().message();
        must(line.starts_with("file") && line.find('\n') == line.npos,
             "one line names the file and says why");
        return 0;
    }
    must(tuning->made.find('\n') == std::string::npos, "what it was measured on is one line");
    const compiler::costs::DeviceCosts &device = tuning->costs().device;
    must(std::isfinite(device.bytes_per_ns) && device.bytes_per_ns > 0 &&
             std::isfinite(device.ns_per_dispatch) && device.ns_per_dispatch > 0 &&
             device.busy_workgroups >= 1,
         "the costs of a device are numbers that can be divided by");
    return 0;
}
