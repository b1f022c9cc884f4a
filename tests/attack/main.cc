// attack_artifacts FILE... [--seconds N] [--each N] [--seed N] [--found FOLDER] [--progress FILE]
// [--no-gpu]
//
// Tries mutants of real artifacts (mutants.h, victim.h), in worker processes that a crash or a hang
// ends. Each finding is kept as a file with the change in its name. Exit 1 when there is one.
//   --seconds N       so long in all (default 60, or no end with --each); the file with the least
//                     CPU time so far is next
//   --each N          the files behind it, not those before it, have enough after N CPU seconds
//                     each
//   --seed N          where in the list of mutants it begins (default: the clock; it is printed)
//   --progress FILE   goes on where the last run with this file ended, instead, and adds up
//   --most N          ends after so many findings (default 100)
//   --one FILE:N      one mutant alone, in this process
//   --without TEXT    attack_marked: leaves the check of this text out of the verifier
#include "tests/attack/worker.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <iterator>
#ifdef LONGWAVE_MARKED
#include "tests/attack/check_sites.h"
#endif

using namespace longwave;
using namespace longwave::attack;

namespace {

struct Options {
    struct File {
        std::string path;
        double goal; // CPU seconds
    };
    std::vector<File> files;
    double seconds = 0; // 0: not given
    uint64_t seed = static_cast<uint64_t>(time(nullptr));
    std::string found = "attack-found", progress, one;
    bool gpu = true;
    int most = 100; // findings
};

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
    double goal = INFINITY;
    bool for_none = false; // no file is behind --each
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
        if (word == "--seconds") options.seconds = atof(value());
        else if (word == "--each") goal = atof(value()), for_none = true;
        else if (word == "--seed") options.seed = strtoull(value(), nullptr, 10);
        else if (word == "--found") options.found = value();
        else if (word == "--progress") options.progress = value();
        else if (word == "--most") options.most = atoi(value());
        else if (word == "--one") options.one = value();
        else if (word == "--without") leave_out(value());
        else if (word == "--no-gpu") options.gpu = false;
        else options.files.push_back({word, goal}), for_none = false;
    }
    if (for_none) std::fprintf(stderr, "--each stands before its files\n"), exit(2);
    const bool ends = std::all_of(options.files.begin(), options.files.end(),
                                  [](const Options::File &file) { return std::isfinite(file.goal); });
    if (options.seconds <= 0) options.seconds = ends ? INFINITY : 60;
    if (!options.progress.empty()) options.seed = 0;
    return options;
}

int one_mutant(const Options &options) {
    const size_t colon = options.one.rfind(':');
    Progress none("");
    const Subject subject(options.one.substr(0, colon), none, 0);
    const auto mutant = subject.mutants->make(strtoull(options.one.c_str() + colon + 1, nullptr, 10));
    std::printf("%s\n", mutant.name.c_str());
    Counts counts;
    Victim(subject.mutants->original(), open_device(options.gpu))
        .attack(mutant.bytes, !mutant.gpu_code, 0, counts);
    Victim(subject.mutants->original(), nullptr).attack(mutant.bytes, false, 1, counts);
    return 0;
}

// The subject with the least CPU time of those that have not had enough; null: none is left.
Subject *next_subject(std::deque<Subject> &subjects) {
    Subject *next = nullptr;
    for (Subject &subject : subjects)
        if (subject.totals.cpu_seconds < subject.goal &&
            (!next || subject.totals.cpu_seconds < next->totals.cpu_seconds))
            next = &subject;
    return next;
}

void print_table(const std::deque<Subject> &subjects) {
    for (const Subject &subject : subjects) {
        const Counts &c = subject.totals.counts;
        std::printf("%-24s %9llu inputs of %llu, %llu sound, %llu ran between guard pages, %llu opened, "
                    "%llu on a GPU; %.0f CPU seconds, %.0f inputs per second, %llu findings\n",
                    subject.name.c_str(), static_cast<unsigned long long>(c.inputs),
                    static_cast<unsigned long long>(subject.mutants->singles()),
                    static_cast<unsigned long long>(c.sound), static_cast<unsigned long long>(c.ran),
                    static_cast<unsigned long long>(c.opened), static_cast<unsigned long long>(c.on_gpu),
                    subject.totals.cpu_seconds,
                    static_cast<double>(c.inputs) / std::max(subject.totals.cpu_seconds, 1e-9),
                    static_cast<unsigned long long>(subject.totals.findings));
    }
}

uint64_t inputs_of(const std::deque<Subject> &subjects) {
    uint64_t inputs = 0;
    for (const Subject &subject : subjects) inputs += subject.totals.counts.inputs;
    return inputs;
}

} // namespace

int main(int argc, char **argv) {
    const Options options = options_of(argc, argv);
    if (!options.one.empty()) return one_mutant(options);
    if (options.files.empty()) return 2;
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    Progress progress(options.progress);
    std::deque<Subject> subjects;
    for (const Options::File &file : options.files) subjects.emplace_back(file.path, progress, file.goal);
    const uint64_t before = inputs_of(subjects);
    const auto begin = std::chrono::steady_clock::now();
    const auto left = [&] {
        return options.seconds -
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const double turn = std::min(10.0, options.seconds / static_cast<double>(subjects.size()));
    int findings = 0;
    while (left() > 0 && findings < options.most) {
        Subject *subject = next_subject(subjects);
        if (!subject) break;
        const double cpu = std::min(turn, subject->goal - subject->totals.cpu_seconds);
        const double wall = std::isfinite(options.seconds) ? std::min(turn, left()) : INFINITY;
        findings += !take_turn(*subject, {options.seed, options.gpu, options.found, cpu, wall});
        progress.save();
    }
    print_table(subjects);
    const uint64_t inputs = inputs_of(subjects) - before;
    const double cpu = cpu_seconds_of_children();
    std::printf("%llu inputs in %.0f seconds of CPU time, %.0f per second, %d findings\n",
                static_cast<unsigned long long>(inputs), cpu,
                static_cast<double>(inputs) / std::max(cpu, 1e-9), findings);
    return findings > 0;
}
