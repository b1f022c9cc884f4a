// Model packages: model.json, a zero byte, weights.safetensors. Where the second part begins with
// '{' its eight bytes of header length are put before it, so that a header can grow without
// becoming unreadable at once. What must hold: any bytes give a package or a Fault::input that
// lists a bounded number of clean lines; a package that was read lowers to a graph that verifies,
// or is refused in the same manner.
#include "formats/package/safetensors.h"
#include "tests/fuzz/model_folder.h"
#include <algorithm>
#include <cstring>

using namespace longwave;

namespace {

std::vector<uint8_t> with_length(const uint8_t *begin, const uint8_t *end) {
    const uint8_t *cut = std::find(begin, end, uint8_t{0});
    const uint64_t header = static_cast<uint64_t>(cut - begin);
    std::vector<uint8_t> bytes(8);
    std::memcpy(bytes.data(), &header, 8);
    bytes.insert(bytes.end(), begin, cut);
    bytes.insert(bytes.end(), cut == end ? end : cut + 1, end);
    return bytes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = data + size, *cut = std::find(data, end, uint8_t{0});
    std::map<std::string, package::Tensor> weights;
    if (cut != end) {
        const uint8_t *begin = cut + 1;
        const std::vector<uint8_t> bytes =
            begin != end && *begin == '{' ? with_length(begin, end) : std::vector<uint8_t>(begin, end);
        auto read = package::parse_safetensors(bytes, "weights.safetensors");
        if (read) weights = *std::move(read);
        else fuzz::must_be_refused(read.status());
    }
    fuzz::must_lower(package::parse(std::string(data, cut), std::move(weights)));
    return 0;
}
