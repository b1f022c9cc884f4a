// Failing system and library calls on demand, and counting them. Linking longwave_test_faults
// replaces the functions below in the whole program, the shared runtime included; until told
// otherwise they do what they always do. Not for builds with sanitizers, which replace some of them
// too.
#pragma once

namespace longwave::test::faults {

enum Call {
    allocate,
    release,
    lock,
    map,
    protect,
    open,
    read,
    write,
    sync,
    rename_file,
    look,
    thread,
    calls
};

// Counts and fails in this thread only, while a Scope lives.
class Scope {
public:
    Scope();
    ~Scope();
    // The `k`-th of these calls (from 0) and, if `for_good`, all after it fail with `error`.
    void fail(Call call, long k, int error, bool for_good = false);
    long count(Call call) const;
    long failed() const; // how many failures were handed out
    long live() const;   // allocations less releases: 0 where nothing is kept or given back for others
};

} // namespace longwave::test::faults
