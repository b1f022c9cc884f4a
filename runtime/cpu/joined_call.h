// A call that several streams make at once, by the kernel that serves them all (fb::Together).
#pragma once
#include "runtime/cpu/session.h"

namespace longwave::runtime {

// Streams side by side. Their arenas lie in one block, equally far apart.
struct SideBySide {
    const Spaces *spaces;       // of each
    const BatchMember *members; // of each
};

class JoinedCall {
public:
    // Of the step's kernel, the one for several streams with that index. Takes its memory from `parts`; call
    // it once with measuring parts and without kernels, and once with real ones. `apart`: bytes from an
    // arena to the next. `spaces`: weights and derived.
    void build(const fb::Plan &plan, const fb::Step &step, uint32_t index, const Kernel *kernels,
               const Spaces &spaces, uint64_t apart, void *user_context, Parts &parts);
    uint32_t streams() const { return streams_; }
    // What does not lie in the arenas is copied into so many bytes, and back.
    uint64_t copied_bytes() const { return copied_bytes_; }
    // One tile of the call, for n streams from `first` on. The kernel uses the arenas of streams() of them.
    // False: it failed.
    bool run(const Call &call, const SideBySide &of, uint32_t first, uint32_t n, uint32_t tile,
             uint8_t *copies) const;

private:
    struct Copied {
        Moving place;             // of each stream
        const fb::Scalar *scalar; // or its number
        uint64_t stride, span;
        bool read, written;
    };

    Function function_ = nullptr;
    uint32_t streams_ = 0, n_in_arenas_ = 0, n_copied_ = 0;
    uint64_t copied_bytes_ = 0;
    Buffer *buffers_ = nullptr;
    void **pointers_ = nullptr;
    Moving *in_arenas_ = nullptr;
    Copied *copied_ = nullptr;
};

} // namespace longwave::runtime
