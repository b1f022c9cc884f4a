// longwave import: hands over to the importer of the Python package, with all arguments.
#include "tools/cli/commands/command.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace longwave::cli {
namespace {

// A Python without the package gets a message of ours in place of its own.
constexpr char start_importer[] =
    "import sys\n"
    "try:\n"
    "    from longwave.importer.__main__ import main\n"
    "except ModuleNotFoundError as error:\n"
    "    if error.name not in ('longwave', 'longwave.importer'):\n"
    "        raise\n"
    "    sys.exit('error: import: ' + sys.executable + ' has no longwave package; "
    "install its wheel, or set PYTHONPATH "
    "to build/python of a clone')\n"
    "sys.exit(main())\n";

std::string python() {
    const char *named = std::getenv("LONGWAVE_PYTHON");
    return named && *named ? named : "python3";
}

// In a build folder, the package lies in python/ beside this program. The importer compiles with
// this program.
void tell_where() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (error) return;
    setenv("LONGWAVE_PROGRAM", self.c_str(), 0);
    const fs::path package = self.parent_path() / "python";
    if (!fs::exists(package / "longwave/importer/__main__.py", error)) return;
    const char *before = std::getenv("PYTHONPATH");
    setenv("PYTHONPATH", (package.string() + (before && *before ? std::string(":") + before : "")).c_str(),
           1);
}

} // namespace

Status import_program(char **arguments) {
    tell_where();
    const std::string program = python();
    std::vector<const char *> line = {program.c_str(), "-c", start_importer};
    for (; *arguments; arguments++) line.push_back(*arguments);
    line.push_back(nullptr);
    execvp(program.c_str(), const_cast<char *const *>(line.data()));
    return Status::device("import: " + program + " does not start: " + std::strerror(errno) +
                          "; install Python 3 with PyTorch, or name one with LONGWAVE_PYTHON");
}

Command add_import(CommandLine &program) {
    CommandLine *const command = program.add_subcommand(
        "import",
        "Import a PyTorch module, an ONNX graph or a capture of an amplifier (.nam) as a model folder or a "
        ".lw file, with Python.");
    auto arguments = std::make_shared<std::vector<std::string>>();
    command
        ->add_option("arguments", *arguments,
                     "what to import, and options; longwave import --help lists them")
        ->value("ARGUMENT");
    command->footer(
        "Needs Python 3 with PyTorch and safetensors, and the longwave package. LONGWAVE_PYTHON names "
        "another Python. docs/onnx.md, docs/nam.md and docs/import.md have examples.");
    return {command, [] {
                return Status::usage(
                    "import: write it as the first word: longwave import FILE.onnx -o model.lw");
            }};
}

} // namespace longwave::cli
