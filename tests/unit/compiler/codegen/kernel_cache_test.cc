// The kernel cache between the compiler and whoever else can write to the disk: what it believes,
// and what it makes again.
#include "formats/artifact/hash.h"
#include "tests/unit/compiler/codegen/kernel_folder.h"
#include <fcntl.h>
#include <unistd.h>

namespace kernel_cache_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr uid_t somebody = 65534;

std::vector<char> contents(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const fs::path &path, const std::vector<char> &bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

TEST_CASE("kernel cache: what was compiled once is read, not compiled again") {
    KernelFolder folder;
    const auto first = folder.compile({{"a", "t1"}, {"b", "t1"}, {"a", "t2"}});
    REQUIRE_MESSAGE(first, first.status().message());
    CHECK(folder.runs() == 3);
    const auto second = folder.compile({{"a", "t2"}, {"b", "t1"}, {"c", "t1"}});
    REQUIRE_MESSAGE(second, second.status().message());
    CHECK(folder.runs() == 4);
    CHECK(second->at(0).cached);
    CHECK(second->at(0).object == first->at(2).object);
    CHECK(second->at(0).signature.scratch_bytes == 64);
    CHECK(second->at(0).signature.args.size() == 1);
    CHECK(!second->at(2).cached);
    CHECK(folder.no_cache.empty());
}

TEST_CASE("kernel cache: without HOME there is none, instead of one in a folder that anyone may write") {
    KernelFolder folder;
    folder.use_folder = false;
    const Variable base("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
    const bool there = fs::exists("/tmp/.cache/longwave");
    CHECK(folder.object("without home", "t1") == "without home for t1 by one");
    CHECK(folder.object("without home", "t1") == "without home for t1 by one");
    CHECK(folder.runs() == 2);
    CHECK(fs::exists("/tmp/.cache/longwave") == there);
    REQUIRE(folder.no_cache.size() == 2); // once a compile
    CHECK(folder.no_cache[0].find("HOME") != std::string::npos);
}

TEST_CASE("kernel cache: relative paths in the environment mean nothing") {
    KernelFolder folder;
    folder.use_folder = false;
    const Variable base("XDG_CACHE_HOME", "cache-of-whoever-starts-it"), home("HOME", "here");
    CHECK(folder.object("a", "t1") == "a for t1 by one");
    CHECK(!fs::exists("cache-of-whoever-starts-it"));
    CHECK(!fs::exists("here"));
    CHECK(folder.no_cache.size() == 1);
}

TEST_CASE("kernel cache: its folders are made for their owner alone") {
    KernelFolder folder;
    folder.use_folder = false;
    const Variable base("XDG_CACHE_HOME", nullptr), home("HOME", folder.path.c_str());
    const mode_t mask = umask(0);
    CHECK(folder.object("a", "t1") == "a for t1 by one");
    umask(mask);
    folder.cache = folder.path / ".cache" / "longwave" / "kernels";
    CHECK(mode_of(folder.path / ".cache") == 0700);
    CHECK(mode_of(folder.path / ".cache" / "longwave") == 0700);
    CHECK(mode_of(folder.cache) == 0700);
    REQUIRE(folder.entries().size() == 1);
    CHECK(mode_of(folder.entries()[0]) == 0600);
    CHECK(folder.no_cache.empty());
}

TEST_CASE("kernel cache: a folder that others may write to is no cache, and the reason is told once") {
    KernelFolder folder;
    CHECK(folder.object("a", "t1") == "a for t1 by one");
    for (const mode_t mode : {0777, 0770, 0702}) {
        REQUIRE(chmod(folder.cache.c_str(), mode) == 0);
        folder.no_cache.clear();
        const size_t before = folder.runs();
        CHECK(folder.compile({{"a", "t1"}, {"b", "t1"}}));
        CHECK(folder.runs() == before + 2);
        CHECK(folder.entries().size() == 1); // nothing was added
        REQUIRE(folder.no_cache.size() == 1);
        CHECK(folder.no_cache[0].find(folder.cache.string()) == 0);
    }
    REQUIRE(chmod(folder.cache.c_str(), 0755) == 0); // to read is harmless
    const size_t before = folder.runs();
    CHECK(folder.object("a", "t1") == "a for t1 by one");
    CHECK(folder.runs() == before);
}

TEST_CASE("kernel cache: a folder or an entry of another user is not believed") {
    if (geteuid() != 0) {
        MESSAGE("not tried: only root can give a file away");
        return;
    }
    KernelFolder folder;
    folder.object("a", "t1");
    REQUIRE(folder.entries().size() == 1);
    const fs::path entry = folder.entries()[0];
    REQUIRE(chown(entry.c_str(), somebody, static_cast<gid_t>(-1)) == 0);
    folder.object("a", "t1");
    CHECK(folder.runs() == 2);
    struct stat info = {};
    REQUIRE(stat(folder.entries().at(0).c_str(), &info) == 0);
    CHECK(info.st_uid == geteuid()); // made again, by us
    folder.object("a", "t1");
    CHECK(folder.runs() == 2);

    REQUIRE(chown(folder.cache.c_str(), somebody, static_cast<gid_t>(-1)) == 0);
    folder.object("a", "t1");
    CHECK(folder.runs() == 3);
    CHECK(folder.no_cache.size() == 1);
}

TEST_CASE("kernel cache: a link in the place of the folder is not followed") {
    KernelFolder folder;
    folder.object("a", "t1");
    fs::rename(folder.cache, folder.path / "elsewhere");
    fs::create_directory_symlink(folder.path / "elsewhere", folder.cache);
    folder.object("a", "t1");
    CHECK(folder.runs() == 2);
    CHECK(folder.no_cache.size() == 1);
}

TEST_CASE("kernel cache: an entry that others may write to is made again") {
    KernelFolder folder;
    folder.object("a", "t1");
    REQUIRE(chmod(folder.entries().at(0).c_str(), 0620) == 0);
    folder.object("a", "t1");
    CHECK(folder.runs() == 2);
    CHECK(mode_of(folder.entries().at(0)) == 0600);
}

TEST_CASE("kernel cache: code of one target is not accepted as code of another, nor one kernel as another") {
    KernelFolder folder;
    folder.object("a", "x86-64-v2");
    const fs::path v2 = folder.entries().at(0);
    const auto of_v2 = contents(v2);
    fs::remove(v2);
    folder.object("a", "x86-64-v4");
    const fs::path v4 = folder.entries().at(0);
    overwrite(v2, contents(v4));
    overwrite(v4, of_v2); // swapped
    for (const fs::path &entry : {v2, v4}) REQUIRE(chmod(entry.c_str(), 0600) == 0);
    CHECK(folder.object("a", "x86-64-v2") == "a for x86-64-v2 by one");
    CHECK(folder.object("a", "x86-64-v4") == "a for x86-64-v4 by one");
    CHECK(folder.runs() == 4);

    folder.object("b", "x86-64-v2");
    for (const fs::path &entry : folder.entries())
        if (entry != v2 && entry != v4) overwrite(entry, contents(v2));
    CHECK(folder.object("b", "x86-64-v2") == "b for x86-64-v2 by one");
    CHECK(folder.runs() == 6);
}

TEST_CASE("kernel cache: code of another version of the kernel compiler is not accepted") {
    KernelFolder folder;
    folder.object("a", "t1");
    const fs::path old = folder.entries().at(0);
    folder.write_kgen("two");
    CHECK(folder.object("a", "t1") == "a for t1 by two");
    for (const fs::path &entry : folder.entries())
        if (entry != old) overwrite(entry, contents(old));
    CHECK(folder.object("a", "t1") == "a for t1 by two");
    CHECK(folder.runs() == 3);
}

TEST_CASE("kernel cache: a kernel is compiled again when its own version changes, not when others do") {
    KernelFolder folder;
    const std::string linear = R"({"kernel":"linear","params":{}})",
                      norm = R"({"kernel":"norm","params":{}})";
    folder.write_kgen("one", plain_signature, R"({"linear":"1","norm":"1"})");
    CHECK(folder.object(linear, "t1") == linear + " for t1 by one");
    CHECK(folder.object(norm, "t1") == norm + " for t1 by one");
    folder.write_kgen("two", plain_signature, R"({"linear":"2","norm":"1"})");
    CHECK(folder.object(linear, "t1") == linear + " for t1 by two");
    CHECK(folder.object(norm, "t1") == norm + " for t1 by one");
    CHECK(folder.runs() == 3);
}

TEST_CASE("kernel cache: a program without versions is not a kernel compiler") {
    for (const char *text : {"exit 3", "echo versions", "echo '[]'", "echo '{\"cpu\":{}}'",
                             "echo '{\"cpu\":{\"linear\":1},\"gpu\":{}}'"}) {
        KernelFolder folder;
        std::ofstream(folder.kgen()) << "#!/bin/sh\n" << text << '\n';
        const auto kernels = folder.compile({{"a", "t1"}});
        REQUIRE(!kernels);
        CHECK(kernels.status().fault() == Fault::device);
        CHECK_MESSAGE(kernels.status().message().find("--versions") != std::string::npos,
                      kernels.status().message());
    }
}

TEST_CASE("kernel cache: a damaged entry is made again, whatever lies in its place") {
    KernelFolder folder;
    folder.object("a", "t1");
    const fs::path entry = folder.entries().at(0);
    const auto whole = contents(entry);
    size_t runs = folder.runs();
    const auto made_again = [&](const char *what) {
        INFO(what);
        CHECK(folder.object("a", "t1") == "a for t1 by one");
        CHECK(folder.runs() == ++runs);
        CHECK(folder.object("a", "t1") == "a for t1 by one");
        CHECK(folder.runs() == runs); // and is whole again
    };
    overwrite(entry, {});
    made_again("an empty file");
    for (size_t i = 0; i < whole.size(); i += 7) {
        auto bytes = whole;
        bytes[i] ^= 1;
        overwrite(entry, bytes);
        made_again("a flipped bit");
    }
    for (const size_t size : {size_t{1}, size_t{39}, whole.size() / 2, whole.size() - 1}) {
        overwrite(entry, {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
        made_again("a file that was cut");
    }
    fs::remove(entry);
    fs::create_directory(entry);
    made_again("a folder");
    fs::remove(entry);
    fs::create_symlink("/dev/zero", entry);
    made_again("a link to a device");
    fs::remove(entry);
    overwrite(folder.path / "copy", whole);
    fs::create_symlink(folder.path / "copy", entry);
    made_again("a link to a whole entry");
    CHECK(contents(folder.path / "copy") == whole); // the link was replaced, not written through
    fs::remove(entry);
    REQUIRE(mkfifo(entry.c_str(), 0600) == 0);
    made_again("a pipe that nobody writes to");

    fs::remove(entry);
    fs::create_directory(entry);
    overwrite(entry / "file", {'x'});
    CHECK(folder.object("a", "t1") ==
          "a for t1 by one"); // a folder that is not empty stays: it costs time only
    CHECK(folder.runs() == runs + 1);
}

TEST_CASE("kernel cache: an entry that is whole but whose signature is none is made again") {
    KernelFolder folder;
    folder.object("a", "t1");
    const fs::path entry = folder.entries().at(0);
    for (const std::string &text :
         {std::string(plain_signature.size(), '['), std::string(plain_signature.size(), ' '),
          "{\"args\":[7]" + std::string(plain_signature.size() - 12, ' ') + "}"}) {
        auto bytes = contents(entry);
        const auto at =
            std::search(bytes.begin(), bytes.end(), plain_signature.begin(), plain_signature.end());
        REQUIRE(at != bytes.end());
        std::copy(text.begin(), text.end(), at);
        uint8_t hash[artifact::hash_bytes]; // of all that follows it
        artifact::hash(bytes.data() + sizeof hash, bytes.size() - sizeof hash, hash);
        std::copy_n(hash, sizeof hash, bytes.begin());
        overwrite(entry, bytes);
        const size_t runs = folder.runs();
        CHECK(folder.object("a", "t1") == "a for t1 by one");
        CHECK(folder.runs() == runs + 1);
    }
}

TEST_CASE("kernel cache: a bad signature text of the kernel compiler is a plain failure") {
    for (const char *text :
         {"", "{", "[]", "nothing", R"({"args":[]})", R"({"args":{},"scratch_bytes":0})",
          R"({"args":[],"scratch_bytes":-1})",
          R"({"args":[{"name":"x","kind":"gift","elem":"f32","dims":[]}],"scratch_bytes":0})",
          R"({"args":[{"name":7,"kind":"input","elem":"f32","dims":[]}],"scratch_bytes":0})",
          R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[1]]}],"scratch_bytes":0})",
          R"({"args":[{"name":"x","kind":"input","elem":"i32"}],"fp16":[0],"scratch_bytes":0})",
          R"({"args":[{"name":"x","kind":"input","elem":"f32"}],"fp16":[1],"scratch_bytes":0})"}) {
        KernelFolder folder;
        folder.write_kgen("one", text);
        const auto kernels = folder.compile({{"a", "t1"}});
        REQUIRE(!kernels);
        CHECK(kernels.status().fault() == Fault::internal);
        CHECK_MESSAGE(kernels.status().message().find("signature") != std::string::npos,
                      kernels.status().message());
    }
}

} // namespace kernel_cache_test
