// BLAKE2b-256 against RFC 7693 and libsodium.
#include "formats/artifact/hash.h"
#include <doctest/doctest.h>
#include <random>
#include <sodium.h>
#include <string>
#include <vector>

namespace hash_test {

using namespace longwave::artifact;

static std::string hex(const uint8_t (&digest)[hash_bytes]) {
    std::string text;
    for (uint8_t byte : digest) text += "0123456789abcdef"[byte >> 4], text += "0123456789abcdef"[byte & 15];
    return text;
}

TEST_CASE("hash: published values") {
    uint8_t digest[hash_bytes];
    hash("", 0, digest);
    CHECK(hex(digest) == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    hash("abc", 3, digest);
    CHECK(hex(digest) == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST_CASE("hash: equals libsodium for every length around its blocks, in one piece and in many") {
    std::mt19937 random(1);
    std::vector<uint8_t> bytes(5000);
    for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(random());
    for (size_t n = 0; n < bytes.size(); n = n < 600 ? n + 1 : n + 577) {
        uint8_t ours[hash_bytes], pieces[hash_bytes], theirs[hash_bytes];
        hash(bytes.data(), n, ours);
        Hasher hasher;
        for (size_t done = 0; done < n;) {
            const size_t piece = std::min<size_t>(n - done, random() % 300);
            hasher.update(bytes.data() + done, piece);
            done += piece;
        }
        hasher.finish(pieces);
        crypto_generichash_blake2b(theirs, hash_bytes, bytes.data(), n, nullptr, 0);
        CHECK(equal_hash(ours, theirs));
        CHECK(equal_hash(pieces, theirs));
    }
}

} // namespace hash_test
