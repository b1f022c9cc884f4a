// longwave manual: writes the man pages, the reference page and the shell completions. The build
// and its tests call it; users get its files installed.
#include "tools/cli/manual/manual.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include <cstdint>
#include <filesystem>
#include <longwave/longwave.h>
#include <memory>
#include <span>

namespace longwave::cli {
namespace {

Status write_manual(const CommandDescription &program, const std::string &folder) {
    for (const auto &[name, text] : manual_of(program, program.name + " " + lw_version())) {
        const std::filesystem::path path = std::filesystem::path(folder) / name;
        std::error_code error;
        std::filesystem::create_directories(path.parent_path(), error);
        if (error) return Status::device(path.parent_path().string() + ": " + error.message());
        LW_TRY(write_output(path.string(),
                            std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size())));
    }
    return {};
}

} // namespace

Command add_manual(CommandLine &program) {
    auto folder = std::make_shared<std::string>();
    CommandLine *app = program.add_subcommand(
        "manual", "Write the man pages, the reference page and the shell completions.");
    app->hidden();
    app->add_option("-o,--output", *folder, "Folder to write to")->folder()->required();
    return {app, [folder, &program] { return write_manual(program.describe(), *folder); }};
}

} // namespace longwave::cli
