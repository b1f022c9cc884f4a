#include "formats/artifact/weights_identity.h"
#include "formats/artifact/hash.h"

namespace longwave::artifact {

std::string identified(std::span<const uint64_t> shape, const FloatArray &numbers) {
    Hasher hasher;
    in_pieces(numbers,
              [&](size_t, std::span<const float> piece) { hasher.update(piece.data(), piece.size_bytes()); });
    uint8_t digest[hash_bytes];
    hasher.finish(digest);
    std::string text = " ";
    for (const uint64_t extent : shape) text += std::to_string(extent) + ",";
    text.append(std::begin(digest), std::end(digest));
    return text;
}

std::array<uint8_t, hash_bytes> WeightsIdentity::digest() const {
    uint8_t digest[hash_bytes];
    hash(text_.data(), text_.size(), digest);
    return std::to_array(digest);
}

} // namespace longwave::artifact
