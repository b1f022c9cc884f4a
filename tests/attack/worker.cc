#include "tests/attack/worker.h"
#include "tests/attack/victim.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef LONGWAVE_ATTACK_GPU
#include "longwave/vulkan.h"
#endif

// Of LeakSanitizer, where this program has it.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

namespace longwave::attack {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int leaks = 23; // exit status of a worker

// What worker and watchdog share.
struct Shared {
    volatile uint64_t next, number; // the count of the mutant in work, and its number
    volatile double began;          // CPU seconds of the worker
    Counts counts;
};

Shared &shared_memory() {
    static auto *memory = static_cast<Shared *>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) std::perror("mmap"), std::exit(3);
    return *memory;
}

double cpu_seconds(clockid_t clock) {
    timespec now{};
    return clock_gettime(clock, &now) == 0
               ? static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)
               : 0;
}

std::vector<uint8_t> read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (bytes.empty()) std::fprintf(stderr, "%s: cannot be read\n", path.c_str()), exit(3);
    return {bytes.begin(), bytes.end()};
}

bool any_modules(const std::vector<uint8_t> &bytes) {
    for (size_t at = 0; at + 8 < bytes.size(); at += 4)
        if (memcmp(&bytes[at], "LWGM", 4) == 0) return true;
    return false;
}

// The i-th mutant: every single change once, in an order that jumps about; then several at a time.
uint64_t number_of(const Mutants &mutants, uint64_t i, uint64_t seed) {
    const uint64_t n = mutants.singles();
    uint64_t step = 0x9e3779b97f4a7c15ull % n | 1;
    while (std::gcd(step, n) != 1) step += 2;
    const uint64_t at = i + seed % n;
    return at - seed % n < n ? static_cast<uint64_t>(static_cast<unsigned __int128>(at) * step % n)
                             : at + seed;
}

[[noreturn]] void work(const Subject &subject, const Turn &turn, Shared &shared) {
    const rlimit core{0, 0};
    setrlimit(RLIMIT_CORE, &core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    lw_device *device = any_modules(subject.mutants->original()) ? open_device(turn.gpu) : nullptr;
    {
        Victim victim(subject.mutants->original(), device);
        const auto end = Clock::now() + std::chrono::duration<double>(turn.wall_seconds);
        for (;;) {
            shared.began = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
            if (shared.began >= turn.cpu_seconds || Clock::now() >= end) break;
            shared.number = number_of(*subject.mutants, shared.next, turn.seed);
            const Mutants::Mutant mutant = subject.mutants->make(shared.number);
            victim.attack(mutant.bytes, !mutant.gpu_code, shared.number, shared.counts);
            shared.next = shared.next + 1;
        }
    }
    // A driver keeps memory of its own.
    if (!device && __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) _exit(leaks);
    _exit(0);
}

void keep(const Subject &subject, const Turn &turn, uint64_t number, const std::string &why) {
    const Mutants::Mutant mutant = subject.mutants->make(number);
    std::filesystem::create_directories(turn.found);
    const std::string path = turn.found + '/' + subject.name + '-' + std::to_string(number) + ".lw";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(mutant.bytes.data()),
               static_cast<std::streamsize>(mutant.bytes.size()));
    std::printf("FINDING %s: %s: %s\n", path.c_str(), why.c_str(), mutant.name.c_str());
    std::fflush(stdout);
}

void add(Counts &to, const Counts &from) {
    to.inputs += from.inputs;
    to.sound += from.sound;
    to.ran += from.ran;
    to.opened += from.opened;
    to.on_gpu += from.on_gpu;
}

std::string reason(int status) {
    if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) == leaks) return "this mutant, or one shortly before it, leaks";
    return "exit " + std::to_string(WEXITSTATUS(status));
}

} // namespace

Subject::Subject(const std::string &path, Progress &progress, double goal_seconds)
    : name(std::filesystem::path(path).stem().string()), mutants(std::make_unique<Mutants>(read(path))),
      totals(progress.of(name)), goal(goal_seconds) {}

lw_device *open_device([[maybe_unused]] bool wanted) {
    lw_device *device = nullptr;
#ifdef LONGWAVE_ATTACK_GPU
    if (wanted && lw_vulkan_open(nullptr, &device) != LW_OK) device = nullptr;
#endif
    return device;
}

double cpu_seconds_of_children() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

bool take_turn(Subject &subject, const Turn &turn) {
    Shared &shared = shared_memory();
    shared.next = subject.totals.next;
    shared.began = 0;
    shared.counts = {};
    std::fflush(nullptr);
    const double before = cpu_seconds_of_children();
    const pid_t worker = fork();
    if (worker == 0) work(subject, turn, shared);
    clockid_t clock;
    // A second of the CPU for each megabyte to check, and ten for what kernels compute.
    const double patience = 10 + std::max(1.0, static_cast<double>(subject.mutants->original().size()) / 1e6);
    std::string why;
    int status = 0;
    while (waitpid(worker, &status, WNOHANG) == 0) {
        usleep(20000);
        if (clock_getcpuclockid(worker, &clock) != 0 || cpu_seconds(clock) - shared.began < patience)
            continue;
        kill(worker, SIGKILL);
        why = "hangs";
    }
    subject.totals.next = shared.next;
    add(subject.totals.counts, shared.counts);
    subject.totals.cpu_seconds += cpu_seconds_of_children() - before;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    keep(subject, turn, shared.number, why.empty() ? reason(status) : why);
    ++subject.totals.next;
    ++subject.totals.findings;
    return false;
}

} // namespace longwave::attack
