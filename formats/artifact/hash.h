// BLAKE2b-256 (RFC 7693, no key): the only hash of the format. Why our own sixty lines: libsodium's
// carry abort() and assert() with them, and the runtime promises to contain neither. Tests compare
// with libsodium.
#pragma once
#include "formats/artifact/header.h"
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

class Hasher {
public:
    Hasher();
    void update(const void *bytes, size_t size);
    void finish(uint8_t (&out)[hash_bytes]); // once, last

private:
    void compress(const uint8_t *block, bool last);
    uint64_t state_[8];
    uint64_t total_ = 0;
    size_t filled_ = 0;
    uint8_t buffer_[128];
};

void hash(const void *bytes, size_t size, uint8_t (&out)[hash_bytes]);
bool equal_hash(const uint8_t *a, const uint8_t *b);

// The root hash of an artifact: header with root and signature zeroed, then the plan.
void root_hash(const Header &header, const void *plan, uint8_t (&out)[hash_bytes]);

} // namespace longwave::artifact
