#include "formats/artifact/hash.h"
#include "formats/base/same_bytes.h"
#include <cstring>

namespace longwave::artifact {
namespace {

constexpr uint64_t initial[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu,
                                 0xa54ff53a5f1d36f1u, 0x510e527fade682d1u, 0x9b05688c2b3e6c1fu,
                                 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
constexpr uint8_t order[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                   {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                   {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                   {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                   {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                   {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                   {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                   {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                   {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                   {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

inline uint64_t rotate(uint64_t x, int n) { return x >> n | x << (64 - n); }

inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = rotate(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 63);
}

} // namespace

Hasher::Hasher() {
    memcpy(state_, initial, sizeof state_);
    state_[0] ^= 0x01010000u ^ hash_bytes; // fan-out 1, depth 1, no key
}

void Hasher::compress(const uint8_t *block, bool last) {
    uint64_t m[16], v[16];
    memcpy(m, block, sizeof m);
    memcpy(v, state_, sizeof state_);
    memcpy(v + 8, initial, sizeof initial);
    v[12] ^= total_;
    if (last) v[14] = ~v[14];
    for (int round = 0; round < 12; ++round) {
        const uint8_t *s = order[round % 10];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
}

void Hasher::update(const void *bytes, size_t size) {
    const uint8_t *from = static_cast<const uint8_t *>(bytes);
    while (size > 0) {
        if (filled_ == sizeof buffer_) { // only now is it known that this block is not the last
            total_ += sizeof buffer_;
            compress(buffer_, false);
            filled_ = 0;
        }
        const size_t room = sizeof buffer_ - filled_, n = size < room ? size : room;
        memcpy(buffer_ + filled_, from, n);
        filled_ += n;
        from += n;
        size -= n;
    }
}

void Hasher::finish(uint8_t (&out)[hash_bytes]) {
    total_ += filled_;
    memset(buffer_ + filled_, 0, sizeof buffer_ - filled_);
    compress(buffer_, true);
    memcpy(out, state_, hash_bytes);
}

void hash(const void *bytes, size_t size, uint8_t (&out)[hash_bytes]) {
    Hasher hasher;
    hasher.update(bytes, size);
    hasher.finish(out);
}

bool equal_hash(const uint8_t *a, const uint8_t *b) { return same_bytes(a, b, hash_bytes); }

void root_hash(const Header &header, const void *plan, uint8_t (&out)[hash_bytes]) {
    Header clean = header;
    memset(clean.root, 0, sizeof clean.root);
    memset(clean.signature, 0, sizeof clean.signature);
    Hasher hasher;
    hasher.update(&clean, sizeof clean);
    hasher.update(plan, header.plan_bytes);
    hasher.finish(out);
}

} // namespace longwave::artifact
