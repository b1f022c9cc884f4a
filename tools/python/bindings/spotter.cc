// longwave.Spotter: audio in, words out.
#include "longwave/spotter.h"
#include "bindings.h"
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace longwave::python {

using namespace nb::literals;

namespace {

struct Event {
    std::string word;
    float score;
    uint64_t tick, tick_start;
    double seconds;
};

using Gain = std::variant<float, std::string>; // in decibels, or "auto"

class Spotter {
public:
    Spotter(const Model &model, const std::string &format, float threshold,
            const std::map<std::string, float> &words, const Gain &gain)
        : input_(input_info(model.get(), 0)), format_(format_named(format)),
          spotter_(create(model, threshold, words, gain), lw_spotter_destroy, model.share(), "the spotter") {}

    // Pushes audio and returns the events that it completes.
    std::vector<Event> push(nb::handle values) {
        const Samples in = samples(values, input_);
        if (in.format != format_)
            throw nb::type_error(
                format_ == LW_S16
                    ? "this spotter takes int16 audio; make it with format=\"float32\" for floats"
                    : "this spotter takes float32 audio; make it with format=\"int16\"");
        const size_t sample = format_ == LW_S16 ? sizeof(int16_t) : sizeof(float);
        std::vector<Event> events;
        spotter_.use([&](lw_spotter *s) {
            for (size_t at = 0; at < in.ticks;) {
                size_t done = 0;
                check(lw_spotter_push(s, static_cast<const char *>(in.data) + at * sample, in.ticks - at,
                                      &done));
                at += done;
                pull(s, events);
            }
        });
        return events;
    }
    std::vector<Event> finish() {
        std::vector<Event> events;
        spotter_.use([&](lw_spotter *s) {
            check(lw_spotter_finish(s));
            pull(s, events);
        });
        return events;
    }
    void reset() {
        spotter_.use([](lw_spotter *s) { check(lw_spotter_reset(s)); });
    }
    // The averaged score of each label.
    std::vector<float> scores() {
        return spotter_.use([](lw_spotter *s) {
            const float *values = nullptr;
            uint32_t n = 0;
            check(lw_spotter_scores(s, &values, &n));
            return std::vector<float>(values, values + n);
        });
    }
    // The factor that samples are multiplied with now.
    float gain() {
        return spotter_.use([](lw_spotter *s) { return lw_spotter_gain(s); });
    }
    void close() { spotter_.close(); }

private:
    lw_spotter *create(const Model &model, float threshold, const std::map<std::string, float> &words,
                       const Gain &gain) const {
        std::vector<lw_word_threshold> list;
        for (const auto &[word, at] : words) list.push_back({word.c_str(), at});
        auto options = make<lw_spotter_options>();
        options.format = format_;
        options.threshold = threshold;
        options.words = list.data();
        options.n_words = list.size();
        if (const std::string *name = std::get_if<std::string>(&gain)) {
            if (*name != "auto")
                throw nb::value_error(
                    ("gain \"" + *name + "\": expected decibels from -60 to 60, or \"auto\"").c_str());
            options.auto_gain = 1;
        } else {
            options.gain_db = std::get<float>(gain);
        }
        lw_spotter *spotter = nullptr;
        check(lw_spotter_create(model.get(), &options, &spotter));
        return spotter;
    }
    void pull(lw_spotter *s, std::vector<Event> &events) const {
        for (;;) {
            auto event = make<lw_spotter_event>();
            const lw_status status = lw_spotter_pull(s, &event);
            if (status == LW_AGAIN || status == LW_END) return;
            check(status);
            events.push_back({event.word, event.score, event.tick, event.tick_start,
                              input_.sample_rate ? double(event.tick) / input_.sample_rate : 0});
        }
    }

    lw_input_info input_;
    lw_sample_format format_;
    Owned<lw_spotter> spotter_;
};

} // namespace

void bind_spotter(nb::module_ &module) {
    nb::class_<Event>(module, "Event", "A word that was heard.")
        .def_ro("word", &Event::word)
        .def_ro("score", &Event::score, "The averaged score that fired.")
        .def_ro("tick", &Event::tick, "Samples heard when it fired.")
        .def_ro("tick_start", &Event::tick_start, "Sample where the score began to rise.")
        .def_ro("seconds", &Event::seconds, "`tick` in seconds.")
        .def("__repr__", [](const Event &e) {
            return "Event(word='" + e.word + "', score=" + std::to_string(e.score) +
                   ", seconds=" + std::to_string(e.seconds) + ")";
        });
    nb::class_<Spotter>(
        module, "Spotter",
        "Keyword spotting: push audio, get events. One thread at a time may use it.\n\n"
        "format: \"int16\" (default) or \"float32\". threshold: of every word; 0 keeps the model's. "
        "words: thresholds by word. gain: amplifies the audio by so many decibels, -60 to 60, or \"auto\", "
        "which follows the level of the sounds slowly, between -12 and 30 dB.")
        .def(nb::init<const Model &, const std::string &, float, const std::map<std::string, float> &,
                      const Gain &>(),
             "model"_a, nb::kw_only(), "format"_a = "int16", "threshold"_a = 0.0f,
             "words"_a = std::map<std::string, float>(), "gain"_a = 0.0f)
        .def("push", &Spotter::push, "audio"_a,
             nb::sig("def push(self, audio: numpy.typing.ArrayLike) -> list[Event]"),
             "Takes audio [samples], int16 or float32 as the spotter was made. Returns the events that it "
             "completes.\n\nRaises TypeError for the other type, WrongStateError after finish.")
        .def("finish", &Spotter::finish, "Ends the audio. Returns the last events.")
        .def("reset", &Spotter::reset, "Makes the spotter as new.")
        .def("scores", &Spotter::scores, "The averaged score of each label after the last push.")
        .def("gain", &Spotter::gain, "The factor that samples are multiplied with now.")
        .def("close", &Spotter::close, "Frees the spotter. Later calls raise WrongStateError.")
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> Spotter"))
        .def(
            "__exit__", [](Spotter &self, nb::args) { self.close(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace longwave::python
