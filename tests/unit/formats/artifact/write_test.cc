// Writing: deterministic bytes, complete files or none.
#include "formats/artifact/hash.h"
#include "formats/artifact/write.h"
#include "tests/support/broken.h"
#include "tests/support/faults.h"
#include <cerrno>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace write_test {

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

TEST_CASE("write: the same plan gives the same bytes") {
    const auto a = artifact::write(audio_model().plan, audio_model().segments),
               b = artifact::write(audio_model().plan, audio_model().segments);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(*a == *b);
    CHECK(a->size() > 0);
    CHECK(!check(*a));
}

TEST_CASE("write: a plan that breaks a rule is a defect, and the rule is named") {
    Draft draft = audio_model();
    draft.plan.entries[1]->steps[0]->kernel = 77;
    const auto written = artifact::write(draft.plan, draft.segments);
    REQUIRE(!written);
    CHECK(written.status().fault() == Fault::internal);
    CHECK(written.status().message().find("V13") != std::string::npos);
    Draft empty = audio_model();
    empty.segments.push_back({fb::SegmentKind::golden, {}});
    CHECK(!artifact::write(empty.plan, empty.segments));
}

TEST_CASE("write: large segments are moved, hashed and written where they lie, never copied") {
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

// The weights of a model cut into parts with gaps of up to 63 bytes.
static Draft in_parts(Draft draft) {
    for (artifact::SegmentData &segment : draft.segments) {
        if (segment.kind != fb::SegmentKind::weights) continue;
        const std::vector<uint8_t> bytes = std::exchange(segment.bytes, {});
        const size_t half = bytes.size() / 2;
        segment.parts.push_back({0, std::vector<uint8_t>(bytes.begin(), bytes.begin() + ptrdiff_t(half))});
        segment.parts.push_back({half, std::vector<uint8_t>(bytes.begin() + ptrdiff_t(half), bytes.end())});
    }
    return draft;
}

TEST_CASE("write: a segment in parts has the bytes of one in one piece, with zeros between them") {
    Draft whole = audio_model(), parts = in_parts(audio_model());
    const auto a = artifact::write(std::move(whole.plan), std::move(whole.segments));
    const auto b = artifact::write(std::move(parts.plan), std::move(parts.segments));
    REQUIRE(a);
    REQUIRE(b);
    CHECK(*a == *b);
    artifact::SegmentData gap{.kind = fb::SegmentKind::weights, .bytes = {}, .parts = {}};
    gap.parts = {{0, std::vector<uint8_t>{1, 2}}, {5, std::vector<uint8_t>{3}}};
    CHECK(gap.size() == 6);
    std::vector<uint8_t> bytes;
    for (const auto &span : gap.spans()) bytes.insert(bytes.end(), span.begin(), span.end());
    CHECK(bytes == std::vector<uint8_t>{1, 2, 0, 0, 0, 3});
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

TEST_CASE("write: an artifact without segments ends with its plan") {
    Draft draft;
    draft.plan.name = "plan";
    draft.plan.computation.assign(32, 1);
    add_input(draft, "x", fb::InputKind::features);
    draft.plan.entries.push_back(std::make_unique<fb::EntryT>());
    draft.plan.entries[0]->kind = fb::EntryKind::run;
    draft.plan.entries[0]->block = 16;
    draft.plan.entries[0]->arena_bytes = 64;
    draft.plan.entries[0]->inputs.push_back(input_port(place(fb::Space::arena, 0), 16, 4));
    draft.plan.entries[0]->outputs.push_back(output_port("y", place(fb::Space::arena, 0), 1, 16, 1, 1));
    const auto pieces = artifact::assemble(draft.plan, {});
    REQUIRE_MESSAGE(pieces, pieces.status().message());
    CHECK(pieces->spans().size() == 1);
    CHECK(!check(pieces->front));
}

TEST_CASE("write: a plan that takes more memory than is usual is written, and opened by who allows it") {
    Draft draft = audio_model();
    draft.plan.entries[1]->arena_bytes = 1 << 28;
    const auto written = artifact::write(draft.plan, draft.segments);
    REQUIRE(written);
    CHECK(check(*written).rule == 20);
    CHECK(!check(*written, 1 << 29));
}

TEST_CASE("sign: the root is renewed, then signed; a changed byte is noticed") {
    std::vector<uint8_t> bytes = audio_model().bytes();
    uint8_t key[32], secret[64];
    const uint8_t seed[32] = {1, 2, 3};
    REQUIRE(sodium_init() >= 0);
    crypto_sign_seed_keypair(key, secret, seed);
    const auto signer = [&](std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature) {
        return crypto_sign_detached(signature.data(), nullptr, root.data(), root.size(), secret) == 0;
    };
    REQUIRE(artifact::sign(bytes, key, signer));
    CHECK(!check(bytes));
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    CHECK(header.flags == artifact::flag_signed);
    CHECK(crypto_sign_verify_detached(header.signature, header.root, sizeof header.root, key) == 0);
    CHECK(check(patch(bytes, 80, {static_cast<uint8_t>(bytes[80] ^ 1)}, false)).rule ==
          19); // another key under the same root
    auto pieces = artifact::assemble(audio_model().plan, audio_model().segments);
    REQUIRE(artifact::sign(*pieces, key, signer));
    CHECK(std::move(*pieces).join() == bytes); // signed in pieces or in one
    std::vector<uint8_t> again = bytes;
    CHECK(artifact::sign(again, key, signer));
    CHECK(again == bytes);
    CHECK(!artifact::sign(bytes, key, [](auto, auto) { return false; }));
    std::vector<uint8_t> none(10);
    CHECK(artifact::sign(none, key, signer).fault() == Fault::input);
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

} // namespace write_test
