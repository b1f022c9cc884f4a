// Strings of a plan against C strings.
#pragma once
#include "formats/artifact/schema.h"
#include "formats/base/same_bytes.h"

namespace longwave::artifact {

inline bool equal(const flatbuffers::String &a, const char *b) {
    for (uint32_t i = 0; i < a.size(); ++i)
        if (b[i] == 0 || b[i] != a.c_str()[i]) return false;
    return b[a.size()] == 0;
}
inline bool equal(const flatbuffers::String &a, const flatbuffers::String &b) {
    return a.size() == b.size() && same_bytes(a.Data(), b.Data(), a.size());
}

// As memcmp; of two texts of which one begins with the other, the shorter comes first.
inline int compare_texts(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const int order = compare_bytes(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}
inline int compare_texts(const flatbuffers::String &a, const flatbuffers::String &b) {
    return compare_texts(a.Data(), a.size(), b.Data(), b.size());
}

} // namespace longwave::artifact
