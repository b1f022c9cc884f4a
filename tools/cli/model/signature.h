// Ed25519 signatures of artifacts (libsodium): who compiled this code?
#pragma once
#include "formats/base/expected.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

using PublicKey = std::array<uint8_t, 32>;

// 64 hexadecimal digits. Fault::usage otherwise, naming `flag`.
Expected<PublicKey> public_key(const std::string &flag, const std::string &hex);
std::string to_hex(const PublicKey &key);

// Signs finished bytes with the secret in `path`: 32 random bytes as 64 hexadecimal digits (openssl
// rand -hex 32), the Ed25519 seed. Returns its public key.
Expected<PublicKey> sign(std::vector<uint8_t> &artifact, const std::string &path);

// The `check_signature` of lw_open_options; `context` is the one PublicKey that is trusted.
int signed_by(void *context, const uint8_t *key, const uint8_t *root, const uint8_t *signature);

} // namespace longwave::cli
