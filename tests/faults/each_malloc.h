// Failing each allocation of a piece of work in turn.
#pragma once
#include "longwave/longwave.h"
#include "tests/support/faults.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <functional>

namespace longwave::test {

// Every k of malloc and its like. `life` takes no memory itself. `spared`: allocations that it can
// do without.
inline void fail_each_malloc(const std::function<lw_status()> &life, long least, long spared = 0) {
    long calls = 0;
    {
        faults::Scope scope;
        const lw_status status = life();
        calls = scope.count(faults::allocate);
        const long live = scope.live();
        REQUIRE(status == LW_OK);
        CHECK(live == 0);
    }
    CHECK(calls >= least);
    for (const bool for_good : {false, true}) {
        long fine = 0;
        for (long k = 0; k < calls; ++k) {
            lw_status status;
            long live;
            {
                faults::Scope scope;
                scope.fail(faults::allocate, k, ENOMEM, for_good);
                status = life();
                live = scope.live();
            }
            CAPTURE(k);
            if (status == LW_OK) ++fine;
            else CHECK(status == LW_NO_MEMORY);
            CHECK(live == 0);
        }
        CHECK(fine <= spared);
    }
}

} // namespace longwave::test
