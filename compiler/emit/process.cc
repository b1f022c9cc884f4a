#include "compiler/emit/process.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace longwave::compiler {

namespace fs = std::filesystem;

Expected<ProcessResult> run_process(const std::vector<std::string> &arguments, const fs::path &scratch_folder) {
    std::string log = (scratch_folder / fmt::format("log-{}-XXXXXX", getpid())).string();
    int fd = mkstemp(log.data());
    if (fd < 0) return Status::device(fmt::format("{}: {}", log, std::strerror(errno)));
    std::vector<char *> argv;
    for (const auto &argument : arguments) argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fd, 1);
    posix_spawn_file_actions_adddup2(&actions, fd, 2);
    pid_t pid = 0;
    int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ProcessResult result;
    if (error == 0) {
        int state = 0;
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        }
        result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
        if (auto bytes = read_bytes(log)) result.output.assign(bytes->begin(), bytes->end());
    }
    close(fd);
    unlink(log.c_str());
    if (error != 0) return Status::device(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)));
    while (!result.output.empty() && result.output.back() == '\n') result.output.pop_back();
    return result;
}

Expected<TemporaryFolder> TemporaryFolder::create() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "longwave-XXXXXX").string();
    if (error || !mkdtemp(name.data())) return Status::device(fmt::format("cannot make a temporary folder {}: {}", name, std::strerror(errno)));
    return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored; // nothing is lost when a temporary folder stays
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

Expected<std::vector<uint8_t>> read_bytes(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Status::device(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

} // namespace longwave::compiler
