// The gate: bytes become a View here or nowhere. Rules V1 … V20 (docs/artifact-format.md) run in
// order; the first that is broken ends the check. Never asserts, prints or writes to the bytes;
// time grows with the number of bytes (times its logarithm in V10), whatever they say.
#pragma once
#include "formats/artifact/features.h"
#include "formats/artifact/view.h"
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

// Which rule is broken, and where. `a` and `b` are what `text` says they are, mostly the index or
// byte that is wrong and the limit.
struct Broken {
    uint8_t rule = 0; // 1 … 20; 0: none
    const char *text = "";
    uint64_t a = 0, b = 0;
    bool no_memory = false; // the check itself could not get its scratch memory (rule is 0)

    explicit operator bool() const { return rule != 0 || no_memory; }
};

// Scratch for V10: at most seven times the size of the plan. Freed before verify returns.
struct Memory {
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
};
extern const Memory standard_memory; // malloc and free

// V20's limit where the caller names none. It depends on the size of the file only.
constexpr uint64_t default_memory_limit(uint64_t file_bytes) {
    const uint64_t least = uint64_t{64} << 20,
                   most = file_bytes > UINT64_MAX / 64 ? UINT64_MAX : 64 * file_bytes;
    return most > least ? most : least;
}

// The most values a decision may smooth over, rows of its window times labels: V18 holds the plan
// to it.
inline constexpr uint64_t decision_values = 1u << 20;

struct Request {
    const uint8_t *file = nullptr; // 64-aligned, for the segments are used in place
    uint64_t size = 0;
    // A private copy of the first plan_offset + plan_bytes bytes, for a file that might change
    // while it is read (the View then refers to the copy); null: the file itself. 64-aligned.
    const uint8_t *front = nullptr;
    uint64_t front_size = 0; // bytes of the copy: the header in it may have changed since it was measured
    // V17: a variant for this host must exist, and where one is named, that one. Null: any machine
    // will do (inspection, cross-compilation).
    const Host *host = nullptr;
    const char *variant = nullptr;
    // V20: bytes for the model and one stream (or runner). 0: default_memory_limit(size).
    uint64_t memory_limit = 0;
    bool check_hashes = true; // V19 for segments; false only where the caller hashes them itself
    const Memory *memory = &standard_memory;
    // When set, V10 adds its units of work: what tests hold against the size of the plan.
    uint64_t *work = nullptr;
};

// `view` is set only when nothing is broken.
[[nodiscard]] Broken verify(const Request &request, View *view);

// Rules V1-V4 alone: enough to know where the plan ends. `header` is filled in on success.
[[nodiscard]] Broken verify_header(const uint8_t *file, uint64_t size, Header *header);

// For a writer that holds header and plan apart from the segments: every rule but what V8 and V19
// say about the segments' own bytes, with no memory limit. There is no View of such a file. `front`
// is 64-aligned.
[[nodiscard]] Broken verify_front(const uint8_t *front, uint64_t front_size, uint64_t file_size);

// Bytes a model needs with its file, and one stream or runner: what V20 compares with the limit. A
// stream is its state, the largest arena and the caches of all its entries. Only for verified
// plans.
uint64_t memory_needed(const fb::Plan &plan, uint64_t file_bytes);

} // namespace longwave::artifact
