// Strings of a plan against C strings.
#pragma once
#include "formats/artifact/schema.h"
#include <cstring>

namespace longwave::artifact {

inline bool equal(const flatbuffers::String &a, const char *b) {
    return strlen(b) == a.size() && memcmp(a.Data(), b, a.size()) == 0;
}
inline bool equal(const flatbuffers::String &a, const flatbuffers::String &b) {
    return a.size() == b.size() && memcmp(a.Data(), b.Data(), a.size()) == 0;
}

// As memcmp; of two texts of which one begins with the other, the shorter comes first.
inline int compare_texts(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}
inline int compare_texts(const flatbuffers::String &a, const flatbuffers::String &b) {
    return compare_texts(a.Data(), a.size(), b.Data(), b.size());
}

} // namespace longwave::artifact
