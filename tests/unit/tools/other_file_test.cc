// Files that are no compiled model, by their first bytes: every kind, and heads that are random, changed or
// cut. The heads are those of the formats' own descriptions, not those of other_file.cc.
#include "formats/artifact/header.h"
#include "tools/cli/model/other_file.h"
#include <algorithm>
#include <cstring>
#include <doctest/doctest.h>
#include <iterator>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace other_file_test {

using namespace longwave;
using namespace std::string_literals;

namespace {

struct Known {
    std::string head; // and whatever follows
    const char *is;   // how the message goes on behind "is "
};

const std::vector<Known> kinds = {
    {"RIFF\x24\x80\0\0WAVEfmt "s, "a recording"},
    {"RF64\xff\xff\xff\xffWAVEds64"s, "a recording"},
    {"FORM\0\0\x10\0AIFFCOMM"s, "a recording"},
    {"FORM\0\0\x10\0AIFCFVER"s, "a recording"},
    {"fLaC\0\0\0\x22"s, "a recording"},
    {"OggS\0\2\0\0"s, "a recording"},
    {".snd\0\0\0\x18"s, "a recording"},
    {"ID3\3\0\0\0"s, "a recording"},
    {"\x08\x08\x12\x07pytorch\x1a\x05"s, "an ONNX graph"},
    {"\x08\x03:\xff\x01\x0a"s, "an ONNX graph"}, // the graph at once
    {"GGUF\3\0\0\0"s, "a GGUF file of a language model"},
    {"\x1c\0\0\0TFL3\x14\0\x20\0"s, "a TensorFlow Lite graph"},
    {"\x93NUMPY\1\0v\0{'descr'"s, "a NumPy array"},
    {"PK\3\4\0\0\x08\x08"s, "a file of weights"},
    {"\x80\2}q\0"s, "a file of weights"},
    {"\x89HDF\r\n\x1a\n"s, "a file of weights"},
    {"\x40\0\0\0\0\0\0\0{\"__metadata__\""s, "a file of weights"},
    {"\x1f\x8b\x08\0"s, "a compressed file"},
    {"\xfd"
     "7zXZ\0\0\4"s,
     "a compressed file"},
    {"\x28\xb5\x2f\xfd\x24"s, "a compressed file"},
    {"version https://git-lfs.github.com/spec/v1\n"s, "a Git LFS pointer"},
    {"\x7f"
     "ELF\2\1\1"s,
     "a program"},
    {"MZ\x90\0\3"s, "a program"},
    {"{\"version\": \"0.5.4\", \"architecture\": \"WaveNet\""s, "a capture of Neural Amp Modeler"},
    {" \r\n\t{\"format\": 1"s, "a JSON text"},
};

constexpr size_t longest = 64;
constexpr const char *path = "some/file";

// Copies of heads that end where a page begins that nobody may read.
class Edge {
public:
    Edge()
        : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
          memory_(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        REQUIRE(memory_ != MAP_FAILED);
        REQUIRE(mprotect(static_cast<char *>(memory_) + page_, page_, PROT_NONE) == 0);
    }
    Edge(const Edge &) = delete;
    Edge &operator=(const Edge &) = delete;
    ~Edge() { munmap(memory_, 2 * page_); }

    Status answer(const std::string &head) {
        char *const at = static_cast<char *>(memory_) + page_ - head.size();
        std::memcpy(at, head.data(), head.size());
        return cli::refuse_other_file(path, {at, head.size()});
    }

private:
    size_t page_;
    void *memory_;
};

std::string random_bytes(std::mt19937 &random, size_t n) {
    std::string bytes(n, '\0');
    for (char &byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

// The head of a kind with bits flipped, and bytes added, taken out and repeated.
std::string changed(std::mt19937 &random, std::string head) {
    for (size_t n = 1 + random() % 4; n > 0; n--) {
        const size_t at = random() % (head.size() + 1);
        switch (random() % 4) {
        case 0: head.insert(at, random_bytes(random, 1 + random() % 8)); break;
        case 1: head.erase(at, 1 + random() % 4); break;
        case 2: head.insert(at, head.substr(0, random() % 8)); break;
        default:
            if (at < head.size()) head[at] = static_cast<char>(head[at] ^ 1 << random() % 8);
        }
    }
    return head;
}

// Nothing known, or a whole message of one of the kinds.
bool is_answer(const Status &status) {
    if (status) return true;
    const std::string &said = status.message();
    if (status.fault() != Fault::input || !said.starts_with(path + ": is "s)) return false;
    return std::any_of(kinds.begin(), kinds.end(), [&](const Known &kind) {
        return said.find(": is "s + kind.is) != std::string::npos && said.find("; ") != std::string::npos;
    });
}

} // namespace

TEST_CASE("the first bytes of every kind are enough, whatever follows") {
    Edge edge;
    std::mt19937 random(1);
    for (const Known &kind : kinds) {
        for (int i = 0; i < 100; i++) {
            const Status status = edge.answer(kind.head + random_bytes(random, random() % 64));
            REQUIRE(!status);
            CHECK(status.message().starts_with(path + ": is "s + kind.is));
            CHECK(status.message().find("not a compiled model (.lw); ") != std::string::npos);
        }
    }
}

TEST_CASE("a compiled model is none of the kinds, whatever follows its first bytes") {
    Edge edge;
    std::mt19937 random(2);
    const std::string magic(std::begin(artifact::magic), std::end(artifact::magic));
    for (int i = 0; i < 10'000; i++) CHECK(edge.answer(magic + random_bytes(random, random() % longest)));
}

TEST_CASE("heads that are cut anywhere, changed or random have an answer") {
    Edge edge;
    std::mt19937 random(3);
    for (const Known &kind : kinds)
        for (size_t n = 0; n <= kind.head.size(); n++) CHECK(is_answer(edge.answer(kind.head.substr(0, n))));
    for (int i = 0; i < 200'000; i++) {
        std::string head = changed(random, kinds[random() % kinds.size()].head);
        if (random() % 2) head += random_bytes(random, longest);
        head.resize(std::min(head.size(), 1 + random() % longest));
        const Status status = edge.answer(head);
        REQUIRE_MESSAGE(is_answer(status), status.message());
    }
    for (int i = 0; i < 200'000; i++) {
        const Status status = edge.answer(random_bytes(random, 1 + random() % longest));
        REQUIRE_MESSAGE(is_answer(status), status.message());
    }
}

TEST_CASE("one byte is no kind, nor are none") {
    Edge edge;
    for (const Known &kind : kinds) {
        const Status none = edge.answer(kind.head.substr(0, 1));
        const bool text = kind.head[0] == '{' || kind.head[0] == ' '; // may still be JSON
        CHECK((none || text));
    }
    CHECK(edge.answer(""));
    CHECK(edge.answer("   "));
}

} // namespace other_file_test
