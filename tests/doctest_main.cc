// The main() of every doctest program: a filter that no case passes is a failure, or a renamed file
// would go untested.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>
#include <doctest/doctest.h>

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

} // namespace

int main(int argc, char **argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (context.shouldExit() || result != 0 || cases_run > 0) return result;
    std::fputs("error: no test case has passed the filters of the command line\n", stderr);
    return 1;
}
