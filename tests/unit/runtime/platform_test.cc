// What the runtime relies on from any system (runtime/platform).
#include "runtime/platform/clock.h"
#include "runtime/platform/cpu.h"
#include "runtime/platform/files.h"
#include "runtime/platform/folder.h"
#include "runtime/platform/heap.h"
#include "runtime/platform/kernels.h"
#include "runtime/platform/library.h"
#include "runtime/platform/lock.h"
#include "runtime/platform/pages.h"
#include "runtime/platform/threads.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>
#ifdef _WIN32
#include "runtime/platform/windows/system.h"
#include <aclapi.h>
#endif

using namespace longwave;
using namespace longwave::platform;
namespace fs = std::filesystem;

namespace {

// UTF-8, whatever the system has.
std::string text_of(const fs::path &path) {
    const std::u8string text = path.u8string();
    return {text.begin(), text.end()};
}

struct Temporary {
    fs::path path =
        fs::temp_directory_path() / ("longwave-platform-" + std::to_string(std::random_device()()));
    Temporary() { REQUIRE(fs::create_directory(path)); }
    ~Temporary() { fs::remove_all(path); }
    std::string write(const fs::path &name, const std::string &text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return text_of(path / name);
    }
};

void let_others_write(const fs::path &path) {
#ifdef _WIN32
    std::wstring name = path.wstring();
    REQUIRE(SetNamedSecurityInfoW(name.data(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr,
                                  nullptr,
                                  nullptr) == ERROR_SUCCESS); // no list: everybody may do anything
#else
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
#endif
}

std::string read(const PrivateFolder &folder, const char *name) {
    PrivateFolder::Reading file(folder, name);
    if (!file.good()) return "none";
    std::string text(file.size(), 0);
    return file.read(reinterpret_cast<uint8_t *>(text.data()), text.size()) ? text : "short";
}

} // namespace

TEST_CASE("pages: what was written runs, and complete pages are counted") {
#if defined(__x86_64__)
    const uint8_t seven[] = {0xb8, 7, 0, 0, 0, 0xc3}; // mov eax, 7; ret
#elif defined(__aarch64__)
    const uint8_t seven[] = {0xe0, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6}; // mov w0, #7; ret
#endif
    CHECK(code_bytes(0) == 0);
    const uint64_t page = code_bytes(1);
    CHECK(page >= 4096);
    CHECK(code_bytes(page) == page);
    CHECK(code_bytes(page + 1) == 2 * page);
    uint8_t *code = allocate_code(sizeof seven);
    REQUIRE(code);
    memcpy(code, seven, sizeof seven);
    REQUIRE(make_executable(code, sizeof seven));
    CHECK(reinterpret_cast<int (*)()>(code)() == 7);
    release_code(code, sizeof seven);
}

#if defined(__x86_64__)
TEST_CASE("kernels: they may change each register that Linux lets a function change, and use deep stack") {
    std::vector<uint8_t> bytes;
    const auto put = [&](std::initializer_list<uint8_t> more) { bytes.insert(bytes.end(), more); };
    for (uint8_t i = 0; i < 8; ++i) put({0x0f, 0x57, static_cast<uint8_t>(0xc0 | i * 9)}); // xorps xmm0-7
    for (uint8_t i = 0; i < 8; ++i) put({0x45, 0x0f, 0x57, static_cast<uint8_t>(0xc0 | i * 9)}); // xmm8-15
    put({0x48, 0x8b, 0x07});                   // mov rax, [rdi]: the first argument
    put({0x48, 0x31, 0xff, 0x48, 0x31, 0xf6}); // rdi and rsi
    put({0xc6, 0x84, 0x24});                   // mov byte [rsp - 64,000], 1
    const int32_t depth = -64000;
    bytes.resize(bytes.size() + sizeof depth);
    memcpy(bytes.data() + bytes.size() - sizeof depth, &depth, sizeof depth);
    put({1, 0xc3});
    uint8_t *code = allocate_code(bytes.size());
    REQUIRE(code);
    memcpy(code, bytes.data(), bytes.size());
    REQUIRE(make_executable(code, bytes.size()));
    struct Shared {
        KernelFunction kernel;
        double sums[12] = {};
        int result = 0;
        static void run(void *context) { // many values live across the call
            Shared &shared = *static_cast<Shared *>(context);
            double values[12];
            for (int i = 0; i < 12; ++i) values[i] = shared.sums[i] + i;
            void *argument[] = {reinterpret_cast<void *>(uintptr_t{42})};
            {
                const KernelMode mode;
                shared.result = shared.kernel(argument);
            }
            for (int i = 0; i < 12; ++i) shared.sums[i] = values[i];
        }
    } shared{reinterpret_cast<KernelFunction>(code)};
    Thread thread;
    REQUIRE(thread.start(Shared::run, &shared, 1 << 18));
    thread.join();
    CHECK(shared.result == 42);
    for (int i = 0; i < 12; ++i) CHECK(shared.sums[i] == i);
    Shared::run(&shared); // on a stack that has grown little
    for (int i = 0; i < 12; ++i) CHECK(shared.sums[i] == 2 * i);
    release_code(code, bytes.size());
}
#endif

TEST_CASE("heap: small and large blocks are aligned and writable to their end") {
    for (const size_t bytes : {size_t{64}, size_t{4096}, size_t{4} << 20, (size_t{5} << 20) + 64}) {
        auto *memory = static_cast<uint8_t *>(allocate(bytes, 64));
        REQUIRE(memory);
        CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
        memory[0] = memory[bytes - 1] = 1;
        release(memory);
    }
}

TEST_CASE("files: regular files are read and mapped; what is missing or no regular file is told apart") {
    const Temporary folder;
    const std::string path = folder.write("a", "abcdef");
    uint8_t bytes[8] = {};
    {
        File file;
        REQUIRE(file.open(path.c_str()));
        CHECK(file.size() == 6);
        CHECK(file.read(bytes, 4));
        CHECK(memcmp(bytes, "abcd", 4) == 0);
        const uint8_t *mapped = file.map();
        REQUIRE(mapped);
        CHECK(memcmp(mapped, "abcdef", 6) == 0);
        File::unmap(mapped, 6);
        CHECK_FALSE(file.read(bytes, 4)); // two are left
        CHECK(file.error() != 0);
    }
    File missing, of_a_file, a_folder, any;
    CHECK_FALSE(missing.open((path + "x").c_str()));
    CHECK(missing.missing());
    CHECK_FALSE(of_a_file.open((path + "/x").c_str()));
    CHECK(of_a_file.missing());
    CHECK_FALSE(a_folder.open(text_of(folder.path).c_str()));
    CHECK(a_folder.irregular());
    CHECK_FALSE(a_folder.missing());
    REQUIRE(any.open_any(path.c_str()));
    CHECK(any.read_some(bytes, 8) == 6);
    CHECK(any.read_some(bytes, 8) == 0);
}

TEST_CASE("files: names in any script, with spaces, in paths of any length") {
    const Temporary folder;
    // What the system itself wants of a path as long as this.
    const auto system_path = [](const fs::path &path) {
#ifdef _WIN32
        return fs::path(LR"(\\?\)" + fs::path(path).make_preferred().wstring());
#else
        return path;
#endif
    };
    std::vector<fs::path> folders = {folder.path / "two words",
                                     folder.path / "two words" / u8"Ключ – 鍵 – 🔑"};
    while (folders.size() < 12) folders.push_back(folders.back() / std::string(40, 'x'));
    for (const fs::path &made : folders) REQUIRE(fs::create_directory(system_path(made)));
    const fs::path path = folders.back() / u8"été.lw";
    std::ofstream(system_path(path), std::ios::binary) << "abc";
    CHECK(text_of(path).size() > 400);
    {
        File file;
        REQUIRE(file.open(text_of(path).c_str()));
        CHECK(file.size() == 3);
    }
    CHECK(fs::remove(system_path(path)));
    for (; !folders.empty(); folders.pop_back()) CHECK(fs::remove(system_path(folders.back())));
#ifdef _WIN32
    File not_utf8;
    CHECK_FALSE(not_utf8.open("\xff\xfe"));
    CHECK(not_utf8.error() == EILSEQ);
#endif
}

TEST_CASE("folder: files appear as a whole, links and what others may write are not read") {
    const Temporary above;
    const fs::path path = above.path / "mine";
    PrivateFolder folder;
    REQUIRE(folder.open(text_of(path).c_str()) == PrivateFolder::Fault::none);
    const PrivateFolder::Piece pieces[] = {{"ab", 2}, {"cde", 3}};
    folder.write("one", pieces, 2);
    CHECK(read(folder, "one") == "abcde");
    CHECK(read(folder, "two") == "none");
#ifndef _WIN32 // where links need a right
    fs::create_symlink("one", path / "link");
    CHECK(read(folder, "link") == "none");
#endif
    let_others_write(path / "one");
    CHECK(read(folder, "one") == "none");

    std::map<std::string, uint64_t> seen;
    CHECK(folder.list(
        [](void *context, const char *name, uint64_t bytes, int64_t age) {
            CHECK(age >= 0);
            (*static_cast<std::map<std::string, uint64_t> *>(context))[name] = bytes;
        },
        &seen));
    CHECK(seen.size() == (fs::exists(path / "link") ? 2 : 1));
    CHECK(seen["one"] == 5);
    CHECK(folder.remove("one"));
    CHECK_FALSE(folder.remove("one"));
    folder.close();
    CHECK_FALSE(folder.is_open());

    let_others_write(path);
    CHECK(folder.open(text_of(path).c_str()) == PrivateFolder::Fault::writable_by_others);
    CHECK(folder.open(above.write("file", "").c_str()) == PrivateFolder::Fault::not_a_folder);
    CHECK(folder.open(text_of(path / "no/such").c_str()) == PrivateFolder::Fault::not_a_folder);
    CHECK_FALSE(folder.is_open());
}

TEST_CASE("threads: a semaphore counts posts, and a lock keeps two threads apart") {
    struct Shared {
        Semaphore start, done;
        Lock lock;
        int number = 0;
        static void count(void *context) {
            Shared &shared = *static_cast<Shared *>(context);
            shared.start.wait();
            for (int i = 0; i < 10000; ++i) {
                const Hold hold(shared.lock);
                shared.number = shared.number + 1;
            }
            shared.done.post();
        }
    } shared;
    REQUIRE(shared.start.open());
    REQUIRE(shared.done.open());
    Thread threads[2];
    for (Thread &thread : threads) REQUIRE(thread.start(Shared::count, &shared, 1 << 18));
    for (int i = 0; i < 2; ++i) shared.start.post();
    for (int i = 0; i < 2; ++i) shared.done.wait();
    for (Thread &thread : threads) thread.join();
    CHECK(shared.number == 20000);
    shared.start.close();
    shared.done.close();
}

TEST_CASE("clock, CPU and libraries") {
    const uint64_t before = clock_ns();
    CHECK(clock_ns() >= before);
    CHECK(host().machine == artifact::own_machine);
    CHECK((host().features & ~artifact::known_features) == 0);
    CHECK(open_library("no-such-library-of-longwave") == nullptr);
}
