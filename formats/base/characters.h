// Characters of text from outside, and those that names may not have.
#pragma once
#include <cstdint>

namespace longwave {

// Length 0: no UTF-8. No surrogates, no overlong forms, at most U+10FFFF.
struct Character {
    uint32_t bytes = 0, code = 0;
};

// The character at p; `left` is at least 1.
inline Character character_at(const uint8_t *p, uint64_t left) {
    if (p[0] < 0x80) return {1, p[0]};
    const uint32_t bytes = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (p[0] < 0xc0 || p[0] > 0xf4 || bytes > left) return {};
    uint32_t code = p[0] & (0x7fu >> bytes);
    for (uint32_t i = 1; i < bytes; ++i) {
        if ((p[i] & 0xc0) != 0x80) return {};
        code = code << 6 | (p[i] & 0x3f);
    }
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
    return {bytes, code};
}

// What makes a terminal or a page show something else than the text: C0 and C1, line and paragraph
// separators, and the marks that turn the direction of what follows.
inline bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

// The other bidirectional controls of Unicode: invisible, but they only say which way a text runs.
// Compiled models may have them, model folders may not.
inline bool is_direction_mark(uint32_t code) { return code == 0x61c || code == 0x200e || code == 0x200f; }

// Characters that a reader cannot see: Unicode 15's categories Cc, Cf, Zl and Zp, and
// Default_Ignorable_Code_Point. names_test compares the table with that of Python.
inline bool is_unseen(uint32_t code) {
    constexpr struct {
        uint32_t first, last;
    } ranges[] = {{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
                  {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
                  {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
                  {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
                  {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
                  {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
                  {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    for (const auto &range : ranges)
        if (code <= range.last) return code >= range.first;
    return false;
}

} // namespace longwave
