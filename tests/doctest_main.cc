// The main() of every doctest program: a filter that no case passes is a failure, or a renamed file
// would go untested. So are more or fewer comparisons than $LONGWAVE_COMPARED (tests/support/compared.h).
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/support/compared.h"
#include "tests/support/every_case.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <set>

namespace longwave::test {

namespace {
std::set<std::string> names;
}

void compared(const std::string &name) { names.insert(name); }
size_t names_compared() { return names.size(); }

} // namespace longwave::test

namespace {

unsigned cases_run = 0;

struct Counts : doctest::IReporter {
    explicit Counts(const doctest::ContextOptions &) {}
    void report_query(const doctest::QueryData &) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats &stats) override {
        cases_run = stats.numTestCasesPassingFilters;
    }
    void test_case_start(const doctest::TestCaseData &) override {}
    void test_case_reenter(const doctest::TestCaseData &) override {}
    void test_case_end(const doctest::CurrentTestCaseStats &) override {}
    void test_case_exception(const doctest::TestCaseException &) override {}
    void subcase_start(const doctest::SubcaseSignature &) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData &) override {}
    void log_message(const doctest::MessageData &) override {}
    void test_case_skipped(const doctest::TestCaseData &) override {}
};

REGISTER_LISTENER("counts", 1, Counts);

int check_compared() {
    const size_t found = longwave::test::names_compared();
    const char *expected = std::getenv("LONGWAVE_COMPARED");
    if (const char *all = expected ? std::strchr(expected, '/') : nullptr;
        all && longwave::test::every_case())
        expected = all + 1;
    if (expected && found != std::strtoull(expected, nullptr, 10)) {
        std::fprintf(
            stderr,
            "error: %zu cases were compared, expected %s. More or fewer cases: change the number that "
            "ctest sets. The same cases: a helper has left some out.\n",
            found, expected);
        return 1;
    }
    if (found) std::printf("compared: %zu\n", found);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (context.shouldExit() || result != 0) return result;
    if (cases_run > 0) return check_compared();
    std::fputs("error: no test case has passed the filters of the command line\n", stderr);
    return 1;
}
