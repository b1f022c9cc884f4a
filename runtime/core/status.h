// The detail behind a failing status: kept per thread, in a fixed buffer, without stdio.
#pragma once
#include "longwave/longwave.h"
#include <cstdint>
#include <initializer_list>

namespace longwave::runtime {

// A piece of a message: text or a number. The number of a text is left as it is: messages are a
// good part of the library, and each would be longer by an instruction for every word.
struct MessagePart {
    const char *text = nullptr;
    uint64_t number;
    MessagePart(const char *t)
        : text(t ? t : "") {} // NOLINT(clang-analyzer-optin.cplusplus.UninitializedObject)
    MessagePart(uint64_t n) : number(n) {}
    MessagePart(uint32_t n) : number(n) {}
};

// Keeps the message for lw_last_error; too long a one is cut.
void keep_message(std::initializer_list<MessagePart> message);
void keep_message(const char *message); // most have one piece
void add_to_message(std::initializer_list<MessagePart> message);

// The same, and returns `status`: here, so that whoever reads a caller sees that it is a failure.
inline lw_status fail(lw_status status, std::initializer_list<MessagePart> message) {
    keep_message(message);
    return status;
}
inline lw_status fail(lw_status status, const char *message) {
    keep_message(message);
    return status;
}
// For LW_AGAIN and LW_END: no failure, and so no detail.
inline lw_status without_detail(lw_status status) {
    keep_message("");
    return status;
}
inline lw_status no_memory(const char *what, uint64_t bytes) {
    return fail(LW_NO_MEMORY, {"no memory for ", what, ": ", bytes, " bytes"});
}

// Of calls that go on after a failure: the first one.
inline void keep_first(lw_status &first, lw_status status) {
    if (first == LW_OK) first = status;
}

} // namespace longwave::runtime
