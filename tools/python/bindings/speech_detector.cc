// longwave.SpeechDetector: audio in, segments of speech out.
#include "speech_detector.h"

namespace longwave::python {

using namespace nb::literals;

void bind_speech_detector(nb::module_ &module) {
    nb::class_<SpeechEvent>(module, "SpeechEvent", "What a speech detector found. Positions are samples.")
        .def_ro("kind", &SpeechEvent::kind,
                "\"began\" (provisional), \"dropped\" (it was too short), \"start\", \"end\" or \"row\".")
        .def_ro("start", &SpeechEvent::start, "First sample.")
        .def_ro("end", &SpeechEvent::end, "Behind the last sample; None for \"began\" and \"start\".",
                nb::for_getter(nb::sig("def end(self) -> int | None")))
        .def_ro("tick", &SpeechEvent::tick, "Samples that were needed to know it.")
        .def_ro("probability", &SpeechEvent::probability, "Of the row that decided.")
        .def_prop_ro(
            "start_seconds", [](const SpeechEvent &e) { return e.seconds(e.start); }, "`start` in seconds.")
        .def_prop_ro(
            "end_seconds",
            [](const SpeechEvent &e) {
                return e.end ? std::optional<double>(e.seconds(*e.end)) : std::nullopt;
            },
            "`end` in seconds.", nb::for_getter(nb::sig("def end_seconds(self) -> float | None")))
        .def("__repr__", [](const SpeechEvent &e) {
            return "SpeechEvent(kind='" + std::string(e.kind) + "', start=" + std::to_string(e.start) +
                   ", end=" + (e.end ? std::to_string(*e.end) : "None") + ")";
        });
    nb::class_<SpeechDetector>(
        module, "SpeechDetector",
        "Voice activity: push audio, get segments of speech. One thread at a time may use it.\n\n"
        "format: \"int16\" (default) or \"float32\". output: of the model, with one probability for every so "
        "many "
        "samples. The other settings are those of Silero's get_speech_timestamps. rows: each row is an event "
        "too.")
        .def(
            "__init__",
            [](SpeechDetector *self, const Model &model, const std::string &format, double threshold,
               std::optional<double> negative_threshold, double min_speech_ms, double min_silence_ms,
               double speech_pad_ms, double max_speech_s, double min_silence_at_max_ms,
               bool cut_at_last_silence, std::optional<std::string> output, bool rows, float gain_db,
               bool auto_gain) {
                new (self) SpeechDetector(model, format,
                                          {threshold, min_speech_ms, min_silence_ms, speech_pad_ms,
                                           max_speech_s, min_silence_at_max_ms, negative_threshold,
                                           cut_at_last_silence, rows, auto_gain, std::move(output), gain_db});
            },
            "model"_a, nb::kw_only(), "format"_a = "int16", "threshold"_a = 0.5,
            "negative_threshold"_a = nb::none(), "min_speech_ms"_a = 250.0, "min_silence_ms"_a = 100.0,
            "speech_pad_ms"_a = 30.0, "max_speech_s"_a = HUGE_VAL, "min_silence_at_max_ms"_a = 98.0,
            "cut_at_last_silence"_a = false, "output"_a = nb::none(), "rows"_a = false, "gain_db"_a = 0.0f,
            "auto_gain"_a = false,
            nb::sig("def __init__(self, model: Model, *, format: str = 'int16', threshold: float = 0.5, "
                    "negative_threshold: float | None = None, min_speech_ms: float = 250.0, "
                    "min_silence_ms: float = 100.0, speech_pad_ms: float = 30.0, max_speech_s: float = ..., "
                    "min_silence_at_max_ms: float = 98.0, cut_at_last_silence: bool = False, "
                    "output: str | None = None, rows: bool = False, gain_db: float = 0.0, "
                    "auto_gain: bool = False) -> None"))
        .def("push", &SpeechDetector::push, "audio"_a,
             nb::sig("def push(self, audio: numpy.typing.ArrayLike) -> list[SpeechEvent]"),
             "Takes audio [samples], int16 or float32 as the detector was made. Returns the events that it "
             "completes.\n\nRaises TypeError for the other type, WrongStateError after finish.")
        .def("finish", &SpeechDetector::finish, "Ends the audio. Returns the last events.")
        .def("segments", &SpeechDetector::segments, "audio"_a,
             nb::sig("def segments(self, audio: numpy.typing.ArrayLike) -> list[tuple[int, int]]"),
             "The segments (start, end) of a complete recording, in samples. Begins and ends as new.")
        .def("reset", &SpeechDetector::reset, "Makes the detector as new.")
        .def("save", &SpeechDetector::save, "What the detector has heard, as bytes.")
        .def("load", &SpeechDetector::load, "state"_a,
             "Continues from saved bytes. Raises BadStateError for those of another model.")
        .def_prop_ro("hop", &SpeechDetector::hop, "Samples per row of the probabilities.")
        .def_prop_ro("sample_rate", &SpeechDetector::sample_rate, "Samples per second that `push` expects.")
        .def("close", &SpeechDetector::close, "Frees the detector. Later calls raise WrongStateError.")
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> SpeechDetector"))
        .def(
            "__exit__", [](SpeechDetector &self, nb::args) { self.close(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace longwave::python
