// Files of artifacts: complete or not there, whatever fails and whoever is killed.
#include "formats/artifact/write.h"
#include "tests/support/faults.h"
#include "tests/unit/formats/artifact/in_parts.h"
#include <cerrno>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace file_test {

using namespace longwave;
using namespace longwave::test;
namespace fs = std::filesystem;

namespace {

struct Folder {
    Folder() {
        char name[] = "/tmp/longwave-write-XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() { fs::remove_all(path); }
    std::string file() const { return path + "/a.lw"; }
    size_t entries() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
    }
    std::string path;
};

std::vector<uint8_t> contents(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

const std::vector<uint8_t> old_bytes = {'o', 'l', 'd'};

} // namespace

TEST_CASE("file: large segments are moved, hashed and written where they lie, never copied") {
    Draft draft = audio_model();
    draft.segments[1].bytes.resize(8 << 20, 3);
    draft.plan.weights_bytes = draft.segments[1].bytes.size();
    const uint8_t *const lies_at = draft.segments[1].bytes.data();
    auto pieces = artifact::assemble(draft.plan, std::move(draft.segments));
    REQUIRE(pieces);
    CHECK(pieces->segments[1].bytes.data() == lies_at);

    std::vector<uint8_t> spans;
    for (const auto &span : pieces->spans()) spans.insert(spans.end(), span.begin(), span.end());
    CHECK(spans.size() == pieces->size());
    CHECK(!check(spans));
    const Folder folder;
    REQUIRE(artifact::write_pieces_atomically(folder.file(), *pieces));
    CHECK(contents(folder.file()) == spans);
    CHECK(std::move(*pieces).join() == spans);
}

TEST_CASE("StagedFile: the file waits beside its place, and goes when it is not put there") {
    const auto pieces = [] {
        Draft draft = in_parts(audio_model());
        return *artifact::assemble(std::move(draft.plan), std::move(draft.segments));
    };
    const std::vector<uint8_t> bytes = pieces().join();
    const Folder folder;
    REQUIRE(artifact::write_file_atomically(folder.file(), old_bytes));
    {
        const auto staged = artifact::StagedFile::write(folder.file(), pieces());
        REQUIRE(staged);
        CHECK(contents(staged->path()) == bytes);
        CHECK(contents(folder.file()) == old_bytes);
        CHECK(folder.entries() == 2);
    }
    CHECK(folder.entries() == 1);
    auto staged = artifact::StagedFile::write(folder.file(), pieces());
    REQUIRE(staged);
    REQUIRE((*std::move(staged)).put_in_place());
    CHECK(contents(folder.file()) == bytes);
    CHECK(folder.entries() == 1);
    CHECK(!artifact::StagedFile::write("/dev/null", pieces()));
    CHECK(!artifact::StagedFile::write(folder.path + "/none/a.lw", pieces()));
}

TEST_CASE("write_file_atomically: writes a new file and replaces an old one") {
    const Folder folder;
    const std::vector<uint8_t> bytes(5000, 7);
    const mode_t mask = umask(022);
    REQUIRE(artifact::write_file_atomically(folder.file(), bytes));
    CHECK(contents(folder.file()) == bytes);
    struct stat status;
    REQUIRE(stat(folder.file().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0644);
    umask(mask);
    REQUIRE(artifact::write_file_atomically(folder.file(), old_bytes));
    CHECK(contents(folder.file()) == old_bytes);
    CHECK(folder.entries() == 1);
    REQUIRE(artifact::write_file_atomically(folder.file(), {}));
    CHECK(contents(folder.file()).empty());
}

TEST_CASE("write_file_atomically: on any failing call the old file is whole, nothing is left behind, and the "
          "reason is told") {
    const std::vector<uint8_t> bytes(5000, 7);
    struct {
        faults::Call call;
        long k;
        int error;
        const char *text;
        bool replaced; // only the folder's own sync comes after the rename
    } const cases[] = {
        {faults::write, 0, ENOSPC, "No space left on device", false},
        {faults::write, 3, ENOSPC, "No space left on device", false},
        {faults::write, 4, EIO, "Input/output error", false},
        {faults::sync, 0, EIO, "Input/output error", false},
        {faults::rename_file, 0, EACCES, "Permission denied", false},
        {faults::sync, 1, EIO, "Input/output error", true},
        {faults::open, 0, EMFILE, "Too many open files", true},
    };
    for (const auto &c : cases) {
        const Folder folder;
        REQUIRE(artifact::write_file_atomically(folder.file(), old_bytes));
        Status status;
        {
            faults::Scope scope;
            scope.fail(c.call, c.k, c.error);
            status = artifact::write_file_atomically(folder.file(), bytes);
        }
        CHECK(status.fault() == Fault::device);
        CHECK_MESSAGE(status.message().find(c.text) != std::string::npos, status.message());
        CHECK(status.message().find(folder.file()) == 0);
        CHECK(contents(folder.file()) == (c.replaced ? bytes : old_bytes));
        CHECK(folder.entries() == 1);
    }
}

TEST_CASE("write_file_atomically: what a killed program left goes after an hour, and nothing else") {
    const Folder folder;
    const auto leave = [&](const std::string &name, time_t hours) {
        std::ofstream(folder.path + "/" + name) << "part";
        const timespec then{time(nullptr) - hours * 3600 - 60, 0}, times[] = {then, then};
        REQUIRE(utimensat(AT_FDCWD, (folder.path + "/" + name).c_str(), times, 0) == 0);
    };
    leave(".longwave-new-abcdef", 1);
    leave(".longwave-new-ghijkl", 0); // another program may still write it
    leave(".longwave-new-models", 0);
    leave(".longwave-new-modelsx", 1); // names of others
    leave("a.lw.abcdef", 1);
    fs::create_directory(folder.path + "/.longwave-new-folder");
    REQUIRE(artifact::write_file_atomically(folder.file(), old_bytes));
    CHECK(!fs::exists(folder.path + "/.longwave-new-abcdef"));
    CHECK(folder.entries() == 6);
}

TEST_CASE("write_file_atomically: a program that is killed while it writes leaves the old file") {
    const Folder folder;
    REQUIRE(artifact::write_file_atomically(folder.file(), old_bytes));
    const std::vector<uint8_t> bytes(size_t{32} << 20, 7);
    const pid_t child = fork();
    if (child == 0) {
        rlimit limit{1 << 20, 1 << 20}; // SIGXFSZ in the middle of the write
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, SIG_DFL);
        (void)artifact::write_file_atomically(folder.file(), bytes);
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(contents(folder.file()) == old_bytes);
    CHECK(folder.entries() == 2); // of the temporary file nobody knows
    REQUIRE(artifact::write_file_atomically(folder.file(), bytes));
    CHECK(contents(folder.file()) == bytes);
}

TEST_CASE("write_file_atomically: what cannot be looked at is not replaced: it may be a pipe") {
    const Folder folder;
    REQUIRE(mkfifo(folder.file().c_str(), 0600) == 0);
    Status refused;
    {
        faults::Scope scope;
        scope.fail(faults::look, 0, EIO);
        refused = artifact::write_file_atomically(folder.file(), old_bytes);
    }
    CHECK(refused.fault() == Fault::device);
    CHECK(refused.message() == folder.file() + ": cannot look at: Input/output error");
    CHECK(fs::is_fifo(folder.file()));
    CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: an interrupted write goes on") {
    const Folder folder;
    const std::vector<uint8_t> bytes(5000, 7);
    faults::Scope scope;
    scope.fail(faults::write, 2, EINTR);
    CHECK(artifact::write_file_atomically(folder.file(), bytes));
    CHECK(contents(folder.file()) == bytes);
}

TEST_CASE("write_file_atomically: a folder that is not there, and a folder in the file's place") {
    const Folder folder;
    const Status missing = artifact::write_file_atomically(folder.path + "/no/a.lw", old_bytes);
    CHECK(missing.fault() == Fault::device);
    CHECK(missing.message().find("No such file or directory") != std::string::npos);
    fs::create_directory(folder.file());
    const Status in_the_way = artifact::write_file_atomically(folder.file(), old_bytes);
    CHECK(in_the_way.fault() == Fault::device);
    CHECK(in_the_way.message().ends_with("is a folder; name a file in it"));
    CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: a device is written to, not replaced") {
    const Folder folder;
    fs::create_symlink("/dev/full", folder.file()); // a link, so that a defect replaces only that
    const Status full = artifact::write_file_atomically(folder.file(), old_bytes);
    CHECK(full.fault() == Fault::device);
    CHECK(full.message().find("No space left on device") != std::string::npos);
    CHECK(fs::is_symlink(folder.file()));
    fs::remove(folder.file());
    fs::create_symlink("/dev/null", folder.file());
    CHECK(artifact::write_file_atomically(folder.file(), old_bytes));
    CHECK(fs::is_symlink(folder.file()));
    CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: a link stays a link, and the file it leads to is replaced") {
    const Folder folder;
    fs::create_directory(folder.path + "/deep");
    const std::string file = folder.path + "/deep/model.lw", link = folder.path + "/link",
                      second = folder.path + "/second";
    fs::create_symlink("deep/model.lw", link); // from the link's own folder, not from here
    fs::create_symlink(link, second);
    for (const std::vector<uint8_t> &bytes :
         {old_bytes, std::vector<uint8_t>(5000, 7)}) { // missing, then there
        REQUIRE(artifact::write_file_atomically(second, bytes));
        CHECK(fs::is_symlink(link));
        CHECK(fs::is_symlink(second));
        CHECK(!fs::is_symlink(file));
        CHECK(contents(file) == bytes);
    }
    CHECK(folder.entries() == 3);
    CHECK(std::distance(fs::directory_iterator(folder.path + "/deep"), fs::directory_iterator()) == 1);
    fs::create_symlink("round", folder.path + "/round");
    const Status round = artifact::write_file_atomically(folder.path + "/round", old_bytes);
    CHECK(round.fault() == Fault::device);
    CHECK(fs::is_symlink(folder.path + "/round"));
}

} // namespace file_test
