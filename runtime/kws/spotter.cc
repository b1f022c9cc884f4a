// lw_spotter_*: a stream, and the decision rule on one of its outputs.
#include "runtime/kws/spotter.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/text.h"
#include "runtime/core/model.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/state.h"
#include <cstring>
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
    const fb::Entry *stream = model.view.stream();
    if (!stream) return fail(LW_NO_STREAM, {model.plan().name()->c_str(), " was compiled without a stream"});
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
        const fb::Input &input = *model.plan().inputs()->Get(stream->inputs()->Get(0)->input());
        if (input.kind() != fb::InputKind::audio)
            return fail(LW_NOT_FOUND, "the model does not listen to audio");
        setup.sample_rate = input.sample_rate();
        setup.rows_per_ms =
            static_cast<double>(input.sample_rate()) / 1000 * port.clock_num() / port.clock_den();
        return LW_OK;
    }
    return fail(LW_NOT_FOUND, {"the stream has no output ", setup.decision->output()->c_str()});
}

lw_status read_settings(Setup &setup) {
    const lw_spotter_options &o = setup.options;
    const fb::Decision &d = *setup.decision;
    if (!(o.threshold >= 0 && o.threshold <= 1)) return invalid("threshold is not in (0, 1]");
    if (!(o.release >= 0 && o.release <= 1)) return invalid("release is not in (0, 1]");
    if (!(o.smoothing_ms < 3.6e6f) || !(o.refractory_ms < 3.6e6f))
        return invalid("a time is not under an hour");
    if (o.min_count > 1000000) return invalid("min_count is more than 1000000");
    const bool automatic = o.auto_gain != 0;
    if (!(o.gain_db >= (automatic ? Gain::least_auto_db : Gain::least_db) &&
          o.gain_db <= (automatic ? Gain::most_auto_db : Gain::most_db)))
        return invalid(automatic ? "gain_db is not in -12 ... 30" : "gain_db is not in -60 ... 60");
    if (o.n_words > 0 && !o.words) return invalid("words is NULL");
    const float smoothing = o.smoothing_ms != 0 ? o.smoothing_ms : d.smoothing_ms(),
                refractory = o.refractory_ms != 0 ? o.refractory_ms : d.refractory_ms();
    setup.settings.labels = setup.labels;
    setup.settings.window = rows_of(double{smoothing}, setup, 1);
    setup.settings.refractory = rows_of(double{refractory}, setup, 0);
    setup.settings.min_count = o.min_count ? o.min_count : d.min_count() ? d.min_count() : 1;
    setup.settings.release = o.release > 0 ? o.release : d.release();
    setup.gain.build(setup.sample_rate, o.gain_db, automatic);
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
    if (!read_options(options, &setup->options)) return invalid("struct_size is not set");
    if (lw_status status = find_output(*model, *setup)) return status;
    if (lw_status status = read_format("lw_spotter_options", fb::InputKind::audio, &setup->options.format))
        return status;
    if (lw_status status = read_settings(*setup)) return status;
    setup->stream.struct_size = sizeof setup->stream;
    setup->stream.format = setup->options.format;
    setup->stream.block = setup->options.block;
    if (setup->gain.active() && format_fits(setup->options.format, fb::InputKind::audio)) setup->stream.format = LW_F32;
    lw_spotter measure{};
    setup->own_bytes = lay_out(*setup, nullptr, &measure);
    size_t alignment;
    return lw_stream_size(model, &setup->stream, &setup->stream_bytes, &alignment);
}

// Starts anew with a stream whose scores are no longer finite, but for the count of what came
// before.
void recover(lw_spotter &spotter) {
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    lw_stream_get_stats(spotter.stream, &stats);
    SpotterState &state = spotter.state;
    state.before += stats.ticks;
    state.blocks += stats.blocks;
    state.non_finite += stats.non_finite;
    state.non_finite_outputs += stats.non_finite_outputs;
    ++state.resets;
    clear(*spotter.stream);
    spotter.decision.reset();
    state.deaf = false;
}

// At most n samples with their gain, to the stream; *taken: how many. Not inlined: a spotter without
// gain needs no stack for it, and microcontrollers have little.
[[gnu::noinline]] lw_status push_amplified(lw_spotter &spotter, const uint8_t *from, size_t n, size_t *taken) {
    constexpr size_t most = 64;
    float plain[most], amplified[most];
    GainState &state = spotter.state.gain;
    const uint64_t step = spotter.gain.samples_of_step(state);
    if (n > step) n = static_cast<size_t>(step);
    if (n > most) n = most;
    if (spotter.format == LW_F32) memcpy(plain, from, n * sizeof *plain); // the stream counts NaN
    else convert({from, spotter.format, n, 1, 1}, reinterpret_cast<uint8_t *>(plain), sizeof *plain);
    const float factor = spotter.gain.factor(state);
    for (size_t i = 0; i < n; ++i) amplified[i] = plain[i] * factor;
    if (lw_status status = lw_stream_push(spotter.stream, amplified, n, taken)) return status;
    spotter.gain.heard(plain, *taken, state);
    return LW_OK;
}

} // namespace

lw_status longwave::runtime::decide(lw_spotter &spotter, lw_status *last) {
    lw_stream_row out{};
    out.struct_size = sizeof out;
    SpotterState &state = spotter.state;
    while (state.count < waiting_events && (*last = lw_stream_pull(spotter.stream, &out)) == LW_OK) {
        if (out.index != spotter.output) continue;
        uint64_t bad = 0;
        state.deaf |=
            count_non_finite(reinterpret_cast<const uint8_t *>(out.data), out.width, 1, 0, &bad) > 0;
        Detection detection;
        if (state.deaf || !spotter.decision.row(out.data, &detection)) continue;
        state.events[(state.head + state.count) % waiting_events] = {detection, state.before};
        ++state.count;
    }
    if (*last == LW_AGAIN && state.deaf)
        recover(spotter); // at the end of the audio there is nothing left to hear
    return *last == LW_OK || *last == LW_AGAIN || *last == LW_END ? LW_OK : *last;
}

lw_status longwave::runtime::push_piece(lw_spotter &spotter, const uint8_t *from, size_t n, size_t *taken) {
    const uint64_t to_block = ticks_to_block(*spotter.stream);
    const size_t piece = n < to_block ? n : static_cast<size_t>(to_block);
    return from && spotter.gain.active() ? push_amplified(spotter, from, piece, taken)
                                         : lw_stream_push(spotter.stream, from, piece, taken);
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
    if (!memory || reinterpret_cast<uintptr_t>(memory) % line != 0)
        return fail(LW_INVALID_ARGUMENT, {"memory is NULL or not aligned to ", uint64_t(line)});
    const uint64_t needed = setup.own_bytes + setup.stream_bytes;
    if (size < needed)
        return fail(LW_TOO_SMALL, {"a spotter needs ", needed, " bytes, given ", uint64_t(size)});
    lw_spotter *spotter = new (memory) lw_spotter{};
    spotter->model = model;
    lay_out(setup, static_cast<uint8_t *>(memory), spotter);
    spotter->output = setup.output;
    spotter->clock_num = setup.port->clock_num();
    spotter->clock_den = setup.port->clock_den();
    spotter->format = setup.options.format;
    spotter->gain = setup.gain;
    spotter->state.gain = setup.gain.begin();
    if (lw_status status = fill_thresholds(*model, setup, spotter->decision.thresholds())) return status;
    if (lw_status status = lw_stream_init(model, &setup.stream, static_cast<uint8_t *>(memory) + setup.own_bytes,
                                          setup.stream_bytes, &spotter->stream))
        return status;
    *out = spotter;
    return LW_OK;
}

lw_status lw_spotter_create(const lw_model *model, const lw_spotter_options *options, lw_spotter **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_spotter_size(model, options, &size, &alignment)) return status;
    if (lw_status status = model->budget.allows("a spotter", size + model->own_stream_bytes)) return status;
    Block block;
    if (!block.allocate(model->allocator, size))
        return fail(LW_NO_MEMORY, {"no memory for a spotter: ", uint64_t(size), " bytes"});
    if (lw_status status = lw_spotter_init(model, options, block.data, size, out)) {
        block.release(model->allocator);
        return status;
    }
    (*out)->owned_bytes = size;
    return LW_OK;
}

void lw_spotter_destroy(lw_spotter *spotter) {
    if (!spotter) return;
    const lw_allocator allocator = spotter->model->allocator; // the stream may be the model's last user
    Block block{reinterpret_cast<uint8_t *>(spotter), spotter->owned_bytes};
    lw_stream_destroy(spotter->stream);
    if (block.size > 0) block.release(allocator);
}

lw_status lw_spotter_push(lw_spotter *spotter, const void *samples, size_t n, size_t *taken) {
    size_t ignored;
    if (!taken) taken = &ignored;
    *taken = 0;
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    const uint8_t *from = static_cast<const uint8_t *>(samples);
    lw_status last = LW_AGAIN;
    do {
        if (lw_status status = decide(*spotter, &last)) return status;
        if (spotter->state.count == waiting_events) return LW_OK;
        size_t now = 0;
        const uint8_t *at = from ? from + *taken * sample_bytes(spotter->format) : from;
        if (lw_status status = push_piece(*spotter, at, n - *taken, &now)) return status;
        *taken += now;
    } while (*taken < n);
    return decide(*spotter, &last);
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
    return lw_stream_finish(spotter->stream);
}

lw_status lw_spotter_reset(lw_spotter *spotter) {
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    spotter->decision.reset();
    spotter->state = SpotterState{};
    spotter->state.gain = spotter->gain.begin();
    return lw_stream_reset(spotter->stream);
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
    return spotter ? spotter->gain.factor(spotter->state.gain) : 0;
}

lw_status lw_spotter_get_stats(const lw_spotter *spotter, lw_stream_stats *stats) {
    if (!spotter) return fail(LW_INVALID_ARGUMENT, "spotter is NULL");
    lw_stream_stats now{};
    now.struct_size = sizeof now;
    if (lw_status status = lw_stream_get_stats(spotter->stream, &now)) return status;
    const SpotterState &past = spotter->state;
    now.ticks += past.before;
    now.blocks += past.blocks;
    now.non_finite += past.non_finite;
    now.non_finite_outputs += past.non_finite_outputs;
    now.resets = past.resets;
    return copy_sized(stats, now) ? LW_OK
                                  : fail(LW_INVALID_ARGUMENT, "stats is NULL or its struct_size is not set");
}
