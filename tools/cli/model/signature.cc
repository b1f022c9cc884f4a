#include "tools/cli/model/signature.h"
#include "formats/artifact/write.h"
#include "tools/cli/process/interruption.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sodium.h>
#include <unistd.h>

namespace longwave::cli {
namespace {

bool read_hex(const std::string &hex, PublicKey &bytes) {
    size_t size = 0;
    return hex.size() == 2 * bytes.size() &&
           sodium_hex2bin(bytes.data(), bytes.size(), hex.data(), hex.size(), nullptr, &size, nullptr) == 0 &&
           size == bytes.size();
}

// The keys of a file: one per line; empty lines and what follows # count for nothing.
Status read_keys(const std::string &flag, const std::string &path, std::vector<PublicKey> &keys) {
    const Status bad = Status::usage(flag +
                                     ": expected a public key of 64 hexadecimal digits, such as `longwave "
                                     "keygen` prints, or a file with one "
                                     "such key per line, found \"" +
                                     path + "\"");
    std::ifstream file(path);
    if (!file) return bad;
    const size_t before = keys.size();
    for (std::string line; std::getline(file, line);) {
        line.erase(std::min(line.find('#'), line.size()));
        line.erase(0, line.find_first_not_of(" \t\r"));
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (line.empty()) continue;
        if (!read_hex(line, keys.emplace_back())) return bad;
    }
    return keys.size() > before ? Status() : bad;
}

Status write_new(const std::string &path, mode_t mode, const std::string &text) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    const bool exists = file < 0 && errno == EEXIST;
    if (exists)
        return Status::usage(path +
                             ": this file exists; name another one, because a lost key cannot be made again");
    errno = file < 0 ? errno : ENOSPC; // of a write that takes a part alone
    const bool written = file >= 0 &&
                         write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                         fsync(file) == 0;
    const Status failed = Status::device(path + ": cannot be written: " + std::strerror(errno));
    if (file >= 0 && close(file) == 0 && written) return {};
    if (file >= 0) unlink(path.c_str());
    return failed;
}

} // namespace

Expected<std::vector<PublicKey>> public_keys(const std::string &flag,
                                             const std::vector<std::string> &values) {
    std::vector<PublicKey> keys;
    for (const std::string &value : values) {
        PublicKey key;
        if (read_hex(value, key)) keys.push_back(key);
        else LW_TRY(read_keys(flag, value, keys));
    }
    return keys;
}

std::string to_hex(const PublicKey &key) {
    std::string text(2 * key.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), key.data(), key.size());
    text.pop_back();
    return text;
}

Expected<PublicKey> make_keys(const std::string &path) {
    PublicKey seed, key;
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    if (sodium_init() < 0) return Status::device("this machine gives no random numbers");
    randombytes_buf(seed.data(), seed.size());
    crypto_sign_seed_keypair(key.data(), secret, seed.data());
    std::string text = to_hex(seed) + "\n";
    const Uninterrupted both; // a key without its other half is of no use
    Status status = write_new(path, 0600, text);
    if (status) {
        status = write_new(path + ".pub", 0644, to_hex(key) + "\n");
        if (!status) unlink(path.c_str());
    }
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(seed.data(), seed.size());
    sodium_memzero(text.data(), text.size());
    if (!status) return status;
    return key;
}

template <class Artifact>
static Expected<PublicKey> signed_with(Artifact &artifact, const std::string &path, uint64_t version) {
    errno = 0;
    std::ifstream file(path);
    std::string hex;
    if (!(file >> hex))
        return Status::input(
            path + ": cannot read the secret key: " + (errno ? std::strerror(errno) : "the file is empty"));
    PublicKey seed, key;
    if (!read_hex(hex, seed))
        return Status::input(
            path + ": expected a secret key of 64 hexadecimal digits (make one with `longwave keygen`)");
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    crypto_sign_seed_keypair(key.data(), secret, seed.data());
    const Status status = artifact::sign(
        artifact, key,
        [&](std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature) {
            return crypto_sign_detached(signature.data(), nullptr, root.data(), root.size(), secret) == 0;
        },
        version);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(seed.data(), seed.size());
    sodium_memzero(hex.data(), hex.size());
    if (!status) return status;
    return key;
}

Expected<PublicKey> sign(std::vector<uint8_t> &artifact, const std::string &path, uint64_t version) {
    return signed_with(artifact, path, version);
}

Expected<PublicKey> sign(artifact::Pieces &artifact, const std::string &path, uint64_t version) {
    return signed_with(artifact, path, version);
}

Signature signature_of(const artifact::Header &header) {
    if (!(header.flags & artifact::flag_signed)) return {Signature::State::none, "", "not signed"};
    PublicKey key;
    std::memcpy(key.data(), header.key, key.size());
    const std::string hex = to_hex(key);
    if (signature_matches(nullptr, header.key, header.root, header.signature))
        return {Signature::State::valid, hex, "signed by " + hex};
    return {Signature::State::invalid, hex, "signature does not match"};
}

int signature_matches(void *, const uint8_t *key, const uint8_t *root, const uint8_t *signature) {
    return crypto_sign_verify_detached(signature, root, 32, key) == 0;
}

} // namespace longwave::cli
