// The gate: bytes become a View here or nowhere. Rules V1 … V20 (README.md) run in order; the first that is broken ends the check.
// Never asserts, prints or writes to the bytes; time grows with the number of bytes (times its logarithm in V10).
#pragma once
#include "formats/artifact/features.h"
#include "formats/artifact/view.h"
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

// Which rule is broken, and where. `a` and `b` are what `text` says they are, mostly the index or byte that is wrong and the limit.
struct Broken {
    uint8_t rule = 0; // 1 … 20; 0: none
    const char *text = "";
    uint64_t a = 0, b = 0;
    bool no_memory = false; // the check itself could not get its scratch memory (rule is 0)

    explicit operator bool() const { return rule != 0 || no_memory; }
};

// Scratch for V10: at most the size of the plan. Freed before verify returns.
struct Memory {
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
};
extern const Memory standard_memory; // malloc and free

struct Request {
    const uint8_t *file = nullptr; // 64-aligned, for the segments are used in place
    uint64_t size = 0;
    // A private copy of the first plan_offset + plan_bytes bytes, for a file that might change while it is read (the View then refers to the copy);
    // null: the file itself. 64-aligned.
    const uint8_t *front = nullptr;
    uint64_t front_size = 0;       // bytes of the copy: the header in it may have changed since it was measured
    const Host *host = nullptr;    // V17; null: any machine will do (inspection, cross-compilation)
    const char *variant = nullptr; // V17: this one and no other
    uint64_t memory_limit = 0;     // V20: bytes for the model and one stream (or runner); 0: no limit
    bool check_hashes = true;      // V19 for segments; false only where the caller hashes them itself
    const Memory *memory = &standard_memory;
};

// `view` is set only when nothing is broken.
[[nodiscard]] Broken verify(const Request &request, View *view);

// Rules V1-V4 alone: enough to know where the plan ends. `header` is filled in on success.
[[nodiscard]] Broken verify_header(const uint8_t *file, uint64_t size, Header *header);

// Bytes a model needs beside the file, and one stream or runner: what V20 compares with the limit. Only for verified plans.
uint64_t memory_needed(const fb::Plan &plan, uint64_t file_bytes);

} // namespace longwave::artifact
