// A channel to another program: its standard input and output. What the program writes to its
// standard error is kept for the message of a failure, because it is foreign text.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/remote/remote.h"
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace longwave::cli {

class ProcessChannel : public Channel {
public:
    // command[0] is a path, or a name looked up in PATH. `seconds`: the longest time that one reply
    // may take. Fault::device: the program cannot be started.
    static Expected<std::unique_ptr<Channel>> start(std::vector<std::string> command, double seconds);
    ~ProcessChannel() override; // ends the program
    ProcessChannel(const ProcessChannel &) = delete;
    ProcessChannel &operator=(const ProcessChannel &) = delete;

    Status send(std::span<const uint8_t> head, std::span<const uint8_t> payload) override;
    Status receive(std::span<uint8_t> to) override;
    Status broken(const std::string &how) override;

private:
    ProcessChannel() = default;
    Expected<short> wait(short events);
    void hear();
    Status send(std::span<const uint8_t> bytes);
    std::string name_;  // the command, for messages
    std::string heard_; // the end of its standard error
    int channel_ = -1, errors_ = -1;
    pid_t process_ = -1;
    double seconds_ = 0, deadline_ = 0; // deadline_: of the reply, as now()
};

// The commands that run code of other machines, as --emulator names them.

using Emulators = std::map<std::string, std::shared_ptr<Remote>>; // by target

// Starts longwave-runner-TARGET, which lies next to this program, by `command`: words separated by
// spaces. A command that names a longwave-runner itself, such as "ssh board longwave-runner", is
// started as it is. `seconds`: the longest time that one reply may take. Fault::device: a program is
// missing or cannot be started.
Expected<std::shared_ptr<Remote>> start_runner(const std::string &target, const std::string &command,
                                               double seconds);

// `flags`: COMMAND, or TARGET=COMMAND. `targets`: those of the compilation. Fault::usage: a command
// for no target that needs one, or for several.
Expected<Emulators> start_emulators(const std::vector<std::string> &flags,
                                    const std::vector<std::string> &targets, double seconds = 600);

} // namespace longwave::cli
