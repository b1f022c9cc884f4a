// attack_artifacts FILE... [--seconds N] [--from N] [--seed N] [--found FOLDER] [--progress FILE]
// [--no-gpu]
//
// Tries mutants of real artifacts (mutants.h, victim.h), in worker processes that a crash or a hang
// ends. Each finding is kept as a file with the change in its name. Exit 1 when there is one.
//   --seconds N       so long in all, the files in turns (default 60)
//   --seed N          where in the list of mutants it begins (default: the clock; it is printed)
//   --progress FILE   goes on where the last run with this file ended, instead
//   --most N          ends after so many findings (default 100)
//   --one FILE:N      one mutant alone, in this process
//   --without TEXT    attack_marked: leaves the check of this text out of the verifier
#include "tests/attack/mutants.h"
#include "tests/attack/victim.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef LONGWAVE_ATTACK_GPU
#include "longwave/vulkan.h"
#endif
#ifdef LONGWAVE_MARKED
#include "tests/attack/check_sites.h"
#endif

using namespace longwave;
using namespace longwave::attack;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::vector<std::string> files;
    double seconds = 60;
    uint64_t seed = static_cast<uint64_t>(time(nullptr));
    std::string found = "attack-found", progress, one;
    bool gpu = true;
    int most = 100; // findings
};

// What worker and watchdog share.
struct Shared {
    volatile uint64_t next, number; // the count of the mutant in work, and its number
    volatile double began;          // CPU seconds of the worker
    Counts counts;
};

double cpu_seconds(clockid_t clock) {
    timespec now{};
    return clock_gettime(clock, &now) == 0
               ? static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)
               : 0;
}

double cpu_seconds_of_workers() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

struct Subject {
    std::string path, name;
    std::unique_ptr<Mutants> mutants;
    uint64_t next = 0; // of the order below
    Counts counts;
    // Every single change once, in an order that jumps about; then several at a time.
    uint64_t number(uint64_t i, uint64_t seed) const {
        const uint64_t n = mutants->singles();
        uint64_t step = 0x9e3779b97f4a7c15ull % n | 1;
        while (std::gcd(step, n) != 1) step += 2;
        const uint64_t at = i + seed % n;
        return at - seed % n < n ? static_cast<uint64_t>(static_cast<unsigned __int128>(at) * step % n)
                                 : at + seed;
    }
};

lw_device *open_device([[maybe_unused]] bool wanted) {
    lw_device *device = nullptr;
#ifdef LONGWAVE_ATTACK_GPU
    if (wanted && lw_vulkan_open(nullptr, &device) != LW_OK) device = nullptr;
#endif
    return device;
}

bool any_modules(const std::vector<uint8_t> &bytes) {
    for (size_t at = 0; at + 8 < bytes.size(); at += 4)
        if (memcmp(&bytes[at], "LWGM", 4) == 0) return true;
    return false;
}

// In the worker: mutants from subject.next on, until the time is over.
void work(const Subject &subject, const Options &options, double seconds, Shared &shared) {
    const rlimit core{0, 0};
    setrlimit(RLIMIT_CORE, &core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Victim victim(subject.mutants->original(),
                  any_modules(subject.mutants->original()) ? open_device(options.gpu) : nullptr);
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
        shared.number = subject.number(shared.next, options.seed);
        shared.began = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
        const Mutants::Mutant mutant = subject.mutants->make(shared.number);
        victim.attack(mutant.bytes, mutant.layout, !mutant.gpu_code, shared.number, shared.counts);
        shared.next = shared.next + 1;
    }
    _exit(0);
}

void keep(const Subject &subject, const Options &options, uint64_t number, const std::string &why) {
    const Mutants::Mutant mutant = subject.mutants->make(number);
    std::filesystem::create_directories(options.found);
    const std::string path = options.found + '/' + subject.name + '-' + std::to_string(number) + ".lw";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(mutant.bytes.data()),
               static_cast<std::streamsize>(mutant.bytes.size()));
    std::printf("FINDING %s: %s: %s\n", path.c_str(), why.c_str(), mutant.name.c_str());
    std::fflush(stdout);
}

// One worker, watched; true when it ended by itself.
bool watch(Subject &subject, const Options &options, double seconds, Shared &shared) {
    shared.next = subject.next;
    shared.counts = {};
    std::fflush(nullptr);
    const pid_t worker = fork();
    if (worker == 0) work(subject, options, seconds, shared);
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
    subject.next = shared.next;
    for (auto [to, from] : {std::pair{&Counts::inputs, &Counts::inputs},
                            {&Counts::sound, &Counts::sound},
                            {&Counts::ran, &Counts::ran},
                            {&Counts::opened, &Counts::opened},
                            {&Counts::on_gpu, &Counts::on_gpu}})
        subject.counts.*to += shared.counts.*from;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (why.empty())
        why =
            WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit " + std::to_string(WEXITSTATUS(status));
    keep(subject, options, shared.number, why);
    ++subject.next;
    return false;
}

// Leaves out a check of the verifier, where this program has the marked one.
void leave_out([[maybe_unused]] const std::string &text) {
#ifdef LONGWAVE_MARKED
    static const struct {
        const char *file;
        int line;
        const char *text;
    } sites[] = {
#include "check_sites.inc"
    };
    for (size_t i = 0; i < std::size(sites); ++i)
        if (text == sites[i].text) return void(removed = static_cast<int>(i));
#endif
    std::fprintf(stderr, "no check can be left out with this text: %s\n", text.c_str());
    exit(2);
}

Options options_of(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
        if (word == "--seconds") options.seconds = atof(value());
        else if (word == "--seed") options.seed = strtoull(value(), nullptr, 10);
        else if (word == "--found") options.found = value();
        else if (word == "--progress") options.progress = value();
        else if (word == "--most") options.most = atoi(value());
        else if (word == "--one") options.one = value();
        else if (word == "--without") leave_out(value());
        else if (word == "--no-gpu") options.gpu = false;
        else options.files.push_back(word);
    }
    return options;
}

std::vector<uint8_t> read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (bytes.empty()) std::fprintf(stderr, "%s: cannot be read\n", path.c_str()), exit(3);
    return {bytes.begin(), bytes.end()};
}

int one_mutant(const Options &options) {
    const size_t colon = options.one.rfind(':');
    const Mutants mutants(read(options.one.substr(0, colon)));
    const auto mutant = mutants.make(strtoull(options.one.c_str() + colon + 1, nullptr, 10));
    std::printf("%s\n", mutant.name.c_str());
    Counts counts;
    Victim(mutants.original(), open_device(options.gpu))
        .attack(mutant.bytes, mutant.layout, !mutant.gpu_code, 0, counts);
    Victim(mutants.original(), nullptr).attack(mutant.bytes, mutant.layout, false, 1, counts);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    Options options = options_of(argc, argv);
    if (!options.one.empty()) return one_mutant(options);
    std::map<std::string, uint64_t> done;
    if (!options.progress.empty()) {
        std::ifstream file(options.progress);
        std::string name;
        uint64_t next = 0;
        options.seed = 0;
        while (file >> name >> next) done[name] = next;
    }
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    std::vector<Subject> subjects;
    for (const std::string &path : options.files) {
        Subject subject;
        subject.path = path;
        subject.name = std::filesystem::path(path).stem().string();
        subject.mutants = std::make_unique<Mutants>(read(path));
        subject.next = done[subject.name];
        subjects.push_back(std::move(subject));
    }
    auto *shared = static_cast<Shared *>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (subjects.empty() || shared == MAP_FAILED) return 2;
    const auto begin = Clock::now();
    const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    const double turn = std::min(60.0, options.seconds / static_cast<double>(subjects.size()));
    int findings = 0;
    for (size_t s = 0; spent() < options.seconds && findings < options.most; s = (s + 1) % subjects.size()) {
        const double until = std::min(spent() + turn, options.seconds);
        while (spent() < until && findings < options.most)
            if (!watch(subjects[s], options, until - spent(), *shared)) ++findings;
        if (!options.progress.empty()) {
            std::ofstream file(options.progress);
            for (const Subject &subject : subjects) file << subject.name << ' ' << subject.next << '\n';
        }
    }
    uint64_t inputs = 0;
    for (const Subject &subject : subjects) {
        const Counts &c = subject.counts;
        inputs += c.inputs;
        std::printf("%-16s %8llu inputs of %llu, %llu sound, %llu ran between guard pages, %llu opened, %llu "
                    "on a GPU\n",
                    subject.name.c_str(), static_cast<unsigned long long>(c.inputs),
                    static_cast<unsigned long long>(subject.mutants->singles()),
                    static_cast<unsigned long long>(c.sound), static_cast<unsigned long long>(c.ran),
                    static_cast<unsigned long long>(c.opened), static_cast<unsigned long long>(c.on_gpu));
    }
    const double cpu = cpu_seconds_of_workers();
    std::printf("%llu inputs in %.0f seconds of CPU time, %.0f per second, %d findings\n",
                static_cast<unsigned long long>(inputs), cpu, static_cast<double>(inputs) / cpu, findings);
    return findings > 0;
}
