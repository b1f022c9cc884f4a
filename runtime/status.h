// The detail behind a failing status: kept per thread, in a fixed buffer, without stdio.
#pragma once
#include "longwave/longwave.h"
#include <cstdint>
#include <initializer_list>

namespace longwave::runtime {

// A piece of a message: text or a number.
struct Piece {
    const char *text = nullptr;
    uint64_t number = 0;
    Piece(const char *t) : text(t ? t : "") {}
    Piece(uint64_t n) : number(n) {}
    Piece(uint32_t n) : number(n) {}
};

// Records the message for lw_last_error and returns `status`. Too long a message is cut.
lw_status fail(lw_status status, std::initializer_list<Piece> message);

} // namespace longwave::runtime
