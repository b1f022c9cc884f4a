// Runs a program and makes one of its system calls fail, whoever makes it: the program, the C
// library in its behalf, or a thread. Calls count from main() on (preloaded.cc must be in
// LD_PRELOAD), children do not.
//   failing_calls count FILE PROGRAM...         FILE: a line "CALL NUMBER" for each kind of call
//   failing_calls CALL K HOW PROGRAM...         the K-th CALL from 0 does HOW: the number of an
//                                               errno, `short` (half the bytes), `kill` or `signal`
//                                               (SIGKILL or SIGUSR1 before it). K may end in +:
//                                               those behind it as well
// A tracer, not functions in LD_PRELOAD: the C library calls itself without looking for others
// (fread, printf).
#include "tests/faults/begin.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <linux/sched.h>
#include <map>
#include <string>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using longwave::test::program_begins;

namespace {

constexpr const char *kinds[] = {"open",    "read",     "write",   "sync", "rename", "map",
                                 "protect", "truncate", "close",   "stat", "mode",   "unlink",
                                 "folder",  "thread",   "process", "wait"};
constexpr int none = -1;

struct Call {
    uint64_t number;
    const uint64_t *arguments;
};

int kind(const char *name) {
    for (size_t i = 0; i < std::size(kinds); i++)
        if (strcmp(kinds[i], name) == 0) return static_cast<int>(i);
    return none;
}

const char *name_of(const Call &call) {
    switch (call.number) {
    case SYS_open:
    case SYS_openat: return "open";
    case SYS_read:
    case SYS_pread64:
    case SYS_readv: return "read";
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev: return "write";
    case SYS_fsync:
    case SYS_fdatasync: return "sync";
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2: return "rename";
    case SYS_mmap: return "map";
    case SYS_mprotect: return "protect";
    case SYS_ftruncate: return "truncate";
    case SYS_close: return "close";
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx: return "stat";
    case SYS_chmod:
    case SYS_fchmod:
    case SYS_fchmodat: return "mode";
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rmdir: return "unlink";
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_readlink:
    case SYS_getdents64:
    case SYS_faccessat2:
    case SYS_access: return "folder";
    case SYS_clone: return call.arguments[0] & CLONE_THREAD ? "thread" : "process";
    case SYS_clone3: return "thread"; // what posix_spawn does in glibc 2.36 as well: see flags_of
    case SYS_vfork:
    case SYS_fork: return "process";
    case SYS_wait4:
    case SYS_waitid: return "wait";
    default: return "";
    }
}

// The memory of the program.
uint64_t word_at(pid_t thread, uint64_t address) {
    return static_cast<uint64_t>(ptrace(PTRACE_PEEKDATA, thread, address, nullptr));
}

struct Plan {
    const char *file = nullptr; // to count into
    int call = none;
    long k = 0;
    bool for_good = false, shortened = false;
    int error = 0, signal = 0;
};

class Tracer {
public:
    Tracer(pid_t program, const Plan &plan) : program_(program), plan_(plan) {}

    // Its exit status as waitpid tells it.
    int run() {
        ptrace(PTRACE_SETOPTIONS, program_, nullptr,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE);
        ptrace(PTRACE_SYSCALL, program_, nullptr, nullptr);
        for (;;) {
            int status = 0;
            const pid_t thread = waitpid(-1, &status, __WALL);
            if (thread < 0) return 99 << 8;
            if (WIFEXITED(status) || WIFSIGNALED(status)) {
                if (thread == program_) return status;
                continue;
            }
            ptrace(PTRACE_SYSCALL, thread, nullptr, stopped(thread, status));
        }
    }
    void tell() const {
        FILE *file = fopen(plan_.file, "w");
        for (size_t i = 0; file && i < std::size(kinds); i++) fprintf(file, "%s %ld\n", kinds[i], count_[i]);
        if (file) fclose(file);
    }

private:
    // What happens to one call when it returns.
    struct Pending {
        bool replaced = false;
        int error = 0;
    };

    // Returns the signal that the thread is to get.
    long stopped(pid_t thread, int status) {
        const int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            call(thread);
            return 0;
        }
        if (signal == SIGTRAP && status >> 16) return 0; // a thread was made
        if (signal == SIGSTOP && !known_.count(thread) && thread != program_) {
            known_[thread] = true; // its first stop
            return 0;
        }
        return signal;
    }

    void call(pid_t thread) {
        __ptrace_syscall_info info;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return;
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            const Call made{info.entry.nr, reinterpret_cast<const uint64_t *>(info.entry.args)};
            if (made.number == SYS_prctl && static_cast<int>(made.arguments[0]) == program_begins)
                begun_ = true;
            else if (begun_) entered(thread, made);
        } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
            const Pending pending = pending_[thread];
            pending_.erase(thread);
            if (pending.replaced)
                set(thread, [&](user_regs_struct &regs) {
                    regs.rax = static_cast<unsigned long long>(-static_cast<long long>(pending.error));
                });
        }
    }

    void entered(pid_t thread, const Call &made) {
        const char *name = name_of(made);
        if (made.number == SYS_clone3)
            name = word_at(thread, made.arguments[0]) & CLONE_THREAD ? "thread" : "process";
        const int which = kind(name);
        const bool writes = plan_.shortened && made.arguments[2] < 2; // of one byte none is a half
        if (which == none || writes) return;
        const long k = count_[static_cast<size_t>(which)]++;
        if (which != plan_.call || k < plan_.k || (k > plan_.k && !plan_.for_good)) return;
        if (plan_.signal) {
            kill(program_, plan_.signal);
        } else if (plan_.shortened) {
            set(thread, [](user_regs_struct &regs) { regs.rdx /= 2; });
        } else {
            pending_[thread] = {true, plan_.error};
            // A file is closed whatever close() says of it. Everything else does not take place.
            if (made.number != SYS_close)
                set(thread,
                    [](user_regs_struct &regs) { regs.orig_rax = static_cast<unsigned long long>(-1); });
        }
    }

    template <class Change> static void set(pid_t thread, Change change) {
        user_regs_struct regs;
        if (ptrace(PTRACE_GETREGS, thread, nullptr, &regs) != 0) return;
        change(regs);
        ptrace(PTRACE_SETREGS, thread, nullptr, &regs);
    }

    const pid_t program_;
    const Plan plan_;
    bool begun_ = false;
    std::array<long, std::size(kinds)> count_ = {};
    std::map<pid_t, Pending> pending_;
    std::map<pid_t, bool> known_;
};

int usage() {
    fprintf(stderr, "usage: failing_calls count FILE PROGRAM... | failing_calls CALL K HOW PROGRAM...\n");
    return 98;
}

} // namespace

int main(int argc, char **argv) {
    Plan plan;
    int rest = 3;
    if (argc > 3 && strcmp(argv[1], "count") == 0) {
        plan.file = argv[2];
    } else if (argc > 4 && (plan.call = kind(argv[1])) != none) {
        char *end = nullptr;
        plan.k = strtol(argv[2], &end, 10);
        plan.for_good = *end == '+';
        plan.shortened = strcmp(argv[3], "short") == 0;
        plan.signal = strcmp(argv[3], "kill") == 0 ? SIGKILL : strcmp(argv[3], "signal") == 0 ? SIGUSR1 : 0;
        plan.error = atoi(argv[3]);
        rest = 4;
    } else {
        return usage();
    }
    const pid_t program = fork();
    if (program == 0) {
        if (const char *preloaded = getenv("LONGWAVE_FAULT_PRELOAD")) setenv("LD_PRELOAD", preloaded, 1);
        unsetenv("LONGWAVE_FAULT_PRELOAD");
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
        execv(argv[rest], argv + rest);
        _exit(98);
    }
    int status = 0;
    if (program < 0 || waitpid(program, &status, 0) != program) return 99;
    if (WIFEXITED(status)) return WEXITSTATUS(status); // 77: nobody may trace here
    Tracer tracer(program, plan);
    status = tracer.run();
    if (plan.file) tracer.tell();
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status)); // as the program ended
    return 99;
}
