// The class longwave.SpeechDetector, for its own binding and for that of longwave.StreamBatch.
#pragma once
#include "bindings.h"
#include "longwave/speech_detector.h"
#include <cmath>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace longwave::python {

struct SpeechEvent {
    const char *kind;
    int64_t start;
    std::optional<int64_t> end;
    int64_t tick;
    float probability;
    uint32_t rate;

    double seconds(int64_t samples) const { return rate ? static_cast<double>(samples) / rate : 0; }
};

inline const char *name_of(lw_speech_event_kind kind) {
    switch (kind) {
    case LW_SPEECH_BEGAN: return "began";
    case LW_SPEECH_DROPPED: return "dropped";
    case LW_SPEECH_START: return "start";
    case LW_SPEECH_END: return "end";
    default: return "row";
    }
}

struct Settings {
    double threshold, min_speech_ms, min_silence_ms, speech_pad_ms, max_speech_s, min_silence_at_max_ms;
    std::optional<double> negative_threshold;
    bool cut_at_last_silence, rows, auto_gain;
    std::optional<std::string> output;
    float gain_db;
};

// In the library 0 is the default, and a negative time is none.
inline double time(const char *name, double value) {
    if (!(value >= 0)) throw nb::value_error((std::string(name) + " is negative or NaN").c_str());
    return value == 0 ? -1 : value;
}

inline double probability(const char *name, double value) {
    if (!(value > 0 && value <= 1)) throw nb::value_error((std::string(name) + " is not in (0, 1]").c_str());
    return value;
}

class SpeechDetector {
    friend class StreamBatch;

public:
    SpeechDetector(const Model &model, const std::string &format, const Settings &settings)
        : input_(input_info(model.get(), 0)), format_(format_named(format)),
          detector_(create(model, settings), lw_speech_detector_destroy, model.share(),
                    "the speech detector") {}

    // Pushes audio and returns the events that it completes.
    std::vector<SpeechEvent> push(nb::handle values) {
        const Samples in = taken(values);
        std::vector<SpeechEvent> events;
        detector_.use([&](lw_speech_detector *d) { push_all(d, in, events); });
        return events;
    }
    std::vector<SpeechEvent> finish() {
        std::vector<SpeechEvent> events;
        detector_.use([&](lw_speech_detector *d) {
            check(lw_speech_detector_finish(d));
            pull(d, events);
        });
        return events;
    }
    // Of a complete recording.
    std::vector<std::pair<int64_t, int64_t>> segments(nb::handle values) {
        reset();
        std::vector<SpeechEvent> events = push(values);
        for (const SpeechEvent &event : finish()) events.push_back(event);
        reset();
        std::vector<std::pair<int64_t, int64_t>> found;
        for (const SpeechEvent &event : events)
            if (event.kind == std::string("end")) found.emplace_back(event.start, *event.end);
        return found;
    }
    void reset() {
        detector_.use([](lw_speech_detector *d) { check(lw_speech_detector_reset(d)); });
    }
    nb::bytes save() {
        const std::string bytes = detector_.use([](lw_speech_detector *d) {
            return saved(
                [d](void *to, size_t room, size_t *n) { return lw_speech_detector_save(d, to, room, n); });
        });
        return nb::bytes(bytes.data(), bytes.size());
    }
    void load(const nb::bytes &state) {
        detector_.use(
            [&](lw_speech_detector *d) { check(lw_speech_detector_load(d, state.data(), state.size())); });
    }
    uint32_t hop() {
        return detector_.use([](lw_speech_detector *d) { return lw_speech_detector_hop(d); });
    }
    uint32_t sample_rate() const { return input_.sample_rate; }
    void close() { detector_.close(); }

private:
    Samples taken(nb::handle values) const {
        Samples in = samples(values, input_);
        if (in.format != format_)
            throw nb::type_error(
                format_ == LW_S16
                    ? "this speech detector takes int16 audio; make it with format=\"float32\" for floats"
                    : "this speech detector takes float32 audio; make it with format=\"int16\"");
        return in;
    }
    lw_speech_detector *create(const Model &model, const Settings &s) const {
        auto options = make<lw_speech_detector_options>();
        options.format = format_;
        options.output = s.output ? s.output->c_str() : nullptr;
        options.threshold = probability("threshold", s.threshold);
        if (s.negative_threshold)
            options.negative_threshold = probability("negative_threshold", *s.negative_threshold);
        options.min_speech_ms = time("min_speech_ms", s.min_speech_ms);
        options.min_silence_ms = time("min_silence_ms", s.min_silence_ms);
        options.speech_pad_ms = time("speech_pad_ms", s.speech_pad_ms);
        options.min_silence_at_max_ms = time("min_silence_at_max_ms", s.min_silence_at_max_ms);
        if (!std::isinf(s.max_speech_s)) options.max_speech_s = time("max_speech_s", s.max_speech_s);
        options.cut_at_last_silence = s.cut_at_last_silence;
        options.rows = s.rows;
        options.gain_db = s.gain_db;
        options.auto_gain = s.auto_gain;
        lw_speech_detector *detector = nullptr;
        check(lw_speech_detector_create(model.get(), &options, &detector));
        return detector;
    }
    void push_all(lw_speech_detector *d, const Samples &in, std::vector<SpeechEvent> &events) const {
        const size_t sample = format_ == LW_S16 ? sizeof(int16_t) : sizeof(float);
        for (size_t at = 0; at < in.ticks;) {
            size_t done = 0;
            check(lw_speech_detector_push(d, static_cast<const char *>(in.data) + at * sample, in.ticks - at,
                                          &done));
            at += done;
            pull(d, events);
        }
    }
    void pull(lw_speech_detector *d, std::vector<SpeechEvent> &events) const {
        for (;;) {
            auto event = make<lw_speech_event>();
            const lw_status status = lw_speech_detector_pull(d, &event);
            if (status == LW_AGAIN || status == LW_END) return;
            check(status);
            events.push_back({name_of(event.kind), event.start,
                              event.end < 0 ? std::nullopt : std::optional<int64_t>(event.end), event.tick,
                              event.probability, input_.sample_rate});
        }
    }

    lw_input_info input_;
    lw_sample_format format_;
    Owned<lw_speech_detector> detector_;
};

} // namespace longwave::python
