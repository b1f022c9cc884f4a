// The programs that a compile runs and its temporary folders. Listed for the whole
// process, because a signal ends the whole process.
#pragma once
#include <filesystem>
#include <functional>
#include <sys/types.h>

namespace longwave::compiler::unfinished {

// `start` starts a program, sets `pid` and returns 0, or returns why not. None starts once
// everything is abandoned: this does not return then.
int start_program(const std::function<int()> &start, const pid_t &pid);
void end_program(pid_t pid); // it has ended and is about to be waited for

// `make` makes a folder, or returns an empty path.
std::filesystem::path make_folder(const std::function<std::filesystem::path()> &make);
void remove_folder(const std::filesystem::path &path);

// Kills every listed program and removes every listed folder. Afterwards nothing starts any more.
void abandon_all();

} // namespace longwave::compiler::unfinished
