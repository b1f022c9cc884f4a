// Ed25519 keys and signatures of artifacts (libsodium): who compiled this file?
#pragma once
#include "formats/artifact/write.h"
#include "formats/base/expected.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

using PublicKey = std::array<uint8_t, 32>;

// What the values of `flag` name: each is a key of 64 hexadecimal digits, or a file with one key
// per line. Fault::usage otherwise, naming `flag`.
Expected<std::vector<PublicKey>> public_keys(const std::string &flag, const std::vector<std::string> &values);
std::string to_hex(const PublicKey &key);

// Writes a new secret key to `path`, which only the user may read, and its public key to
// `path`.pub. Neither file may exist. Returns the public key.
Expected<PublicKey> make_keys(const std::string &path);

// Signs finished bytes, with a version of the model, with the secret in `path`: 32 random bytes as
// 64 hexadecimal digits, the Ed25519 seed. Returns its public key.
Expected<PublicKey> sign(std::vector<uint8_t> &artifact, const std::string &path, uint64_t version);
Expected<PublicKey> sign(artifact::Pieces &artifact, const std::string &path, uint64_t version);

// What the signature in a file is worth: it matches the key beside it, whoever has that key.
struct Signature {
    enum class State { none, valid, invalid } state = State::none;
    std::string key;  // hexadecimal; empty without a signature
    std::string text; // "not signed", "signed by KEY" or "signature does not match"
};
Signature signature_of(const artifact::Header &header);

// The `check_signature` of lw_open_options. Which keys are trusted says
// lw_open_options.trusted_keys.
int signature_matches(void *, const uint8_t *key, const uint8_t *root, const uint8_t *signature);

} // namespace longwave::cli
