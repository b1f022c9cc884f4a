#include "tools/cli/remote/emulators.h"
#include "targets/target.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/installed_program.h"
#include "tools/cli/remote/process_channel.h"
#include "tools/kernels/kernel_call.h"
#include <algorithm>

namespace longwave::cli {
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
