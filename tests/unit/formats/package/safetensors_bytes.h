// Writes safetensors files for tests: good ones from tensors, and any header text in front of any
// bytes.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tests {

using Bytes = std::vector<uint8_t>;

inline Bytes with_header(std::string_view header, size_t data_bytes = 0, uint8_t fill = 0) {
    Bytes bytes(8 + header.size() + data_bytes, fill);
    uint64_t n = header.size();
    std::memcpy(bytes.data(), &n, 8);
    std::memcpy(bytes.data() + 8, header.data(), header.size());
    return bytes;
}

template <class T> Bytes with_values(std::string_view header, const std::vector<T> &values) {
    Bytes bytes = with_header(header, values.size() * sizeof(T));
    std::memcpy(bytes.data() + 8 + header.size(), values.data(), values.size() * sizeof(T));
    return bytes;
}

} // namespace longwave::tests
