#include "tools/cli/files/output_file.h"
#include "formats/artifact/write.h"
#include "tools/cli/process/interruption.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::cli {
namespace {

// The path without links; empty if the file does not exist.
std::optional<std::string> real_path(const std::string &path) {
    const std::unique_ptr<char, void (*)(void *)> real(realpath(path.c_str(), nullptr), std::free);
    return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

// The reason why no file can be created in the folder; null: one can.
const char *refusal(const std::string &folder) {
    const int opened = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return std::strerror(errno);
    close(opened);
    return faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? nullptr : std::strerror(errno);
}

} // namespace

Status check_output(const std::string &flag, const std::string &path,
                    const std::vector<std::string> &inputs) {
    struct stat output, input;
    const bool exists = stat(path.c_str(), &output) == 0;
    for (const std::string &name : inputs)
        if (exists && S_ISREG(output.st_mode) && stat(name.c_str(), &input) == 0 &&
            input.st_dev == output.st_dev && input.st_ino == output.st_ino)
            return Status::usage(flag + " " + path + ": this is " + name +
                                 ", which the command reads; name another file");
    if (exists && S_ISDIR(output.st_mode)) return Status::device(path + ": is a folder; name a file in it");
    if (exists && !S_ISREG(output.st_mode)) return {}; // a device or a pipe
    const std::filesystem::path file = real_path(path).value_or(path);
    const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
    struct stat link;
    if (!exists && lstat(path.c_str(), &link) == 0)
        return {}; // a link to a missing file: writing reports errors
    if (const char *why = refusal(folder))
        return Status::device(path + ": cannot write a file there: " + why);
    return {};
}

Status write_output(const std::string &path, std::span<const uint8_t> bytes) {
    struct stat info;
    const bool waits = stat(path.c_str(), &info) == 0 &&
                       !S_ISREG(info.st_mode); // for the reader of a pipe: a signal must end that wait
    std::optional<Uninterrupted> whole;
    if (!waits) whole.emplace();
    return artifact::write_file_atomically(path, bytes);
}

} // namespace longwave::cli
