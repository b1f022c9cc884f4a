// lw_speech_detector_*: a listener, and the rule on one of its outputs.
#include "runtime/vad/detector.h"
#include "formats/artifact/text.h"
#include "runtime/core/status.h"
#include "runtime/stream/state.h"
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

struct Setup {
    lw_speech_detector_options options;
    uint32_t output, sample_rate;
    SegmentRule rule;
    Gain gain;
    lw_stream_options stream;
    uint64_t own_bytes;
    size_t stream_bytes;
};

// Not inlined: a dozen copies of the message would be a kilobyte.
[[gnu::noinline]] lw_status invalid(const char *what) {
    return fail(LW_INVALID_ARGUMENT, {"lw_speech_detector_options: ", what});
}

// A row for each sample is audio.
bool gives_probabilities(const fb::OutputPort &port) {
    return port.width() == 1 && port.clock_num() == 1 && port.clock_den() > 1 && port.sample_rate() == 0;
}

lw_status find_output(const lw_model &model, const fb::Entry &stream, Setup &setup) {
    const char *const name = setup.options.output;
    const uint32_t outputs = stream.outputs()->size();
    uint32_t found = outputs;
    for (uint32_t i = 0; i < outputs; ++i) {
        const fb::OutputPort &port = *stream.outputs()->Get(i);
        if (name ? !artifact::equal(*port.name(), name) : !gives_probabilities(port)) continue;
        if (found < outputs)
            return fail(LW_NOT_FOUND, "several outputs have one value for every so many samples: set "
                                      "lw_speech_detector_options.output");
        found = i;
    }
    if (found == outputs) {
        if (name) return fail(LW_NOT_FOUND, {"the stream has no output ", name});
        return fail(LW_NOT_FOUND, {model.plan().name()->c_str(),
                                   " has no output with one value for every so many samples"});
    }
    const fb::OutputPort &port = *stream.outputs()->Get(found);
    if (!gives_probabilities(port))
        return fail(LW_NOT_FOUND,
                    {"output ", name, " has ", port.width(), " values per row and ", port.clock_num(),
                     " rows in ", port.clock_den(), " samples, not one value for every so many"});
    setup.output = found;
    setup.rule.hop = port.clock_den();
    return LW_OK;
}

// Samples of a time, which may be fractions. 0: the default. Negative: none.
bool read_time(double ms, double standard, const Setup &setup, double *samples) {
    if (!(ms < 3.6e6)) return false;
    *samples = ms < 0 ? 0 : static_cast<double>(setup.sample_rate) * (ms == 0 ? standard : ms) / 1000;
    return true;
}

lw_status read_rule(Setup &setup) {
    const lw_speech_detector_options &o = setup.options;
    SegmentRule &rule = setup.rule;
    if (!(o.threshold >= 0 && o.threshold <= 1)) return invalid("threshold is not in (0, 1]");
    rule.threshold = o.threshold == 0 ? 0.5 : o.threshold;
    if (!(o.negative_threshold >= 0 && o.negative_threshold <= rule.threshold))
        return invalid("negative_threshold is not in (0, threshold]");
    rule.negative = o.negative_threshold;
    if (rule.negative == 0) rule.negative = rule.threshold - 0.15 > 0.01 ? rule.threshold - 0.15 : 0.01;
    if (!read_time(o.min_speech_ms, 250, setup, &rule.min_speech) ||
        !read_time(o.min_silence_ms, 100, setup, &rule.min_silence) ||
        !read_time(o.speech_pad_ms, 30, setup, &rule.pad) ||
        !read_time(o.min_silence_at_max_ms, 98, setup, &rule.min_cut))
        return invalid("a time is not under an hour");
    rule.last_pause = o.cut_at_last_silence != 0;
    rule.max_speech = __builtin_inf();
    if (o.max_speech_s != 0) {
        if (!(o.max_speech_s > 0 && o.max_speech_s < 1e9)) return invalid("max_speech_s is not in 0 ... 1e9");
        rule.max_speech = static_cast<double>(setup.sample_rate) * o.max_speech_s -
                          static_cast<double>(rule.hop) - 2 * rule.pad;
        if (rule.max_speech < static_cast<double>(rule.hop))
            return invalid("max_speech_s is less than two rows and twice speech_pad_ms");
    }
    return LW_OK;
}

lw_status read(const lw_model *model, const lw_speech_detector_options *options, Setup *setup) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    // Samples of another format would be heard as noise, so there is no default.
    if (!options) return invalid("NULL; set the format of the samples: LW_S16 or LW_F32");
    if (lw_status status = read_options(options, &setup->options, "lw_speech_detector_options"))
        return status;
    const fb::Entry *stream;
    if (lw_status status = find_stream(*model, &stream)) return status;
    if (lw_status status = find_audio(*model, *stream, &setup->sample_rate)) return status;
    if (lw_status status = find_output(*model, *stream, *setup)) return status;
    lw_speech_detector_options &o = setup->options;
    if (lw_status status =
            read_settings({"lw_speech_detector_options", setup->sample_rate, o.block, o.gain_db, o.auto_gain},
                          &o.format, &setup->gain, &setup->stream))
        return status;
    if (lw_status status = read_rule(*setup)) return status;
    setup->own_bytes = to_line(sizeof(lw_speech_detector));
    size_t alignment;
    return lw_stream_size(model, &setup->stream, &setup->stream_bytes, &alignment);
}

// Hostile states count far. A position may be added to and subtracted from any other.
int64_t position(uint64_t samples) {
    return samples < uint64_t{1} << 60 ? static_cast<int64_t>(samples) : int64_t{1} << 60;
}

bool has_room(const DetectorState &state) {
    return state.count + speech_events_of_row <= waiting_speech_events;
}

void queue(DetectorState &state, const DetectorState::Event &event) {
    state.events[(state.head + state.count) % waiting_speech_events] = event;
    ++state.count;
}

void queue(DetectorState &state, const SpeechEvents &events) {
    for (uint32_t i = 0; i < events.n; ++i) {
        const SpeechEvent &e = events.list[i];
        queue(state, {static_cast<uint32_t>(e.kind), e.probability, e.start, e.end, e.tick});
    }
}

void hear_row(lw_speech_detector &detector, const lw_stream_row &row) {
    DetectorState &state = detector.state;
    const int64_t hop = detector.segments.rule().hop;
    const int64_t at = position(detector.listener.heard.before + row.row * static_cast<uint64_t>(hop));
    const int64_t end = at + hop < state.length ? at + hop : state.length;
    if (detector.rows) queue(state, {LW_SPEECH_ROW, row.data[0], at, end, end});
    SpeechEvents events;
    detector.segments.row(row.data[0], at, state.length, &events);
    queue(state, events);
}

// The audio has ended: zeros complete the last row, then the stream ends.
lw_status complete(lw_speech_detector &detector) {
    static const float zeros[64] = {}; // in any format
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    if (lw_status status = lw_stream_get_stats(detector.listener.stream, &stats)) return status;
    const uint64_t hop = detector.segments.rule().hop, left = (hop - stats.ticks % hop) % hop;
    if (left == 0) return lw_stream_finish(detector.listener.stream);
    size_t taken = 0;
    return push_piece(detector.listener, reinterpret_cast<const uint8_t *>(zeros),
                      left < 64 ? static_cast<size_t>(left) : 64, &taken);
}

// Turns waiting rows into events while events fit; *last is what pull said last.
lw_status decide(lw_speech_detector &detector, lw_status *last) {
    lw_stream_row row{};
    row.struct_size = sizeof row;
    DetectorState &state = detector.state;
    while (has_room(state)) {
        *last = pull_row(detector.listener, &row);
        if (*last == LW_OK) {
            hear_row(detector, row);
        } else if (*last == LW_AGAIN && state.length != open_end) {
            if (lw_status status = complete(detector)) return status;
        } else if (*last == LW_END && !state.ended) {
            SpeechEvents events;
            detector.segments.finish(state.length, &events);
            queue(state, events);
            state.ended = 1;
        } else break;
    }
    return *last == LW_OK || *last == LW_AGAIN || *last == LW_END ? LW_OK : *last;
}

} // namespace

lw_status lw_speech_detector_size(const lw_model *model, const lw_speech_detector_options *options,
                                  size_t *size, size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, "size or alignment is NULL");
    Setup setup{};
    if (lw_status status = read(model, options, &setup)) return status;
    *size = to_size(setup.own_bytes + setup.stream_bytes);
    *alignment = line;
    return LW_OK;
}

lw_status lw_speech_detector_init(const lw_model *model, const lw_speech_detector_options *options,
                                  void *memory, size_t size, lw_speech_detector **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    Setup setup{};
    if (lw_status status = read(model, options, &setup)) return status;
    if (lw_status status =
            check_memory("a speech detector", memory, size, setup.own_bytes + setup.stream_bytes))
        return status;
    lw_speech_detector *detector = new (memory) lw_speech_detector{};
    detector->model = model;
    detector->rows = setup.options.rows != 0;
    detector->segments.build(setup.rule);
    Listener &listener = detector->listener;
    listener.output = setup.output;
    listener.format = setup.options.format;
    listener.gain = setup.gain;
    begin(listener);
    if (lw_status status =
            lw_stream_init(model, &setup.stream, static_cast<uint8_t *>(memory) + setup.own_bytes,
                           setup.stream_bytes, &listener.stream))
        return status;
    *out = detector;
    return LW_OK;
}

lw_status lw_speech_detector_create(const lw_model *model, const lw_speech_detector_options *options,
                                    lw_speech_detector **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_speech_detector_size(model, options, &size, &alignment)) return status;
    return create_object(*model, "a speech detector", size, out, [=](void *memory) {
        return lw_speech_detector_init(model, options, memory, size, out);
    });
}

void lw_speech_detector_destroy(lw_speech_detector *detector) { destroy_object(detector); }

lw_status longwave::runtime::takes_input(const lw_speech_detector &detector) {
    const lw_stream &stream = *detector.listener.stream;
    if (stream.state->life != Life::open) return not_open(stream);
    return detector.state.length == open_end ? LW_OK
                                             : fail(LW_WRONG_STATE, "the speech detector is finished");
}

lw_status longwave::runtime::decide_until_full(lw_speech_detector &detector, bool *full) {
    lw_status last = LW_AGAIN;
    const lw_status status = decide(detector, &last);
    *full = !has_room(detector.state);
    return status;
}

lw_status lw_speech_detector_push(lw_speech_detector *detector, const void *samples, size_t n,
                                  size_t *taken) {
    size_t ignored;
    if (!taken) taken = &ignored;
    *taken = 0;
    if (!detector) return fail(LW_INVALID_ARGUMENT, "detector is NULL");
    if (lw_status status = takes_input(*detector)) return status;
    return push_all(detector->listener, samples, n, taken,
                    [detector](bool *full) { return decide_until_full(*detector, full); });
}

lw_status lw_speech_detector_pull(lw_speech_detector *detector, lw_speech_event *event) {
    if (!detector || !event || event->struct_size < sizeof(size_t))
        return fail(LW_INVALID_ARGUMENT, "detector or event is NULL, or struct_size is not set");
    DetectorState &state = detector->state;
    if (state.count == 0) { // rows may still wait behind what was a full list of events, or behind the end
        lw_status last = LW_AGAIN;
        if (lw_status status = decide(*detector, &last)) return status;
        if (state.count == 0) return last;
    }
    const DetectorState::Event &e = state.events[state.head];
    lw_speech_event now{};
    now.kind = static_cast<lw_speech_event_kind>(e.kind);
    now.probability = e.probability;
    now.start = e.start;
    now.end = e.end;
    now.tick = e.tick;
    state.head = (state.head + 1) % waiting_speech_events;
    --state.count;
    copy_sized(event, now);
    return LW_OK;
}

lw_status lw_speech_detector_finish(lw_speech_detector *detector) {
    if (!detector) return fail(LW_INVALID_ARGUMENT, "detector is NULL");
    if (lw_status status = takes_input(*detector)) return status;
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    if (lw_status status = lw_speech_detector_get_stats(detector, &stats)) return status;
    detector->state.length = position(stats.ticks);
    return LW_OK;
}

lw_status lw_speech_detector_reset(lw_speech_detector *detector) {
    if (!detector) return fail(LW_INVALID_ARGUMENT, "detector is NULL");
    detector->segments.reset();
    detector->state = DetectorState{};
    begin(detector->listener);
    return lw_stream_reset(detector->listener.stream);
}

uint32_t lw_speech_detector_hop(const lw_speech_detector *detector) {
    return detector ? detector->segments.rule().hop : 0;
}

float lw_speech_detector_gain(const lw_speech_detector *detector) {
    return detector ? detector->listener.gain.factor(detector->listener.heard.gain) : 0;
}

lw_status lw_speech_detector_get_stats(const lw_speech_detector *detector, lw_stream_stats *stats) {
    if (!detector) return fail(LW_INVALID_ARGUMENT, "detector is NULL");
    return stats_of(detector->listener, stats);
}
