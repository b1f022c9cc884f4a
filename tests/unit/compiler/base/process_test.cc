#include "compiler/base/process.h"
#include "compiler/base/temporary_folder.h"
#include "tests/unit/compiler/codegen/kernel_folder.h"
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <thread>

namespace process_test {

using namespace longwave;
using namespace longwave::test;
using compiler::run_process;
using compiler::TemporaryFolder;

TEST_CASE("process: its words and its exit code") {
    const auto said = run_process({"sh", "-c", "echo one; echo two >&2; exit 3"});
    REQUIRE(said);
    CHECK(said->exit_code == 3);
    CHECK(said->output == "one\ntwo");
    CHECK(run_process({"true"})->exit_code == 0);
    CHECK(run_process({"sh", "-c", "kill -9 $$"})->exit_code == 128 + 9);
    CHECK(run_process({"cat"})->output.empty()); // it reads nothing of ours
    const auto missing = run_process({"/nowhere/program"});
    REQUIRE(!missing);
    CHECK(missing.status().fault() == Fault::device);
    CHECK(missing.status().message() == "cannot run /nowhere/program: No such file or directory");
}

TEST_CASE("process: a time limit ends it, and the programs that it started") {
    KernelFolder around;
    const std::string mark = (around.path / "mark").string();
    // The program starts another one, which would leave a mark after a second.
    const auto hung = compiler::run_process_for(
        {"sh", "-c", "(sleep 1; touch " + mark + ") & echo on; echo off >&2; sleep 60"}, 0.3);
    REQUIRE(hung);
    CHECK(hung->timed_out);
    CHECK(hung->exit_code == 128 + 9);
    CHECK(hung->output == "on");
    CHECK(hung->error == "off");
    const auto in_time = compiler::run_process_for({"sh", "-c", "echo on; exit 4"}, 30);
    REQUIRE(in_time);
    CHECK(!in_time->timed_out);
    CHECK(in_time->exit_code == 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    CHECK(!fs::exists(mark));
}

TEST_CASE("process: signals that the caller keeps from itself reach the program") {
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &before);
    const auto ended = run_process({"sh", "-c", "kill -TERM $$; exit 0"});
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    REQUIRE(ended);
    CHECK(ended->exit_code == 128 + SIGTERM);
}

TEST_CASE("temporary folder: ours alone, and gone at the end with all that is in it") {
    KernelFolder around;
    const Variable variable("TMPDIR", around.path.c_str());
    fs::path path;
    {
        auto folder = TemporaryFolder::create();
        REQUIRE(folder);
        path = folder->path();
        CHECK(path.parent_path() == around.path);
        CHECK(mode_of(path) == 0700);
        fs::create_directories(path / "a" / "b");
        std::ofstream(path / "a" / "file") << "x";
        const TemporaryFolder moved = *std::move(folder);
        CHECK(fs::exists(moved.path() / "a" / "file"));
    }
    CHECK(!fs::exists(path));
}

TEST_CASE("temporary folder: what a killed program left goes a day later, and nothing else") {
    KernelFolder around;
    const Variable variable("TMPDIR", around.path.c_str());
    const auto leave = [&](const char *name, time_t hours) {
        fs::create_directories(around.path / name / "a");
        const timespec then{time(nullptr) - hours * 3600, 0}, times[] = {then, then};
        REQUIRE(utimensat(AT_FDCWD, (around.path / name).c_str(), times, 0) == 0);
    };
    leave("longwave-compile-abcdef", 25);
    leave("longwave-compile-ghijkl", 23); // its compile may still go on
    leave("longwave-models", 25);
    REQUIRE(TemporaryFolder::create());
    CHECK(!fs::exists(around.path / "longwave-compile-abcdef"));
    CHECK(fs::exists(around.path / "longwave-compile-ghijkl" / "a"));
    CHECK(fs::exists(around.path / "longwave-models" / "a"));
}

TEST_CASE("temporary folder: where none can be made the place, the reason and the way out are told") {
    const Variable variable("TMPDIR", "/nowhere");
    const auto folder = TemporaryFolder::create();
    REQUIRE(!folder);
    CHECK(folder.status().fault() == Fault::device);
    for (const char *words : {"TMPDIR=/nowhere", "No such file or directory", "set TMPDIR"})
        CHECK_MESSAGE(folder.status().message().find(words) != std::string::npos, folder.status().message());
}

} // namespace process_test
