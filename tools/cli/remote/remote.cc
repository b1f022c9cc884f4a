#include "tools/cli/remote/remote.h"
#include "compiler/codegen/process_cleanup.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/status.h"
#include "tools/cli/output/text.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace longwave::cli {
namespace {

constexpr time_t longest_wait = 600; // seconds

struct Head {
    uint32_t what, which; // of a reply: the status, as int32
    uint64_t bytes;
};

bool send_all(int channel, const void *bytes, size_t n) {
    auto at = static_cast<const uint8_t *>(bytes);
    while (n > 0) {
        const ssize_t sent = send(channel, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        n -= static_cast<size_t>(sent);
    }
    return true;
}

bool receive_all(int channel, void *bytes, size_t n) {
    auto at = static_cast<uint8_t *>(bytes);
    while (n > 0) {
        const ssize_t got = recv(channel, at, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0; // the other end is closed
        if (got <= 0) return false;
        at += got;
        n -= static_cast<size_t>(got);
    }
    return true;
}

// Starts the program with `channel` as its standard input and output. 0 or errno.
int spawn(const std::vector<std::string> &command, int channel, pid_t *process) {
    std::vector<char *> arguments;
    for (const std::string &word : command) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    if (const int error = posix_spawn_file_actions_init(&actions)) return error;
    int error = posix_spawn_file_actions_adddup2(&actions, channel, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, channel, 1);
    if (!error)
        error = compiler::unfinished::start_program(
            [&] { return posix_spawnp(process, arguments[0], &actions, nullptr, arguments.data(), environ); },
            *process);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

} // namespace

void Message::take_bytes(void *to, size_t n) {
    failed_ |= n > bytes_.size() - at_;
    if (failed_) return;
    std::memcpy(to, bytes_.data() + at_, n);
    at_ += n;
}

std::string Message::text() {
    const uint32_t n = take<uint32_t>();
    failed_ |= n > bytes_.size() - at_;
    if (failed_) return {};
    std::string text(reinterpret_cast<const char *>(bytes_.data()) + at_, n);
    at_ += n;
    return text;
}

std::vector<float> Message::floats(uint64_t n) {
    failed_ |= n > (bytes_.size() - at_) / sizeof(float);
    if (failed_) return {};
    std::vector<float> values(n);
    take_bytes(values.data(), n * sizeof(float));
    return values;
}

Expected<std::shared_ptr<Remote>> Remote::start(std::vector<std::string> command) {
    std::shared_ptr<Remote> remote(new Remote);
    for (const std::string &word : command) remote->name_ += (remote->name_.empty() ? "" : " ") + word;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return Status::device(std::string("a channel to another program: ") + std::strerror(errno));
    remote->channel_ = ends[0];
    const timeval patience{longest_wait, 0};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int error = spawn(command, ends[1], &remote->process_);
    ::close(ends[1]);
    if (error) {
        remote->process_ = -1;
        return Status::device(command[0] + ": cannot be started: " + std::strerror(error));
    }
    return remote;
}

Remote::~Remote() {
    if (channel_ >= 0) ::close(channel_);
    if (process_ < 0) return;
    kill(process_, SIGKILL); // it has nothing to finish
    compiler::unfinished::end_program(process_);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Status Remote::broken(const std::string &how) {
    return Status::device("\"" + name_ + "\" " + how + "; is it the emulator of that target?");
}

Expected<Message> Remote::ask(uint32_t what, uint32_t *which, const Request &request, const std::string &doing) {
    Head head{what, which ? *which : 0, request.bytes().size()};
    if (!send_all(channel_, &head, sizeof head) ||
        !send_all(channel_, request.bytes().data(), request.bytes().size()) ||
        !receive_all(channel_, &head, sizeof head))
        return broken(errno == EAGAIN ? "gave no answer in ten minutes" : "ended without an answer");
    if (head.bytes > (uint64_t{1} << 32)) return broken("gave an answer that longwave-runner does not give");
    std::vector<uint8_t> payload(head.bytes);
    if (!receive_all(channel_, payload.data(), payload.size())) return broken("ended within an answer");
    if (which) *which = head.which;
    const auto status = static_cast<lw_status>(head.what);
    if (status == LW_OK) return Message(std::move(payload));
    return status_of(status, doing, std::string(payload.begin(), payload.end()));
}

} // namespace longwave::cli
