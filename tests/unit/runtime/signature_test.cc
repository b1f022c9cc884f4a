// Who is trusted at open: signatures, keys and versions, also of files that contain no code.
#include "formats/artifact/header.h"
#include "longwave/longwave.h"
#include "tests/support/broken.h"
#include <cstddef>
#include <cstring>
#include <doctest/doctest.h>

namespace signature_test {

using namespace longwave;
using namespace longwave::test;

namespace {

lw_status open(const std::vector<uint8_t> &bytes, const lw_open_options &options, lw_model **out = nullptr) {
    lw_model *model = nullptr;
    const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
    CHECK((model == nullptr) == (status != LW_OK));
    if (out) *out = model;
    else lw_model_close(model);
    return status;
}

bool detail(const char *text) { return std::string(lw_last_error()).find(text) != std::string::npos; }

// Reports what it likes: its only step clears the scores. It contains no kernel and no code.
Draft codeless_model() {
    Draft draft = failing_model();
    draft.plan.name = "swapped";
    draft.plan.kernels.clear();
    draft.plan.variants.clear();
    draft.segments.clear();
    draft.plan.entries[0]->steps.clear();
    draft.plan.entries[0]->steps.push_back(zero("scores", fb::Space::arena, 0, 64));
    return draft;
}

// Signed by a key that begins with `key`. Not Ed25519: what matters here is who is asked, and what.
std::vector<uint8_t> signed_bytes(const Draft &draft, uint8_t key, uint64_t version = 0) {
    std::vector<uint8_t> bytes = draft.bytes();
    const uint8_t whole_key[32] = {key};
    REQUIRE(artifact::sign(
        bytes, whole_key,
        [](std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature) {
            memcpy(signature.data(), root.data(), 32);
            return true;
        },
        version));
    return bytes;
}

int matches(void *, const uint8_t *, const uint8_t *root, const uint8_t *signature) {
    return memcmp(root, signature, 32) == 0;
}
int no(void *, const uint8_t *, const uint8_t *, const uint8_t *) { return 0; }

lw_open_options checking(int (*check)(void *, const uint8_t *, const uint8_t *, const uint8_t *) = matches) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.check_signature = check;
    options.check_compares_key = 1;
    return options;
}

} // namespace

TEST_CASE("trust: an unsigned file without code does not get past check_signature") {
    lw_open_options trusting{};
    trusting.struct_size = sizeof trusting;
    REQUIRE(open(codeless_model().bytes(), trusting) == LW_OK); // there is no code to consent to
    CHECK(open(codeless_model().bytes(), checking()) == LW_UNSIGNED_CODE);
    CHECK(detail("swapped"));
    CHECK(open(signed_bytes(codeless_model(), 1), checking()) == LW_OK);
}

TEST_CASE(
    "trust: a check that says no rejects every signed file, whatever it contains and whatever is allowed") {
    for (const Draft &draft : {codeless_model(), audio_model()})
        for (int allowed : {0, 1}) {
            lw_open_options options = checking(no);
            options.allow_unsigned_code = allowed;
            CHECK(open(signed_bytes(draft, 1), options) == LW_UNSIGNED_CODE);
        }
}

TEST_CASE("trust: a required signature is required, whatever the file contains and whatever is allowed") {
    for (const Draft &draft : {codeless_model(), audio_model()})
        for (int allowed : {0, 1}) {
            lw_open_options options = checking();
            options.require_signature = 1;
            options.allow_unsigned_code = allowed;
            CHECK(open(draft.bytes(), options) == LW_UNSIGNED_CODE);
            CHECK(open(signed_bytes(draft, 1), options) == LW_OK);
            options.check_signature = nullptr;
            CHECK(open(signed_bytes(draft, 1), options) == LW_INVALID_ARGUMENT);
        }
}

TEST_CASE("trust: with a list of keys, only their signatures are checked at all") {
    uint8_t keys[3 * 32] = {};
    for (uint8_t k = 0; k < 3; ++k) keys[32 * k] = k + 1;
    lw_open_options options = checking();
    options.trusted_keys = keys;
    options.n_trusted_keys = 2;
    CHECK(open(signed_bytes(audio_model(), 1), options) ==
          LW_INVALID_ARGUMENT); // a list and a check of its own
    CHECK(detail("give one of them"));
    options.check_compares_key = 0;
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_OK);
    CHECK(open(signed_bytes(audio_model(), 2), options) == LW_OK);
    CHECK(open(signed_bytes(audio_model(), 3), options) == LW_UNSIGNED_CODE);
    CHECK(detail("a key that is not trusted"));
    options.n_trusted_keys = 0; // all were withdrawn
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_UNSIGNED_CODE);
    options.n_trusted_keys = 3;
    options.trusted_keys = nullptr;
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_INVALID_ARGUMENT);
    options.trusted_keys = keys;
    options.check_signature = no;
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_UNSIGNED_CODE);
    options.check_signature = nullptr;
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_INVALID_ARGUMENT);
}

TEST_CASE("trust: a check without keys would accept every signer, and is refused") {
    lw_open_options options = checking();
    options.check_compares_key = 0;
    for (const int required : {0, 1}) {
        options.require_signature = required;
        CHECK(open(signed_bytes(audio_model(), 1), options) == LW_INVALID_ARGUMENT);
        CHECK(detail("would accept every signer"));
    }
    const uint8_t key[32] = {1};
    options.trusted_keys = key;
    options.n_trusted_keys = 1;
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_OK);
}

TEST_CASE("trust: a signed file of an older version does not come back") {
    lw_open_options options = checking();
    options.least_version = 7;
    CHECK(open(signed_bytes(audio_model(), 1, 6), options) == LW_OLD_VERSION);
    CHECK(detail("has version 6; the least that opens here is 7"));
    CHECK(open(signed_bytes(audio_model(), 1), options) == LW_OLD_VERSION);
    for (uint64_t version : {7ull, 8ull, ~0ull}) {
        lw_model *model = nullptr;
        REQUIRE(open(signed_bytes(audio_model(), 1, version), options, &model) == LW_OK);
        lw_model_info info{};
        info.struct_size = sizeof info;
        REQUIRE(lw_model_get_info(model, &info) == LW_OK);
        CHECK(info.version == version);
        CHECK(info.trusted == 1);
        lw_model_close(model);
    }
    // A version that nobody signed counts for nothing, and the signature covers it.
    std::vector<uint8_t> raised = signed_bytes(audio_model(), 1, 6);
    const size_t at = offsetof(artifact::Header, version);
    CHECK(open(patch(raised, at, {9}, false), options) == LW_BAD_ARTIFACT); // V19
    CHECK(open(patch(raised, at, {9}), options) == LW_UNSIGNED_CODE);       // another root
    options.allow_unsigned_code = 1;
    std::vector<uint8_t> unsigned_file = audio_model().bytes();
    unsigned_file[offsetof(artifact::Header, minor)] = artifact::format_minor;
    CHECK(open(patch(unsigned_file, at, {9}), options) == LW_UNSIGNED_CODE);
    options.check_signature = nullptr;
    CHECK(open(raised, options) == LW_INVALID_ARGUMENT);
}

} // namespace signature_test
