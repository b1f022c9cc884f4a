#include "tools/cli/process/installed_program.h"
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace longwave::cli {

Expected<std::string> installed_program(const std::string &name) {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    // In a build folder, tests are one folder below the programs. Installed, programs that users do
    // not start themselves lie in lib*/longwave.
    const fs::path here = self.parent_path(), above = here.parent_path();
    for (const fs::path &folder : {here, above, above / LONGWAVE_PRIVATE_FOLDER, above.parent_path() / "bin"})
        if (const fs::path program = folder / name;
            access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program, error))
            return program.string();
    return Status::device(name + " was not found in the folder of " + self.string());
}

} // namespace longwave::cli
