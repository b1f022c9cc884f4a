// lw_generator_*: a stream of a language model, and the choice of what it reads next.
#include "runtime/text/generator.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/model.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/scalars.h"
#include "runtime/stream/state.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

struct Setup {
    lw_generator_options options;
    SamplerSettings sampler;
    uint32_t output, window, room;
    uint64_t stop_ids;
};

constexpr uint32_t most_ids = 1 << 20, most_stops = 1 << 16;

[[gnu::noinline]] lw_status invalid(const char *what) {
    return fail(LW_INVALID_ARGUMENT, {"lw_generator_options: ", what});
}

lw_status bad_id(const char *where, uint64_t place, int32_t id, uint32_t vocabulary) {
    const uint64_t size = id < 0 ? ~static_cast<uint64_t>(int64_t{id}) + 1 : static_cast<uint64_t>(id);
    return fail(LW_BAD_TOKEN, {where, place, ": id ", id < 0 ? "-" : "", size,
                               " is outside the vocabulary, 0 … ", vocabulary - 1});
}

lw_status check_ids(const char *where, const int32_t *ids, size_t n, uint32_t vocabulary) {
    const size_t bad = first_bad_token(ids, n, vocabulary);
    return bad == n ? LW_OK : bad_id(where, bad, ids[bad], vocabulary);
}

[[gnu::noinline]] lw_status no_language_model(const lw_stream &stream, MessagePart what, MessagePart which,
                                              MessagePart why) {
    const char *const name = stream.model->plan().name()->c_str();
    return fail(LW_NOT_FOUND, {name, " is not a language model: ", what, which, why});
}

lw_status find_logits(const lw_stream &stream, Setup &setup) {
    const fb::Input &input = input_of(stream);
    if (input.kind() != fb::InputKind::tokens)
        return no_language_model(stream, "its input ", input.name()->c_str(), " takes no token ids");
    const uint32_t vocabulary = setup.sampler.vocabulary = input.vocabulary();
    const auto &ports = *stream.own->entry->outputs();
    uint32_t &i = setup.output;
    while (i < ports.size() && ports.Get(i)->width() != vocabulary) ++i;
    if (i == ports.size())
        return no_language_model(stream, "none of its outputs has ", vocabulary,
                                 " values, a logit for each id");
    const fb::OutputPort &port = *ports.Get(i);
    if (port.clock_num() != port.clock_den() || port.delay() != 0)
        return no_language_model(stream, "output ", port.name()->c_str(),
                                 " brings no row for each id at once");
    if (stream.own->block == 1) return LW_OK;
    return fail(
        LW_INVALID_ARGUMENT,
        {"the stream reads ", stream.own->block,
         " ids at a time, a generator one: set block of its options to 1, an entry that longwave compile "
         "--blocks 1,64 makes"});
}

lw_status read_settings(Setup &setup) {
    const lw_generator_options &o = setup.options;
    SamplerSettings &s = setup.sampler;
    if (!(o.temperature >= 0 && o.temperature <= 1e6f)) return invalid("temperature is not in [0, 1e6]");
    if (!(o.top_p >= 0 && o.top_p <= 1)) return invalid("top_p is not in [0, 1]");
    if (!(o.min_p >= 0 && o.min_p <= 1)) return invalid("min_p is not in [0, 1]");
    if (o.repetition_penalty != 0 && !(o.repetition_penalty >= 0.01f && o.repetition_penalty <= 100))
        return invalid("repetition_penalty is not in [0.01, 100]");
    if (o.repetition_window > most_ids || o.recent > most_ids || o.n_biases > most_ids ||
        o.n_stops > most_stops)
        return invalid("more than 2^20 ids or 65536 stop sequences");
    if ((o.n_biases > 0 && !o.biases) || (o.n_stops > 0 && !o.stops)) return invalid("a list is NULL");
    s.seed = o.seed;
    s.temperature = o.temperature;
    s.top_k = o.top_k > 0 && o.top_k < s.vocabulary ? o.top_k : s.vocabulary;
    s.top_p = o.top_p > 0 ? o.top_p : 1;
    s.min_p = o.min_p;
    s.penalty = o.repetition_penalty > 0 ? o.repetition_penalty : 1;
    s.biases = o.n_biases;
    s.log_probabilities = o.log_probabilities != 0;
    for (size_t i = 0; i < o.n_biases; ++i) {
        if (lw_status status = check_ids("a bias", &o.biases[i].id, 1, s.vocabulary)) return status;
        if (!(o.biases[i].bias >= -1e30f && o.biases[i].bias <= 1e30f))
            return invalid("a bias is not within ± 1e30");
    }
    setup.window = s.penalty == 1 ? 0 : o.repetition_window ? o.repetition_window : 64;
    setup.room = setup.window > o.recent ? setup.window : o.recent;
    for (size_t i = 0; i < o.n_stops; ++i) {
        const lw_stop_sequence &stop = o.stops[i];
        if (!stop.ids || stop.n == 0 || stop.n > most_stops)
            return invalid("a stop sequence is empty or longer than 65536 ids");
        if (lw_status status = check_ids("a stop sequence", stop.ids, stop.n, s.vocabulary)) return status;
        setup.stop_ids += stop.n;
        if (stop.n > setup.room) setup.room = static_cast<uint32_t>(stop.n);
    }
    return LW_OK;
}

uint64_t lay_out(const Setup &setup, uint8_t *memory, lw_generator *generator) {
    Parts parts(memory);
    parts.take<lw_generator>(1);
    generator->sampler.build(setup.sampler, parts);
    generator->stop_ends = parts.take<uint64_t>(setup.options.n_stops);
    generator->stop_ids = parts.take<int32_t>(setup.stop_ids);
    generator->recent = parts.take<int32_t>(setup.room);
    return parts.used();
}

void copy_lists(const lw_generator_options &o, lw_generator &generator) {
    if (o.n_biases > 0) memcpy(generator.sampler.biases(), o.biases, o.n_biases * sizeof *o.biases);
    uint64_t end = 0;
    for (size_t i = 0; i < o.n_stops; ++i) {
        memcpy(generator.stop_ids + end, o.stops[i].ids, o.stops[i].n * sizeof(int32_t));
        generator.stop_ends[i] = end += o.stops[i].n;
    }
}

// ---- what it remembers ----

// The newest ids written are the first n of a stop sequence.
bool begins(const lw_generator &g, const int32_t *stop, uint64_t n) {
    if (n > written(g)) return false;
    for (uint64_t i = 0; i < n; ++i)
        if (newest(g, n - 1 - i) != stop[i]) return false;
    return true;
}

// Fills in `stop` and `held`.
void look_for_stops(const lw_generator &g, lw_generator_token &token) {
    uint64_t held = 0, from = 0;
    for (uint32_t i = 0; i < g.n_stops; from = g.stop_ends[i++]) {
        uint64_t n = g.stop_ends[i] - from;
        const bool whole = begins(g, g.stop_ids + from, n);
        while (n > held && !begins(g, g.stop_ids + from, n)) --n;
        if (whole) {
            token.stop = i + 1;
            held = n;
            break;
        }
        held = n > held ? n : held;
    }
    token.held = static_cast<uint32_t>(held);
}

// ---- the stream ----

// Models with this scalar leave out words whose logit is further below the largest one, in nats. At the end
// of its range they leave out none.
constexpr char margin_name[] = "logit_margin";
constexpr float left_out = -1e30f; // logit of a word that was left out

// Rows for the generator's choices, while it stands.
struct OwnRows {
    explicit OwnRows(lw_generator &g) : generator(g) { begin_rows(g); }
    ~OwnRows() { end_rows(generator); }
    OwnRows(const OwnRows &) = delete;
    OwnRows &operator=(const OwnRows &) = delete;
    lw_generator &generator;
};

// Whether the row has every word that the generator can choose. Another margin may have made it, also in
// another stream, whose saved state this one has loaded.
bool has_choices(const lw_generator &g, const float *logits) {
    if (!g.margin_scalar) return true;
    uint32_t i = 0;
    while (i < input_of(*g.stream).vocabulary() && logits[i] != left_out) ++i;
    if (i == input_of(*g.stream).vocabulary()) return true;
    const float made = read_scalar(*g.stream, *g.margin_scalar, ScalarNumber::ended_with);
    return made < g.margin_scalar->high() && made >= g.margin;
}

// The newest logits; ticks that a loaded state left pending are run first. Null: nothing was read
// so far.
lw_status newest_logits(lw_stream &stream, uint32_t output, const float **logits) {
    StreamState &state = *stream.state;
    if (state.life != Life::open) return not_open(stream);
    if (lw_status status = end_blocks(stream)) return status;
    while (state.pending > 0) {
        stream.queue.clear();
        if (lw_status status = run_block(stream, next_entry(stream), Keep::all)) return status;
    }
    const Queue &queue = stream.queue;
    for (uint32_t i = queue.runs(), at = queue.rows(); i-- > 0;) {
        const QueuedRows &run = queue.run(i);
        const bool newest = stream.own->rows[run.output].end(run.row + run.rows - 1) == state.done;
        if (run.output == output && newest) {
            *logits = reinterpret_cast<const float *>(queue.row(at - 1));
            return LW_OK;
        }
        at -= run.rows;
    }
    return fail(LW_WRONG_STATE, "no logits wait: give the generator a prompt first");
}

} // namespace

lw_status lw_generator_create(lw_stream *stream, const lw_generator_options *options, lw_generator **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    Setup setup{};
    if (lw_status status = read_options(options, &setup.options, "lw_generator_options")) return status;
    if (lw_status status = find_logits(*stream, setup)) return status;
    if (lw_status status = read_settings(setup)) return status;
    lw_generator measure{};
    const uint64_t bytes = lay_out(setup, nullptr, &measure);
    if (lw_status status = stream->model->budget.allows("a generator", bytes + stream->bytes +
                                                                           stream->model->own_stream_bytes))
        return status;
    Block block;
    if (!block.allocate(stream->model->allocator, bytes)) return no_memory("a generator", bytes);
    lw_generator *generator = new (block.data) lw_generator{};
    generator->stream = stream;
    ++stream->users;
    generator->bytes = lay_out(setup, block.data, generator);
    generator->output = setup.output;
    if (!runs_together(*stream)) generator->margin_scalar = find_scalar(*stream->model, margin_name);
    generator->margin = setup.options.likely_only ? logit_margin_of(setup.sampler) : any_word;
    if (generator->margin_scalar && !in_range(*generator->margin_scalar, generator->margin))
        generator->margin = generator->margin_scalar->high();
    generator->window = setup.window;
    generator->log_probabilities = setup.options.log_probabilities != 0;
    generator->n_stops = static_cast<uint32_t>(setup.options.n_stops);
    generator->room = setup.room;
    copy_lists(setup.options, *generator);
    *out = generator;
    return LW_OK;
}

void lw_generator_destroy(lw_generator *generator) {
    if (!generator) return;
    lw_stream *stream = generator->stream;
    Block block{reinterpret_cast<uint8_t *>(generator), generator->bytes};
    block.release(stream->model->allocator);
    lw_stream_destroy(stream);
}

lw_status lw_generator_prompt(lw_generator *generator, const int32_t *ids, size_t n) {
    if (!generator || (n > 0 && !ids)) return fail(LW_INVALID_ARGUMENT, "generator or ids is NULL");
    if (n == 0) return fail(LW_INVALID_ARGUMENT, "the prompt is empty: give at least one id");
    const uint32_t vocabulary = input_of(*generator->stream).vocabulary();
    if (lw_status status = check_ids("place ", ids, n, vocabulary)) return status;
    const OwnRows rows(*generator);
    if (lw_status status = lw_stream_prefill(generator->stream, ids, n)) return status;
    if (generator->room > 0) remember(*generator, ids, n);
    generator->first = generator->count;
    return LW_OK;
}

void longwave::runtime::begin_rows(lw_generator &generator) {
    if (!generator.margin_scalar) return;
    generator.margin_of_stream = read_scalar(*generator.stream, *generator.margin_scalar, ScalarNumber::next);
    write_next(*generator.stream, *generator.margin_scalar, generator.margin);
}

void longwave::runtime::end_rows(lw_generator &generator) {
    if (generator.margin_scalar)
        write_next(*generator.stream, *generator.margin_scalar, generator.margin_of_stream);
}

lw_status longwave::runtime::choose_next(lw_generator &generator, lw_generator_token &token) {
    lw_stream &stream = *generator.stream;
    look_for_stops(generator, token);
    if (token.stop) return without_detail(LW_END);
    const float *logits = nullptr;
    if (lw_status status = newest_logits(stream, generator.output, &logits)) return status;
    if (!has_choices(generator, logits))
        return fail(LW_WRONG_STATE,
                    "the newest logits lack words that these options could choose: keep the old "
                    "options, or read at least one id first");
    uint64_t bad;
    if (count_non_finite(reinterpret_cast<const uint8_t *>(logits), input_of(stream).vocabulary(), 1, 0,
                         &bad))
        return fail(LW_NOT_FINITE, {"after ", stream.state->ticks,
                                    " ids a logit is not finite: reset the generator or load a state"});
    Sampler &sampler = generator.sampler;
    sampler.begin(logits);
    const uint64_t known = kept(generator);
    for (uint64_t i = 0; i < generator.window && i < known; ++i) sampler.seen(newest(generator, i));
    token.position = stream.state->ticks;
    token.id = sampler.choose(token.position);
    if (generator.log_probabilities) token.log_probability = sampler.log_probability(token.id);
    stream.queue.clear();
    return lw_stream_push(&stream, &token.id, 1, nullptr);
}

void longwave::runtime::remember_next(lw_generator &generator, lw_generator_token &token) {
    if (generator.room > 0) remember(generator, &token.id, 1);
    look_for_stops(generator, token);
}

lw_status lw_generator_next(lw_generator *generator, lw_generator_token *out) {
    if (!generator || !out || out->struct_size < sizeof(size_t))
        return fail(LW_INVALID_ARGUMENT, "generator or out is NULL, or struct_size is not set");
    lw_generator_token token{};
    const OwnRows rows(*generator);
    if (lw_status status = choose_next(*generator, token)) return status;
    remember_next(*generator, token);
    copy_sized(out, token);
    return LW_OK;
}

lw_status lw_generator_recent(const lw_generator *generator, int32_t *ids, size_t capacity, size_t *n) {
    if (!generator || !n || (capacity > 0 && !ids)) return fail(LW_INVALID_ARGUMENT, "an argument is NULL");
    const uint64_t all = written(*generator);
    *n = all < capacity ? static_cast<size_t>(all) : capacity;
    for (size_t i = 0; i < *n; ++i) ids[i] = newest(*generator, *n - 1 - i);
    return LW_OK;
}

lw_status lw_generator_reset(lw_generator *generator) {
    if (!generator) return fail(LW_INVALID_ARGUMENT, "generator is NULL");
    generator->count = generator->first = 0;
    return lw_stream_reset(generator->stream);
}
