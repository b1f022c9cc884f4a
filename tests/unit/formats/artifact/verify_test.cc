// The gate as a whole: header, segments, hashes, limits, truncations and flipped bits. The plan is
// the other files' subject.
#include "formats/artifact/features.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/verify.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <doctest/doctest.h>
#include <type_traits>

namespace verify_test {

using namespace longwave;
using namespace longwave::test;
using artifact::Broken;
using artifact::Header;

namespace {

std::vector<uint8_t> u64(uint64_t value) {
    std::vector<uint8_t> bytes(8);
    for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(value >> 8 * i);
    return bytes;
}

struct HeaderCase {
    const char *name;
    int rule;
    size_t at;
    std::vector<uint8_t> with;
};

std::vector<HeaderCase> header_cases(const std::vector<uint8_t> &good) {
    return {
        {"magic of another format", 2, 0, {'P', 'K', 3, 4}},
        {"magic that lost its high bit", 2, 0, {0x09}},
        {"magic with a converted line ending", 2, 4, {'\n', '\n'}},
        {"major 1", 2, 8, {1, 0}},
        {"major 0", 2, 8, {0, 0}},
        {"minor 14", 2, 10, {14, 0}},
        {"header of 128 bytes", 2, 12, {128, 0, 0, 0}},
        {"declared size one more", 3, 16, u64(good.size() + 1)},
        {"declared size one less", 3, 16, u64(good.size() - 1)},
        {"declared size 2^63", 3, 16, u64(1ull << 63)},
        {"plan offset 0", 3, 24, u64(0)},
        {"plan offset 320", 3, 24, u64(320)},
        {"plan offset 2^64 - 1", 3, 24, u64(~0ull)},
        {"plan bytes beyond the file", 3, 32, u64(good.size())},
        {"plan bytes 2^64 - 1", 3, 32, u64(~0ull)},
        {"unknown flag", 4, 40, {2}},
        {"unknown flag in the high half", 4, 44, {1}},
        {"reserved byte", 4, 255, {1}},
        {"version before format 2.5", 4, 176, {1}},
        {"key without a signature", 4, 80, {1}},
        {"signature without the flag", 4, 112, {1}},
        {"plan bytes 8", 5, 32, u64(8)},
        {"file identifier", 5, 260, {'X'}},
        {"root offset beyond the plan", 5, 256, {0xff, 0xff, 0xff, 0x7f}},
        {"root offset 0", 5, 256, {0, 0, 0, 0}},
    };
}

const struct SegmentCase {
    const char *name;
    std::function<void(fb::PlanT &)> edit;
} segment_cases[] = {
    {"segments in the wrong order", [](fb::PlanT &p) { std::swap(p.segments[0], p.segments[1]); }},
    {"a gap", [](fb::PlanT &p) { p.segments[1]->offset += 64; }},
    {"an overlap", [](fb::PlanT &p) { p.segments[1]->offset -= 64; }},
    {"not aligned", [](fb::PlanT &p) { p.segments[0]->offset += 8; }},
    {"in the header", [](fb::PlanT &p) { p.segments[0]->offset = 64; }},
    {"offset 2^64 - 64", [](fb::PlanT &p) { p.segments[1]->offset = ~0ull - 63; }},
    {"size 2^64 - 1", [](fb::PlanT &p) { p.segments[1]->size = ~0ull; }},
    {"bytes behind the last segment",
     [](fb::PlanT &p) {
         p.segments[1]->size = 32;
         p.weights_bytes = 32;
     }},
};

} // namespace

static_assert(!std::is_aggregate_v<artifact::View> &&
                  !std::is_constructible_v<artifact::View, const Header *, const fb::Plan *, const uint8_t *>,
              "only verify() fills in a View");

} // namespace verify_test

void longwave::test::header_samples(Samples &samples) {
    const std::vector<uint8_t> good = audio_model().bytes();
    samples.push_back({"sound", 0, good});
    samples.push_back({"no bytes", 1, {}});
    samples.push_back({"half a header", 1, std::vector<uint8_t>(128)});
    samples.push_back({"a byte too many", 3, good});
    samples.back().bytes.push_back(0);
    for (const verify_test::HeaderCase &c : verify_test::header_cases(good))
        samples.push_back({std::string("header: ") + c.name, c.rule, patch(good, c.at, c.with)});
    for (const verify_test::SegmentCase &c : verify_test::segment_cases)
        samples.push_back({std::string("segments: ") + c.name, 8, rewrite(good, c.edit)});
}

namespace verify_test {

TEST_CASE("verify: the artifacts the other tests start from are sound") {
    check_sound(audio_model());
    check_sound(family_model());
    check_sound(token_model());
    check_sound(spotter_model());
    check_sound(failing_model());
    check_sound(timing_model({.period = 3, .phase = 1}));
    Draft with = audio_model();
    decision(with), golden(with);
    check_sound(with);
}

TEST_CASE("verify: V1-V4, the header") {
    const std::vector<uint8_t> good = audio_model().bytes();
    for (const auto &c : header_cases(good)) {
        const Broken broken = check(patch(good, c.at, c.with));
        CHECK_MESSAGE(broken.rule == c.rule, c.name, ": V", int(broken.rule), " ", broken.text, " ", broken.a,
                      " ", broken.b);
    }
    CHECK(check({}).rule == 1);
    CHECK(check(std::vector<uint8_t>(255)).rule == 1);
    CHECK(check(std::vector<uint8_t>(good.begin(), good.begin() + 17)).rule == 1);
    std::vector<uint8_t> longer = good;
    longer.push_back(0);
    CHECK(check(longer).rule == 3);
}

TEST_CASE("verify: V8, segments and padding") {
    const std::vector<uint8_t> good = audio_model().bytes();
    for (const auto &c : segment_cases) {
        const Broken broken = check(rewrite(good, c.edit));
        CHECK_MESSAGE(broken.rule == 8, c.name, ": V", int(broken.rule), " ", broken.text, " ", broken.a, " ",
                      broken.b);
    }
    Header header;
    memcpy(&header, good.data(), sizeof header);
    const size_t padding = header.plan_offset + header.plan_bytes;
    REQUIRE(padding % 64 != 0);
    CHECK(check(patch(good, padding, {1})).rule == 8);
}

TEST_CASE("verify: V11 and V19, hashes") {
    const std::vector<uint8_t> good = audio_model().bytes();
    for (size_t kernel : {size_t{0}, size_t{4}})
        CHECK(check(rewrite(good, [&](fb::PlanT &p) { p.kernels[kernel]->abi ^= 1; })).rule == 11);
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.kernels[0]->spec[0] = 'S'; })).rule == 11);
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.kernels[k_fir_stream]->args[2]->high = 14; })).rule == 11);
    CHECK(check(rewrite(good, [](fb::PlanT &p) {
              p.kernels[k_fir_stream]->args[0]->dims[0] = fb::Dim(15, 1);
          })).rule == 11);

    CHECK(check(patch(good, good.size() - 1, {1})).rule == 19); // weights
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.segments[0]->hash[31] ^= 1; })).rule ==
          19); // code against another hash
    CHECK(check(patch(good, 48, {static_cast<uint8_t>(good[48] ^ 1)}, false)).rule == 19); // the root itself
    CHECK(check(rewrite(good, [](fb::PlanT &p) {
              std::swap(p.segments[0]->hash, p.segments[1]->hash);
          })).rule == 19);
    const Broken broken = check(patch(good, good.size() - 1, {1}));
    CHECK(broken.a == 1); // the segment
}

TEST_CASE("verify: V20, memory against the caller's limit") {
    const std::vector<uint8_t> good = audio_model().bytes();
    const uint64_t needed = good.size() + 64 + 640; // derived, and the arena of the run: more than the stream
    CHECK(!check(good, needed));
    CHECK(check(good, needed - 1).rule == 20);
    CHECK(check(good, 1).rule == 20);
    CHECK(check(good, needed - 1).a == needed);
}

TEST_CASE("verify: V20 counts the caches of all streams, for any of them may run") {
    Draft draft = family_model();
    for (size_t e : {stream, small_stream}) {
        entry(draft, e).cache_bytes = 4096;
        entry(draft, e).rebuild.push_back(zero("clear", fb::Space::cache, 0, 64));
        entry(draft, e).rebuild[0]->replay_from = 1;
    }
    entry(draft, small_stream).arena_bytes = 128;
    const std::vector<uint8_t> good = draft.bytes();
    const uint64_t needed = good.size() + 64 + (192 + 128 + 2 * 4096 + 64);
    CHECK(!check(good, needed));
    CHECK(check(good, needed - 1).rule == 20);
}

TEST_CASE("verify: without a limit a few hundred bytes may not ask for gigabytes, and the message says which "
          "limit held") {
    struct {
        const char *name;
        uint64_t bytes;
        int rule;
    } const cases[] = {{"up to the default", (64 << 20) - 8192, 0},
                       {"beyond it", 64 << 20, 20},
                       {"gigabytes", 4'100'000'000 / 64 * 64, 20}};
    for (const auto &c : cases) {
        Draft draft = audio_model();
        entry(draft, stream).arena_bytes = c.bytes;
        const Broken broken = check(draft.bytes());
        CHECK_MESSAGE(broken.rule == c.rule, std::string(c.name), ": V", int(broken.rule));
        if (broken.rule != 20) continue;
        CHECK(std::string(broken.text).find("64 MiB or 64 times the file") != std::string::npos);
        CHECK(broken.b == 64 << 20);
        CHECK(!check(draft.bytes(), uint64_t{1} << 40)); // whoever means it says so
    }
    CHECK(artifact::default_memory_limit(1) == 64 << 20);
    CHECK(artifact::default_memory_limit(2 << 20) == 128 << 20);
    CHECK(artifact::default_memory_limit(~0ull) == ~0ull);
}

TEST_CASE("verify: every truncation is refused") {
    for (const Draft &draft : {audio_model(), token_model()}) {
        const std::vector<uint8_t> good = draft.bytes();
        for (size_t n = 0; n < good.size(); ++n) {
            const Broken broken = check({good.begin(), good.begin() + static_cast<long>(n)});
            REQUIRE(broken.rule == (n < artifact::header_bytes ? 1 : 3));
        }
    }
}

TEST_CASE("verify: every flipped bit is noticed") {
    const std::vector<uint8_t> good = token_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    size_t accepted = 0;
    std::vector<uint8_t> bad = good;
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
        bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        accepted += !check(bad);
        bad[bit / 8] = good[bit / 8];
    }
    CHECK(accepted == 0);
}

// The same with the root hash renewed: what someone who can hash would try. Nothing may crash; what
// is accepted has passed every rule.
TEST_CASE("verify: every flipped bit of the plan, under a fresh hash, is refused or sound") {
    const std::vector<uint8_t> good = audio_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    size_t by_rule[21] = {};
    for (size_t bit = 0; bit < header.plan_bytes * 8; ++bit) {
        const size_t at = header.plan_offset + bit / 8;
        const Broken broken = check(patch(good, at, {static_cast<uint8_t>(good[at] ^ 1 << bit % 8)}));
        ++by_rule[broken.rule];
    }
    for (int rule : {5, 6, 7, 8, 11, 12, 13, 16, 19})
        CHECK_MESSAGE(by_rule[rule] > 0, "no flip broke V", rule);
}

TEST_CASE("verify: a copy of the front may differ from the file behind it") {
    const std::vector<uint8_t> good = audio_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    alignas(64) static uint8_t file[65536], front[65536];
    REQUIRE(good.size() <= sizeof file);
    memcpy(file, good.data(), good.size());
    memcpy(front, good.data(), header.plan_offset + header.plan_bytes);
    memset(file + header.plan_offset, 0xee, 64); // the file changes after the copy
    artifact::Request request;
    request.file = file;
    request.size = good.size();
    request.front = front;
    request.front_size = header.plan_offset + header.plan_bytes;
    artifact::View view;
    CHECK(!artifact::verify(request, &view));
    CHECK(reinterpret_cast<const uint8_t *>(&view.header()) == front);
    // A header that grew between measuring and copying would lead behind the copy.
    ++reinterpret_cast<Header *>(front)->plan_bytes;
    artifact::View none;
    CHECK(artifact::verify(request, &none).rule == 3);
    CHECK(!none);
}

TEST_CASE("verify: memory for the check that is not there is a status of its own") {
    const std::vector<uint8_t> good = audio_model().bytes();
    alignas(64) static uint8_t file[65536];
    memcpy(file, good.data(), good.size());
    const artifact::Memory none = {[](void *, size_t) -> void * { return nullptr; },
                                   [](void *, void *, size_t) {}, nullptr};
    artifact::Request request;
    request.file = file;
    request.size = good.size();
    request.memory = &none;
    artifact::View view;
    const Broken broken = artifact::verify(request, &view);
    CHECK(broken.no_memory);
    CHECK(broken.rule == 0);
    CHECK(!view);
}

} // namespace verify_test
