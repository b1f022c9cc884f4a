#include "tools/cli/output/standard_streams.h"
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::cli {

bool output_beside_errors() {
    struct stat output, errors;
    return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &errors) == 0 &&
           output.st_dev == errors.st_dev && output.st_ino == errors.st_ino;
}

} // namespace longwave::cli
