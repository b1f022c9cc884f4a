// A generator's ids and its stream's state as bytes, and back.
#include "runtime/core/model.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/saved_state.h"
#include "runtime/text/generator.h"
#include <cstddef>
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace {

// Ahead of the ids and of the stream's own state.
struct SavedGenerator {
    uint64_t magic, ids, written;
    uint64_t checksum; // of this and the ids (checksum_of); 0: earlier versions wrote none
};
static_assert(sizeof(SavedGenerator) == 32);
constexpr uint64_t magic = 0x31524e454754574c; // "LWTGENR1"

lw_status bad_generator(const char *what) { return fail(LW_BAD_STATE, {"saved generator: ", what}); }

} // namespace

lw_status lw_generator_save(const lw_generator *generator, void *bytes, size_t capacity, size_t *n) {
    if (!generator || !n) return fail(LW_INVALID_ARGUMENT, "generator or n is NULL");
    SavedGenerator saved = {magic, kept(*generator), written(*generator), 0};
    const size_t own = sizeof saved + static_cast<size_t>(saved.ids) * sizeof(int32_t);
    size_t of_stream = 0;
    if (lw_status status = lw_stream_save(generator->stream, nullptr, 0, &of_stream)) return status;
    *n = own + of_stream;
    if (!bytes) return LW_OK;
    if (capacity < *n)
        return fail(LW_TOO_SMALL, {"the state takes ", uint64_t{*n}, " bytes, given ", uint64_t{capacity}});
    uint8_t *to = static_cast<uint8_t *>(bytes);
    memcpy(to, &saved, sizeof saved);
    to += sizeof saved;
    for (uint64_t i = saved.ids; i-- > 0; to += sizeof(int32_t)) {
        const int32_t id = newest(*generator, i);
        memcpy(to, &id, sizeof id);
    }
    saved.checksum =
        checksum_of(static_cast<const uint8_t *>(bytes), own, offsetof(SavedGenerator, checksum));
    memcpy(bytes, &saved, sizeof saved);
    return lw_stream_save(generator->stream, to, of_stream, &of_stream);
}

lw_status lw_generator_load(lw_generator *generator, const void *bytes, size_t n) {
    if (!generator || (n > 0 && !bytes)) return fail(LW_INVALID_ARGUMENT, "generator or bytes is NULL");
    SavedGenerator saved;
    if (n < sizeof saved) return bad_generator("too short");
    memcpy(&saved, bytes, sizeof saved);
    if (saved.magic != magic) return bad_generator("these bytes are not the saved state of a generator");
    const uint64_t left = n - sizeof saved;
    if (saved.ids > left / sizeof(int32_t) || saved.written > saved.ids)
        return bad_generator("counters contradict each other, or it is too short");
    const uint8_t *ids = static_cast<const uint8_t *>(bytes) + sizeof saved;
    const size_t known = static_cast<size_t>(saved.ids);
    const bool unchecked = saved.checksum == 0;
    if (!unchecked && saved.checksum != checksum_of(static_cast<const uint8_t *>(bytes),
                                                    sizeof saved + known * sizeof(int32_t),
                                                    offsetof(SavedGenerator, checksum)))
        return bad_generator("damaged: its checksum differs");
    if (first_bad_token(ids, known, input_of(*generator->stream).vocabulary()) != known)
        return bad_generator("an id is outside the vocabulary");
    const uint8_t *of_stream = ids + known * sizeof(int32_t);
    const size_t of_stream_bytes = static_cast<size_t>(left) - known * sizeof(int32_t);
    if (lw_status status = lw_stream_load(generator->stream, of_stream, of_stream_bytes)) return status;
    generator->stream->unchecked |= unchecked;
    generator->count = 0;
    for (size_t i = 0; i < known && generator->room > 0; ++i) {
        int32_t id;
        memcpy(&id, ids + i * sizeof id, sizeof id);
        remember(*generator, &id, 1);
    }
    generator->first = generator->count - (generator->room > 0 ? saved.written : 0);
    return LW_OK;
}
