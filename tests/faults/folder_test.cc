// Each allocation of a temporary folder fails in turn, once: no folder stays.
#include "compiler/base/temporary_folder.h"
#include "tests/support/faults.h"
#include <cerrno>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <new>
#include <string>
#include <unistd.h>

namespace folder_test {

using namespace longwave;
namespace fs = std::filesystem;
namespace faults = test::faults;

TEST_CASE("a temporary folder does not stay because one allocation fails") {
    // Longer than what a string or a path holds without an allocation.
    const std::string parent =
        fs::temp_directory_path() / ("longwave-folder-test-" + std::to_string(getpid()));
    fs::create_directory(parent);
    setenv("TMPDIR", parent.c_str(), 1);
    long k = 0, stayed = 0;
    for (long failed = 1; failed > 0; k++) {
        {
            faults::Scope scope;
            scope.fail(faults::allocate, k, ENOMEM);
            try {
                const auto folder = compiler::TemporaryFolder::create();
            } catch (const std::bad_alloc &) {
            }
            failed = scope.failed();
        }
        for (const auto &entry : fs::directory_iterator(parent)) {
            MESSAGE("allocation ", k, ": ", entry.path().string());
            stayed++;
            fs::remove_all(entry.path());
        }
    }
    fs::remove_all(parent);
    CHECK(k > 5); // or nothing failed
    CHECK(stayed == 0);
}

} // namespace folder_test
