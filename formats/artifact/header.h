// The fixed front of an artifact: 256 bytes, little-endian. Everything behind it is found and
// trusted through it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "artifacts are little-endian and used in place");

inline constexpr size_t header_bytes = 256;
inline constexpr size_t segment_alignment =
    64;                                  // of the plan and of every segment, from the start of the file
inline constexpr size_t hash_bytes = 32; // BLAKE2b-256

// A byte above 127 and both line endings: a transfer that treats the file as text breaks the magic,
// not the weights.
inline constexpr uint8_t magic[8] = {0x89, 'L', 'W', 'A', '\r', '\n', 0x1a, '\n'};
inline constexpr uint16_t format_major = 2; // a reader opens its own major
// and any minor up to its own. 1: offline runs on a GPU. 2: streams on a GPU, logit margins. 3:
// mixed entries, float16. 4: a state whose identity does not depend on targets, scalars with the
// rows of an input. 5: a version of the model in the header, variants whose code the program
// contains, golden tensors stored in part. 6: streams that wait for later rows.
// 7: kernels for several streams at once. 8: states that begin with numbers of the model.
// 9: rows that come for several ticks together. 10: scalars that the host may change.
// 11: a recipe of the weights. 12: histories channel by channel. 13: rows of a history that have been
// written.
inline constexpr uint16_t format_minor = 13;

enum Flag : uint32_t {
    flag_signed = 1u << 0, // key and signature are filled in
    known_flags = flag_signed,
};

struct Header {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; // 256
    uint64_t total_bytes;  // of the file
    uint64_t plan_offset;  // 64-aligned, directly behind the header
    uint64_t plan_bytes;   // of the flatbuffer; zeros follow up to the next multiple of 64
    uint32_t flags;
    uint32_t reserved_flags;
    uint8_t
        root[hash_bytes];  // BLAKE2b-256 of this header with root and signature zeroed, then the plan's bytes
    uint8_t key[32];       // Ed25519 public key of the signer, zeros when unsigned; covered by the root
    uint8_t signature[64]; // Ed25519 over the root
    uint64_t version;      // of the model, counted by who signs it; 0: none (format 2.5); covered by the root
    uint8_t reserved[72];  // zeros
};
static_assert(sizeof(Header) == header_bytes && offsetof(Header, total_bytes) == 16 &&
              offsetof(Header, flags) == 40 && offsetof(Header, root) == 48 && offsetof(Header, key) == 80 &&
              offsetof(Header, signature) == 112 && offsetof(Header, version) == 176 &&
              offsetof(Header, reserved) == 184);

} // namespace longwave::artifact
