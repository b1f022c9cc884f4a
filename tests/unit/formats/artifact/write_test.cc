// Writing an artifact: deterministic bytes that hold every rule, and signatures.
#include "formats/artifact/detach.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/write.h"
#include "tests/unit/formats/artifact/in_parts.h"
#include <doctest/doctest.h>
#include <sodium.h>

namespace write_test {

using namespace longwave;
using namespace longwave::test;

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

TEST_CASE("without_golden: the vectors go, and their largest error limit stays") {
    Draft draft = audio_model();
    draft.segments.push_back({fb::SegmentKind::golden, std::vector<uint8_t>(128)});
    add_golden(draft, 1, 8, 2e-5f);
    add_golden(draft, 1, 8, 3e-5f);
    const auto whole = artifact::write(draft.plan, draft.segments);
    REQUIRE_MESSAGE(whole, whole.status().message());
    const auto without = artifact::without_golden(*whole);
    REQUIRE_MESSAGE(without, without.status().message());
    CHECK(!check(*without));
    CHECK(without->size() < whole->size());
    const fb::Plan &plan = *fb::GetPlan(without->data() + artifact::header_bytes);
    CHECK(plan.golden() == nullptr);
    CHECK(plan.error_limit() == 3e-5f);
    CHECK(fb::GetPlan(whole->data() + artifact::header_bytes)->error_limit() == 0);
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

} // namespace write_test
