// What a longwave-runner reads from a host (tools/runner). The first byte picks the form of the
// rest: bit 0: bytes of the wire; otherwise messages {u8 what, u8 which, u16 bytes, payload}, whose
// heads are made right. `what` with bit 6: the payload begins with the number of its 4-byte ticks.
// What must hold: every whole request gets one reply, in order, and the reply is as long as its head
// says; a refusal is a short text; reading ends.
#include "tests/fuzz/must.h"
#include "tests/fuzz/served_models.h"
#include <cstdlib>
#include <cstring>

using namespace longwave;
using fuzz::must;

namespace {

struct Head {
    uint32_t what, which;
    uint64_t bytes;
};

uint64_t messages = 0;
struct Count {
    ~Count() { std::fprintf(stderr, "requests served: %llu\n", static_cast<unsigned long long>(messages)); }
} count;

void put(std::vector<uint8_t> &to, const void *bytes, size_t n) {
    const auto *from = static_cast<const uint8_t *>(bytes);
    to.insert(to.end(), from, from + n);
}

// Messages whose heads are right. They begin with a model that is open.
std::vector<uint8_t> wire_of(const uint8_t *data, size_t size) {
    std::vector<uint8_t> wire;
    const auto message = [&](uint32_t what, uint32_t which, const void *payload, size_t n) {
        const Head head{what, which, n};
        put(wire, &head, sizeof head);
        put(wire, payload, n);
    };
    const uint8_t open[5] = {0, 0, 0, 0, static_cast<uint8_t>(size > 0 ? data[0] >> 1 & 7 : 0)};
    message(wire_open, 0, open, sizeof open);
    for (size_t at = 1; at + 4 <= size;) {
        const size_t stated = data[at + 2] | size_t{data[at + 3]} << 8;
        const size_t n = stated < size - at - 4 ? stated : size - at - 4;
        std::vector<uint8_t> payload;
        const uint64_t ticks = n / 4;
        if (data[at] & 0x40) put(payload, &ticks, sizeof ticks);
        put(payload, data + at + 4, data[at] & 0x40 ? ticks * 4 : n);
        message(data[at] & 0x1f, data[at + 1], payload.data(), payload.size());
        at += 4 + n;
    }
    return wire;
}

size_t whole_requests(const std::vector<uint8_t> &wire) {
    size_t n = 0;
    for (size_t at = 0; wire.size() - at >= sizeof(Head); n++) {
        Head head;
        std::memcpy(&head, wire.data() + at, sizeof head);
        at += sizeof head;
        if (head.bytes > wire.size() - at) break;
        at += head.bytes;
    }
    return n;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const std::vector<uint8_t> wire =
        data[0] & 1 ? std::vector<uint8_t>(data + 1, data + size) : wire_of(data, size);
    if (wire.empty()) return 0;
    FILE *in = fmemopen(const_cast<uint8_t *>(wire.data()), wire.size(), "rb");
    char *replies = nullptr;
    size_t bytes = 0;
    FILE *out = open_memstream(&replies, &bytes);
    must(in && out, "streams of memory");
    must(serve(in, out) == 0 || whole_requests(wire) == 0 || data[0] & 1,
         "right heads are served to the end");
    std::fclose(in);
    std::fclose(out);
    size_t n = 0;
    for (size_t at = 0; at < bytes; n++) {
        Head head;
        must(bytes - at >= sizeof head, "a reply has a head");
        std::memcpy(&head, replies + at, sizeof head);
        at += sizeof head;
        must(head.bytes <= bytes - at, "a reply is as long as its head says");
        must(head.what == LW_OK || head.bytes <= wire_text, "a refusal is a short text");
        at += head.bytes;
    }
    must(n == whole_requests(wire), "every whole request gets one reply");
    messages += n;
    std::free(replies);
    return 0;
}
