// lw_spotter_*: a stream, and the decision rule on one of its outputs.
#include "runtime/kws/spotter.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/text.h"
#include "runtime/core/status.h"
#include "runtime/stream/state.h"
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

struct Setup {
    lw_spotter_options options;
    const fb::Decision *decision;
    const fb::OutputPort *port;
    uint32_t output, labels, sample_rate;
    double rows_per_ms;
    DecisionSettings settings;
    Gain gain;
    lw_stream_options stream;
    uint64_t own_bytes;
    size_t stream_bytes;
};

// Not inlined: a dozen copies of the message would be a kilobyte.
[[gnu::noinline]] lw_status invalid(const char *what) {
    return fail(LW_INVALID_ARGUMENT, {"lw_spotter_options: ", what});
}

// Rows of at least `ms`, at least `least`.
uint32_t rows_of(double ms, const Setup &setup, uint32_t least) {
    const double rows = ms * setup.rows_per_ms + 0.5;
    return rows < least ? least : rows > 1e6 ? 1000000 : static_cast<uint32_t>(rows);
}

lw_status find_output(const lw_model &model, Setup &setup) {
    const fb::Entry *stream;
    if (lw_status status = find_stream(model, &stream)) return status;
    setup.decision = model.plan().decision();
    if (!setup.decision || !setup.decision->output())
        return fail(LW_NOT_FOUND, {model.plan().name()->c_str(), " has no decision settings"});
    for (uint32_t i = 0; i < stream->outputs()->size(); ++i) {
        const fb::OutputPort &port = *stream->outputs()->Get(i);
        if (!artifact::equal(*port.name(), *setup.decision->output())) continue;
        setup.port = &port;
        setup.output = i;
        setup.labels = artifact::count(model.plan().labels());
        if (port.width() != setup.labels)
            return fail(LW_NOT_FOUND, {"output ", port.name()->c_str(), " has ", port.width(), " values for ",
                                       setup.labels, " labels"});
        if (lw_status status = find_audio(model, *stream, &setup.sample_rate)) return status;
        setup.rows_per_ms =
            static_cast<double>(setup.sample_rate) / 1000 * port.clock_num() / port.clock_den();
        return LW_OK;
    }
    return fail(LW_NOT_FOUND, {"the stream has no output ", setup.decision->output()->c_str()});
}

lw_status read_rule(Setup &setup) {
    const lw_spotter_options &o = setup.options;
    const fb::Decision &d = *setup.decision;
    if (!(o.threshold >= 0 && o.threshold <= 1)) return invalid("threshold is not in (0, 1]");
    if (!(o.release >= 0 && o.release <= 1)) return invalid("release is not in (0, 1]");
    if (!(o.smoothing_ms < 3.6e6f) || !(o.refractory_ms < 3.6e6f))
        return invalid("a time is not under an hour");
    if (o.min_count > 1000000) return invalid("min_count is more than 1000000");
    if (o.n_words > 0 && !o.words) return invalid("words is NULL");
    const float smoothing = o.smoothing_ms != 0 ? o.smoothing_ms : d.smoothing_ms(),
                refractory = o.refractory_ms != 0 ? o.refractory_ms : d.refractory_ms();
    setup.settings.labels = setup.labels;
    setup.settings.window = rows_of(double{smoothing}, setup, 1);
    setup.settings.refractory = rows_of(double{refractory}, setup, 0);
    setup.settings.min_count = o.min_count ? o.min_count : d.min_count() ? d.min_count() : 1;
    setup.settings.release = o.release > 0 ? o.release : d.release();
    return LW_OK;
}

lw_status fill_thresholds(const lw_model &model, const Setup &setup, float *thresholds) {
    const fb::Decision &d = *setup.decision;
    for (uint32_t i = 0; i < setup.labels; ++i)
        thresholds[i] = setup.options.threshold > 0 ? setup.options.threshold : d.default_threshold();
    if (setup.options.threshold == 0)
        for (uint32_t i = 0; i < artifact::count(d.thresholds()); ++i)
            thresholds[d.thresholds()->Get(i)->label()] = d.thresholds()->Get(i)->value();
    for (size_t w = 0; w < setup.options.n_words; ++w) {
        const lw_word_threshold &word = setup.options.words[w];
        if (!word.word || !(word.threshold > 0))
            return invalid("a word is NULL or its threshold is not above 0");
        uint32_t label = 0;
        while (label < setup.labels && !artifact::equal(*model.plan().labels()->Get(label), word.word))
            ++label;
        if (label == setup.labels) return fail(LW_NOT_FOUND, {"no label ", word.word});
        thresholds[label] = word.threshold;
    }
    for (uint32_t i = 0; i < artifact::count(d.ignore()); ++i)
        thresholds[d.ignore()->Get(i)] = 2; // above any probability
    return LW_OK;
}

// What lies before the stream.
uint64_t lay_out(const Setup &setup, uint8_t *memory, lw_spotter *spotter) {
    Parts parts(memory);
    parts.take<lw_spotter>(1);
    spotter->decision.build(setup.settings, parts);
    return parts.used();
}

lw_status read(const lw_model *model, const lw_spotter_options *options, Setup *setup) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    // Samples of another format would be heard as noise, so there is no default.
    if (!options) return invalid("NULL; set the format of the samples: LW_S16 or LW_F32");
    if (lw_status status = read_options(options, &setup->options, "lw_spotter_options")) return status;
    if (lw_status status = find_output(*model, *setup)) return status;
    lw_spotter_options &o = setup->options;
    if (lw_status status =
            read_settings({"lw_spotter_options", setup->sample_rate, o.block, o.gain_db, o.auto_gain},
                          &o.format, &setup->gain, &setup->stream))
        return status;
    if (lw_status status = read_rule(*setup)) return status;
    lw_spotter measure{};
    setup->own_bytes = lay_out(*setup, nullptr, &measure);
    size_t alignment;
    return lw_stream_size(model, &setup->stream, &setup->stream_bytes, &alignment);
}

// Turns waiting rows into events while events fit; *last is what pull said last.
lw_status decide(lw_spotter &spotter, lw_status *last) {
    lw_stream_row out{};
    out.struct_size = sizeof out;
    SpotterState &state = spotter.state;
    const Heard &heard = spotter.listener.heard;
    const uint64_t resets = heard.resets;
    while (state.count < waiting_events && (*last = pull_row(spotter.listener, &out)) == LW_OK) {
        Detection detection;
        if (!spotter.decision.row(out.data, &detection)) continue;
        state.events[(state.head + state.count) % waiting_events] = {detection, heard.before};
        ++state.count;
    }
    if (heard.resets != resets) spotter.decision.reset();
    return *last == LW_OK || *last == LW_AGAIN || *last == LW_END ? LW_OK : *last;
}

} // namespace

lw_status longwave::runtime::takes_input(const lw_spotter &spotter) {
    const lw_stream &stream = *spotter.listener.stream;
    return stream.state->life == Life::open ? LW_OK : not_open(stream);
}

lw_status longwave::runtime::decide_until_full(lw_spotter &spotter, bool *full) {
    lw_status last = LW_AGAIN;
    const lw_status status = decide(spotter, &last);
    *full = spotter.state.count == waiting_events;
    return status;
}

lw_status lw_spotter_size(const lw_model *model, const lw_spotter_options *options, size_t *size,
                          size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, "size or alignment is NULL");
    Setup setup{};
    if (lw_status status = read(model, options, &setup)) return status;
    *size = to_size(setup.own_bytes + setup.stream_bytes);
    *alignment = line;
    return LW_OK;
}

lw_status lw_spotter_init(const lw_model *model, const lw_spotter_options *options, void *memory, size_t size,
                          lw_spotter **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    Setup setup{};
    if (lw_status status = read(model, options, &setup)) return status;
    if (lw_status status = check_memory("a spotter", memory, size, setup.own_bytes + setup.stream_bytes))
        return status;
    lw_spotter *spotter = new (memory) lw_spotter{};
    spotter->model = model;
    lay_out(setup, static_cast<uint8_t *>(memory), spotter);
    spotter->clock_num = setup.port->clock_num();
    spotter->clock_den = setup.port->clock_den();
    Listener &listener = spotter->listener;
    listener.output = setup.output;
    listener.format = setup.options.format;
    listener.gain = setup.gain;
    begin(listener);
    if (lw_status status = fill_thresholds(*model, setup, spotter->decision.thresholds())) return status;
    if (lw_status status =
            lw_stream_init(model, &setup.stream, static_cast<uint8_t *>(memory) + setup.own_bytes,
                           setup.stream_bytes, &listener.stream))
        return status;
    *out = spotter;
    return LW_OK;
}

lw_status lw_spotter_create(const lw_model *model, const lw_spotter_options *options, lw_spotter **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_spotter_size(model, options, &size, &alignment)) return status;
    return create_object(*model, "a spotter", size, out,
                         [=](void *memory) { return lw_spotter_init(model, options, memory, size, out); });
}

void lw_spotter_destroy(lw_spotter *spotter) { destroy_object(spotter); }

lw_status lw_spotter_push(lw_spotter *spotter, const void *samples, size_t n, size_t *taken) {
    size_t ignored;
    if (!taken) taken = &ignored;
    *taken = 0;
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    return push_all(spotter->listener, samples, n, taken,
                    [spotter](bool *full) { return decide_until_full(*spotter, full); });
}

lw_status lw_spotter_pull(lw_spotter *spotter, lw_spotter_event *event) {
    if (!spotter || !event || event->struct_size < sizeof(size_t))
        return fail(LW_INVALID_ARGUMENT, "spotter or event is NULL, or struct_size is not set");
    SpotterState &state = spotter->state;
    if (state.count == 0) { // rows may still wait behind what was a full list of events, or behind the end
        lw_status last = LW_AGAIN;
        if (lw_status status = decide(*spotter, &last)) return status;
        if (state.count == 0) return last;
    }
    const auto &[detection, before] = state.events[state.head];
    lw_spotter_event now{};
    now.label = detection.label;
    now.word = lw_model_label(spotter->model, detection.label);
    now.score = detection.score;
    now.row = before * spotter->clock_num / spotter->clock_den + detection.row;
    now.tick = before + (detection.row + 1) * spotter->clock_den / spotter->clock_num;
    now.tick_start = before + detection.first_row * spotter->clock_den / spotter->clock_num;
    state.head = (state.head + 1) % waiting_events;
    --state.count;
    copy_sized(event, now);
    return LW_OK;
}

lw_status lw_spotter_finish(lw_spotter *spotter) {
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    return lw_stream_finish(spotter->listener.stream);
}

lw_status lw_spotter_reset(lw_spotter *spotter) {
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    spotter->decision.reset();
    spotter->state = SpotterState{};
    begin(spotter->listener);
    return lw_stream_reset(spotter->listener.stream);
}

lw_status lw_spotter_scores(const lw_spotter *spotter, const float **scores, uint32_t *n) {
    if (!spotter || !scores || !n) return fail(LW_INVALID_ARGUMENT, "an argument is NULL");
    *scores = spotter->decision.averages();
    *n = spotter->decision.settings().labels;
    return LW_OK;
}

float lw_spotter_threshold(const lw_spotter *spotter, uint32_t label) {
    if (!spotter || label >= spotter->decision.settings().labels) return 0;
    const float threshold = spotter->decision.thresholds()[label];
    return threshold > 1 ? 0 : threshold;
}

float lw_spotter_gain(const lw_spotter *spotter) {
    return spotter ? spotter->listener.gain.factor(spotter->listener.heard.gain) : 0;
}

lw_status lw_spotter_get_stats(const lw_spotter *spotter, lw_stream_stats *stats) {
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    return stats_of(spotter->listener, stats);
}
