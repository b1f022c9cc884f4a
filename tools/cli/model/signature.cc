#include "tools/cli/model/signature.h"
#include "formats/artifact/write.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sodium.h>

namespace longwave::cli {
namespace {

bool read_hex(const std::string &hex, PublicKey &bytes) {
    size_t size = 0;
    return hex.size() == 2 * bytes.size() &&
           sodium_hex2bin(bytes.data(), bytes.size(), hex.data(), hex.size(), nullptr, &size, nullptr) == 0 &&
           size == bytes.size();
}

} // namespace

Expected<PublicKey> public_key(const std::string &flag, const std::string &hex) {
    PublicKey key;
    if (read_hex(hex, key)) return key;
    return Status::usage(flag +
                         ": expected a public key of 64 hexadecimal digits, such as `longwave compile "
                         "--sign` prints, found \"" +
                         hex + "\"");
}

std::string to_hex(const PublicKey &key) {
    std::string text(2 * key.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), key.data(), key.size());
    text.pop_back();
    return text;
}

Expected<PublicKey> sign(std::vector<uint8_t> &artifact, const std::string &path) {
    errno = 0;
    std::ifstream file(path);
    std::string hex;
    if (!(file >> hex))
        return Status::input(
            path + ": cannot read the secret key: " + (errno ? std::strerror(errno) : "the file is empty"));
    PublicKey seed, key;
    if (!read_hex(hex, seed))
        return Status::input(
            path + ": expected a secret key of 64 hexadecimal digits (make one with openssl rand -hex 32)");
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    crypto_sign_seed_keypair(key.data(), secret, seed.data());
    const Status status = artifact::sign(
        artifact, key, [&](std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature) {
            return crypto_sign_detached(signature.data(), nullptr, root.data(), root.size(), secret) == 0;
        });
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(seed.data(), seed.size());
    sodium_memzero(hex.data(), hex.size());
    if (!status) return status;
    return key;
}

int signed_by(void *context, const uint8_t *key, const uint8_t *root, const uint8_t *signature) {
    const auto &trusted = *static_cast<const PublicKey *>(context);
    return std::memcmp(trusted.data(), key, trusted.size()) == 0 &&
           crypto_sign_verify_detached(signature, root, 32, key) == 0;
}

} // namespace longwave::cli
