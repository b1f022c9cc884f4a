// A tokenizer behind the C interface, and how its failures are reported.
#pragma once
#include "formats/base/status.h"
#include "runtime/tokenizer/bpe.h"
#include <longwave/text.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

struct lw_tokenizer {
    std::unique_ptr<const longwave::tokenizer::Bpe> bpe; // null: ids are bytes
    std::vector<std::string> bytes;                      // of every id, without bpe

    const std::vector<std::string> &tokens() const { return bpe ? bpe->tables().bytes : bytes; }
};

namespace longwave::tokenizer {

// Keeps the detail for lw_last_error() and returns the status. Takes no memory.
lw_status failed(lw_status status, std::string_view detail);

// Calls `body`, which returns an lw_status. No exception leaves the library: the only one is a lack
// of memory.
template <class Body> lw_status guarded(Body body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return failed(LW_NO_MEMORY, "not enough memory");
    } catch (const std::length_error &) { // of a container
        return failed(LW_NO_MEMORY, "not enough memory");
    }
}

} // namespace longwave::tokenizer
