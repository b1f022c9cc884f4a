// The saved form of a stream's state.
//
// Artifacts of format 2.4 and later (saved_fields.cc), all numbers little-endian, each part padded
// to 8 bytes:
//
//   SavedState
//   each field that has rows or is a carry, by layer, then by name: SavedField, layer, name, values
//   the pending rows of the input, oldest first
//   the rows that wait to be pulled: each QueuedRows and the values of its rows
//
// A history is saved as its newest rows, oldest first. So the ring that holds them, the target and
// the chosen algorithms do not matter: loading puts the rows into the ring of the loading artifact.
//
// Artifacts up to format 2.3 (saved_layout.cc) save StreamState, the fields as they lie in memory
// without the gaps between them, and the rows that wait. Libraries up to 0.1 wrote a checksum of 0
// there: such states load, and lw_stream_stats.unchecked_state says so.
#pragma once
#include "runtime/stream/memory.h"

namespace longwave::runtime {

struct SavedState {
    uint8_t magic[8];
    uint32_t version;               // of this form
    uint32_t schema;                // fb::StateIdentity
    uint64_t bytes;                 // of the whole saved state
    uint64_t checksum;              // of the whole saved state (checksum_of)
    uint8_t model[32], weights[32]; // fb::StateIdentity
    uint64_t ticks, done;           // these and the following as in StreamState
    uint32_t pending;
    Life life;
    uint64_t rows_dropped, non_finite, non_finite_outputs, poisoned;
    uint32_t runs, rows;
    uint64_t retired; // as in StreamState
    uint32_t fields, reserved;
};
static_assert(sizeof(SavedState) == 176);

struct SavedField {
    uint64_t bytes; // of the values
    uint16_t layer_bytes, name_bytes, rank;
    fb::StateKind kind;
    fb::Elem elem;
    uint32_t dims[6]; // slowest first, 0 behind `rank`; history: saved rows, elements of a row
};
static_assert(sizeof(SavedField) == 40);

inline constexpr uint8_t saved_magic[8] = {'L', 'W', 'S', 'T', 'A', 'T', 'E', 0};
inline constexpr uint32_t saved_version = 1;

// One form of a saved state. `save` writes `size` bytes. A `load` that returns LW_BAD_STATE has
// changed nothing.
struct SavedForm {
    uint64_t (*size)(const lw_stream &stream);
    lw_status (*save)(const lw_stream &stream, uint8_t *to);
    lw_status (*load)(lw_stream &stream, const uint8_t *bytes, size_t n);
};
extern const SavedForm fields_form; // saved_fields.cc
extern const SavedForm layout_form; // saved_layout.cc
// The load of fields_form, also of a state that other weights of the model have left.
lw_status load_of_shape(lw_stream &stream, const uint8_t *bytes, size_t n);

// ---- what both forms share: saved_parts.cc ----

lw_status bad_state(const char *what);
// First 8 bytes of BLAKE2b-256 of the bytes, in which the 8 bytes from `at` on count as zero. Never
// 0.
uint64_t checksum_of(const uint8_t *saved, uint64_t bytes, uint64_t at);
// Null, or what is wrong with the counters. Every position follows from `done` modulo something, so
// any value of it stays in bounds. But arithmetic on ticks and rows must not overflow.
const char *counters_fault(const lw_stream &stream, const StreamState &saved);

// Values of a row that waits.
inline uint64_t value_bytes(const QueuedRows &run) { return uint64_t{run.width} * 4; }
// The rows that wait.
uint64_t queue_bytes(const lw_stream &stream);
void write_queue(const lw_stream &stream, uint8_t *to);
// Null, or what is wrong with the rows from `from` to `end`.
const char *queue_fault(const lw_stream &stream, const StreamState &saved, const uint8_t *from,
                        const uint8_t *end);
void read_queue(lw_stream &stream, const StreamState &saved, const uint8_t *from);

// Sets the counters of the stream, when its fields are loaded, and rebuilds the caches that push
// needs. `unchecked`: the saved state had no checksum.
lw_status resume(lw_stream &stream, const StreamState &saved, bool unchecked);

} // namespace longwave::runtime
