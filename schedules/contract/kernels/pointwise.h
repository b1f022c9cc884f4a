// An epilogue on its own.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// An epilogue on its own. On a GPU x and y may lie in different orders. Without an epilogue the kernel then
// changes the order and nothing else.
struct Pointwise {
    static constexpr const char *name = "pointwise";
    Required<1, 1 << 24> width; // with padding
    Required<1, 1 << 20> rows;
    Optional<1, 1 << 24> channels; // valid lanes of each group of P(channels); absent: width
    LW_PARAMS(width, rows, channels)

    template <class Of> struct Arguments {
        typename Of::Input x;  // [width, rows]
        typename Of::Output y; // [width, rows]
        LW_ARGUMENTS(x, y)
    };
};

} // namespace longwave::schedules::contract
