// A process that may make no system call: what a real-time thread is held to.
#pragma once
#include <functional>

namespace longwave::test {

enum class Verdict { obeyed, returned_false, killed, cannot_tell };

// Runs `work` in a child that is killed by its first system call but exit. cannot_tell: this system
// does not let a process forbid itself system calls.
Verdict without_system_calls(const std::function<bool()> &work);

} // namespace longwave::test
