// Leaves out one check of the verifier at a time, and one rule, in copies of its sources
// (mark_checks.py), and holds the corpus against what is left. Every check must be missed: some
// sample must then be accepted, be refused by another rule or with another text, or end the
// process. LONGWAVE_REMOVAL_TABLE=FILE writes the table: check, how its removal shows, in which
// sample.
#include "tests/attack/check_sites.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace removal_test {

using namespace longwave;

namespace {

struct Site {
    const char *file;
    int line;
    const char *text;
};
const Site sites[] = {
#include "check_sites.inc"
};
constexpr int site_count = std::size(sites);
static_assert(site_count <= attack::most_checks);

// Checks that no plan can reach alone: the reason stands behind each.
struct Excused {
    const char *file, *text, *why;
};
const Excused excused[] = {
#include "tests/attack/excused_checks.inc"
};

bool is_excused(const Site &site) {
    for (const Excused &e : excused)
        if (strcmp(e.file, site.file) == 0 && strcmp(e.text, site.text) == 0) return true;
    return false;
}

enum class Shown { no, by_text, by_rule };

// How a sample shows that the check is missing. In a process of its own: what is left may do
// anything.
Shown shown_by(const test::Sample &sample, const char *text, int removed) {
    fflush(nullptr);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit seconds{2, 2}, memory{2u << 30, 2u << 30}, core{0, 0};
        setrlimit(RLIMIT_CPU, &seconds);
        setrlimit(RLIMIT_AS, &memory);
        setrlimit(RLIMIT_CORE, &core);
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT})
            std::signal(signal, SIG_DFL); // doctest catches them
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        attack::removed = removed;
        const artifact::Broken now = test::verdict_of(sample);
        _exit(now.rule != sample.rule ? 2 : strcmp(now.text, text) != 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status == 0                                     ? Shown::no
           : WIFEXITED(status) && WEXITSTATUS(status) == 1 ? Shown::by_text
                                                           : Shown::by_rule;
}

struct Notice {
    Shown how = Shown::no;
    std::string sample;
};
struct Table {
    std::map<int, Notice> by; // check
    uint64_t tried = 0;
    int shown(Shown how) const {
        int n = 0;
        for (const auto &[check, notice] : by) n += check >= 0 && notice.how == how;
        return n;
    }
};

Table measure(const test::Samples &samples) {
    Table table;
    for (const test::Sample &sample : samples) {
        memset(attack::refused, 0, sizeof attack::refused);
        const artifact::Broken broken = test::verdict_of(sample);
        CHECK_MESSAGE(broken.rule == sample.rule, sample.name, ": V", int(broken.rule), " ",
                      std::string(broken.text), ", expected V", sample.rule);
        std::vector<int> removals;
        for (int check = 0; check < site_count; ++check)
            if (attack::refused[check]) removals.push_back(check);
        if (sample.rule > 0) removals.push_back(-100 - sample.rule);
        for (const int removed : removals) {
            Notice &best = table.by[removed];
            if (best.how == Shown::by_rule) continue;
            ++table.tried;
            const Shown how = shown_by(sample, broken.text, removed);
            if (how > best.how) best = {how, sample.name};
        }
    }
    return table;
}

const char *word(Shown how) {
    return how == Shown::by_rule ? "rule" : how == Shown::by_text ? "text" : "NOBODY";
}

void write(const Table &table, const char *path) {
    std::ofstream file(path);
    for (int check = 0; check < site_count; ++check) {
        const auto found = table.by.find(check);
        const Notice notice = found != table.by.end() ? found->second : Notice{};
        const bool let_off = notice.how == Shown::no && is_excused(sites[check]);
        file << sites[check].file << ':' << sites[check].line << '\t'
             << (let_off ? "excused" : word(notice.how)) << '\t' << sites[check].text << '\t' << notice.sample
             << '\n';
    }
}

} // namespace

TEST_CASE(
    "removal: each rule and each check of the verifier is missed by a named artifact when it is left out") {
    const test::Samples samples = test::corpus();
    const Table table = measure(samples);
    if (const char *path = std::getenv("LONGWAVE_REMOVAL_TABLE")) write(table, path);
    const auto shown = [&](int check) {
        const auto found = table.by.find(check);
        return found != table.by.end() && found->second.how != Shown::no;
    };
    for (int rule = 1; rule <= 21; ++rule) CHECK_MESSAGE(shown(-100 - rule), "nobody misses V", rule);
    int let_off = 0;
    for (int check = 0; check < site_count; ++check) {
        const Site &site = sites[check];
        let_off += is_excused(site);
        CHECK_MESSAGE(shown(check) != is_excused(site), std::string(site.file), ":", site.line,
                      std::string(shown(check) ? ": excused without need: " : ": nobody misses: "),
                      std::string(site.text));
    }
    MESSAGE(samples.size(), " samples, ", site_count, " checks: ", table.shown(Shown::by_rule),
            " missed by the rule, ", table.shown(Shown::by_text), " by the text, ", let_off, " excused; ",
            table.tried, " removals tried");
}

} // namespace removal_test
