// A generator (longwave/generator.h): a stream, the sampler, and the ids it remembers.
#pragma once
#include "longwave/generator.h"
#include "runtime/stream/memory.h"
#include "runtime/text/sampler.h"

struct lw_generator {
    lw_stream *stream;
    uint64_t bytes;
    uint32_t output; // of the stream: the logits
    // The scalar of a model that leaves out words, on the CPU; null: every row has all words.
    const longwave::fb::HostScalar *margin_scalar;
    float margin;           // that its rows are made for
    float margin_of_stream; // that rows of others are made for, while the stream runs for this generator
    uint32_t window;        // ids in which repetitions are looked for
    bool log_probabilities;
    longwave::runtime::Sampler sampler;
    uint32_t n_stops;
    uint64_t *stop_ends; // [n_stops] in stop_ids
    int32_t *stop_ids;
    int32_t *recent; // id number i at i mod `room`
    uint32_t room;
    uint64_t count, first; // ids known so far · the first of them behind the last prompt
};

namespace longwave::runtime {

inline uint64_t kept(const lw_generator &g) { return g.count < g.room ? g.count : g.room; }
inline uint64_t written(const lw_generator &g) { // and still kept
    const uint64_t n = g.count - g.first;
    return n < g.room ? n : g.room;
}
inline int32_t newest(const lw_generator &g, uint64_t back) {
    return g.recent[(g.count - 1 - back) % g.room];
}

// Blocks of the stream are run for what the generator can choose, from one to the other.
void begin_rows(lw_generator &generator);
void end_rows(lw_generator &generator);
// The two halves of lw_generator_next: what lies before the stream has read the id, which push may
// leave pending, and what comes after. Between begin_rows and end_rows.
lw_status choose_next(lw_generator &generator, lw_generator_token &token);
void remember_next(lw_generator &generator, lw_generator_token &token);

inline void remember(lw_generator &g, const int32_t *ids, uint64_t n) {
    g.count += n;
    for (uint64_t i = n < g.room ? n : g.room; i > 0; --i) g.recent[(g.count - i) % g.room] = ids[n - i];
}

} // namespace longwave::runtime
