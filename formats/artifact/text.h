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

} // namespace longwave::artifact
