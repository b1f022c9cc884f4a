#include "tools/cli/remote/process_channel.h"
#include "compiler/base/process_cleanup.h"
#include "targets/target.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/programs.h"
#include "tools/kernels/kernel_call.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace longwave::cli {
namespace {

constexpr size_t most_heard = 1024; // bytes of standard error that are kept

// Starts the program with `channel` as its standard input and output. 0 or errno.
int spawn(const std::vector<std::string> &command, int channel, int errors, pid_t *process) {
    std::vector<char *> arguments;
    for (const std::string &word : command) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    if (const int error = posix_spawn_file_actions_init(&actions)) return error;
    int error = posix_spawn_file_actions_adddup2(&actions, channel, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, channel, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, errors, 2);
    if (!error)
        error = compiler::unfinished::start_program(
            [&] { return posix_spawnp(process, arguments[0], &actions, nullptr, arguments.data(), environ); },
            *process);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

} // namespace

Expected<std::unique_ptr<Channel>> ProcessChannel::start(std::vector<std::string> command, double seconds) {
    std::unique_ptr<ProcessChannel> made(new ProcessChannel);
    for (const std::string &word : command) made->name_ += (made->name_.empty() ? "" : " ") + word;
    made->seconds_ = seconds;
    int ends[2], errors[2];
    const auto no_channel = [] {
        return Status::device(std::string("a channel to another program: ") + std::strerror(errno));
    };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return no_channel();
    made->channel_ = ends[0];
    if (pipe2(errors, O_CLOEXEC) != 0) {
        const Status failure = no_channel();
        ::close(ends[1]);
        return failure;
    }
    made->errors_ = errors[0];
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    const int error = spawn(command, ends[1], errors[1], &made->process_);
    ::close(ends[1]);
    ::close(errors[1]);
    if (error) {
        made->process_ = -1;
        return Status::device(command[0] + ": cannot be started: " + std::strerror(error));
    }
    return std::unique_ptr<Channel>(std::move(made));
}

ProcessChannel::~ProcessChannel() {
    if (channel_ >= 0) ::close(channel_);
    if (errors_ >= 0) ::close(errors_);
    if (process_ < 0) return;
    kill(process_, SIGKILL); // it has nothing to finish
    compiler::unfinished::end_program(process_);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Status ProcessChannel::broken(const std::string &how) {
    hear();
    const std::string line = printable_last_line(heard_, 200);
    return Status::device("\"" + name_ + "\" " + how + (line.empty() ? "" : ": " + line));
}

// Reads what there is of its standard error, so that the program never waits for a reader.
void ProcessChannel::hear() {
    char bytes[4096];
    while (errors_ >= 0) {
        const ssize_t n = read(errors_, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            ::close(errors_);
            errors_ = -1;
            return;
        }
        heard_.append(bytes, static_cast<size_t>(n));
        if (heard_.size() > most_heard) heard_.erase(0, heard_.size() - most_heard);
        if (now() > deadline_) return;
    }
}

// The events of the channel that came true.
Expected<short> ProcessChannel::wait(short events) {
    for (;;) {
        const double left = deadline_ - now();
        if (left <= 0)
            return broken(
                format("gave no complete answer within %g seconds; --emulator-timeout sets another limit",
                       seconds_));
        pollfd ends[] = {{channel_, events, 0}, {errors_, POLLIN, 0}};
        const int n = poll(ends, 2, static_cast<int>(std::min(left * 1000 + 1, 1e9)));
        if (n < 0 && errno != EINTR)
            return broken(std::string("cannot be waited for: ") + std::strerror(errno));
        if (n > 0 && ends[1].revents != 0) hear();
        if (n > 0 && ends[0].revents != 0) return ends[0].revents;
    }
}

// The program reads all of a request before it answers. So what comes earlier is no answer.
Status ProcessChannel::send(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        LW_ASSIGN(const short ready, wait(POLLOUT | POLLIN));
        if (ready & POLLIN) {
            uint8_t byte;
            const ssize_t got = recv(channel_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
            if (got > 0) return broken("sent more than one answer to a request");
            if (got == 0) return broken("ended without an answer; is it the emulator of that target?");
        }
        const ssize_t sent = ::send(channel_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (sent <= 0) return broken("ended without an answer; is it the emulator of that target?");
        bytes = bytes.subspan(static_cast<size_t>(sent));
    }
    return {};
}

Status ProcessChannel::send(std::span<const uint8_t> head, std::span<const uint8_t> payload) {
    deadline_ = now() + seconds_;
    LW_TRY(send(head));
    return send(payload);
}

Status ProcessChannel::receive(std::span<uint8_t> to) {
    while (!to.empty()) {
        LW_TRY(wait(POLLIN).status());
        const ssize_t got = recv(channel_, to.data(), to.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) return broken("ended without an answer; is it the emulator of that target?");
        to = to.subspan(static_cast<size_t>(got));
    }
    return {};
}

namespace {

// The targets that this machine cannot run.
std::vector<std::string> foreign_of(const std::vector<std::string> &targets) {
    std::vector<std::string> foreign;
    for (const std::string &name : targets)
        if (const targets::Target *cpu = targets::find(name); cpu && !kernels::host_runs(*cpu))
            foreign.push_back(name);
    return foreign;
}

} // namespace

Expected<std::shared_ptr<Remote>> start_runner(const std::string &target, const std::string &command,
                                               double seconds) {
    std::vector<std::string> words;
    for (const std::string &word : split(command, ' '))
        if (!word.empty()) words.push_back(word);
    if (words.empty())
        return Status::usage("--emulator: the command is empty; expected one such as qemu-aarch64");
    const bool complete = std::any_of(words.begin(), words.end(), [](const std::string &word) {
        return word.find("longwave-runner") != std::string::npos;
    });
    if (!complete) {
        auto runner = installed_program("longwave-runner-" + target);
        if (!runner)
            return Status::device("--emulator: " + runner.status().message() +
                                  "; build it with cmake --preset " + target +
                                  " and copy it there, or name it in the command");
        words.push_back(*std::move(runner));
    }
    LW_ASSIGN(std::unique_ptr<Channel> channel, ProcessChannel::start(std::move(words), seconds));
    return std::make_shared<Remote>(std::move(channel));
}

Expected<Emulators> start_emulators(const std::vector<std::string> &flags,
                                    const std::vector<std::string> &targets, double seconds) {
    Emulators emulators;
    const std::vector<std::string> foreign = foreign_of(targets);
    for (const std::string &flag : flags) {
        const std::string name = flag.substr(0, flag.find('='));
        const bool named = name.size() < flag.size() && targets::find(name);
        if (!named && foreign.size() > 1)
            return Status::usage("--emulator " + flag +
                                 ": several targets need one; expected TARGET=COMMAND, such as " +
                                 foreign[0] + "=" + flag);
        const std::string target = named ? name : foreign.empty() ? "" : foreign[0];
        if (std::find(foreign.begin(), foreign.end(), target) == foreign.end())
            return Status::usage(
                "--emulator " + flag + ": " +
                (named ? "target " + target + " is not one of --target, or runs on this machine"
                       : std::string("this machine runs every target of --target; leave it out")));
        LW_ASSIGN(emulators[target],
                  start_runner(target, named ? flag.substr(name.size() + 1) : flag, seconds));
    }
    return emulators;
}

} // namespace longwave::cli
