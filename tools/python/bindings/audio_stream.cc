// longwave.AudioStream: audio in, audio out.
#include "longwave/audio_stream.h"
#include "bindings.h"
#include <cstring>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace longwave::python {
namespace {

using namespace nb::literals;

// Samples that were pulled, in the stream's format.
class Heard {
public:
    explicit Heard(size_t sample_bytes) : sample_bytes_(sample_bytes) {}

    void pull_all(lw_audio_stream *stream) {
        for (;;) {
            constexpr size_t piece = 4096;
            const size_t before = bytes_.size();
            bytes_.resize(before + piece * sample_bytes_);
            size_t n = 0;
            const lw_status status = lw_audio_stream_pull(stream, bytes_.data() + before, piece, &n);
            bytes_.resize(before + n * sample_bytes_);
            if (status == LW_AGAIN || status == LW_END) return;
            check(status);
        }
    }
    uint8_t *place(size_t samples) {
        bytes_.resize(samples * sample_bytes_);
        return bytes_.data();
    }
    nb::object array() const {
        return sample_bytes_ == sizeof(float) ? array_of<float>() : array_of<int16_t>();
    }

private:
    template <class T> nb::object array_of() const {
        auto *const own = new T[bytes_.size() / sizeof(T)];
        if (!bytes_.empty()) std::memcpy(own, bytes_.data(), bytes_.size());
        const nb::capsule owner(own, [](void *p) noexcept { delete[] static_cast<T *>(p); });
        const size_t shape[] = {bytes_.size() / sizeof(T)};
        return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(own, 1, shape, owner));
    }

    size_t sample_bytes_;
    std::vector<uint8_t> bytes_;
};

class AudioStream {
public:
    AudioStream(const Model &model, const std::string &format, bool live, uint32_t rate_in, uint32_t rate_out,
                uint32_t block, const std::optional<std::string> &output)
        : input_(input_info(model.get(), 0)), format_(format_named(format)),
          stream_(create(model, live, rate_in, rate_out, block, output), lw_audio_stream_destroy,
                  model.share(), "the audio stream") {}

    nb::object push(nb::handle audio) {
        const Samples in = taken(audio);
        Heard heard(sample_bytes());
        stream_.use([&](lw_audio_stream *s) { push_all(s, in, heard); });
        return heard.array();
    }
    nb::object finish() {
        Heard heard(sample_bytes());
        stream_.use([&](lw_audio_stream *s) {
            check(lw_audio_stream_finish(s));
            heard.pull_all(s);
        });
        return heard.array();
    }
    nb::object process(nb::handle audio) {
        const Samples in = taken(audio);
        Heard heard(sample_bytes());
        uint8_t none[sizeof(float)]; // the addresses of no samples
        uint8_t *const to = in.ticks ? heard.place(in.ticks) : none;
        stream_.use([&](lw_audio_stream *s) {
            check(lw_audio_stream_process(s, in.ticks ? in.data : none, to, in.ticks));
        });
        return heard.array();
    }
    nb::object apply(nb::handle audio) {
        const Samples in = taken(audio);
        Heard heard(sample_bytes());
        stream_.use([&](lw_audio_stream *s) {
            check(lw_audio_stream_reset(s));
            push_all(s, in, heard);
            check(lw_audio_stream_finish(s));
            heard.pull_all(s);
            check(lw_audio_stream_reset(s));
        });
        return heard.array();
    }
    void reset() {
        stream_.use([](lw_audio_stream *s) { check(lw_audio_stream_reset(s)); });
    }
    void set(const std::string &scalar, float value) {
        stream_.use([&](lw_audio_stream *s) { check(lw_audio_stream_set(s, scalar.c_str(), value)); });
    }
    lw_audio_stream_info info() {
        return stream_.use([](lw_audio_stream *s) {
            auto info = make<lw_audio_stream_info>();
            check(lw_audio_stream_get_info(s, &info));
            return info;
        });
    }
    void close() { stream_.close(); }

private:
    size_t sample_bytes() const { return format_ == LW_S16 ? sizeof(int16_t) : sizeof(float); }
    Samples taken(nb::handle values) const {
        Samples in = samples(values, input_);
        if (in.format != format_)
            throw nb::type_error(
                format_ == LW_S16
                    ? "this audio stream takes int16 audio; make it with format=\"float32\" for floats"
                    : "this audio stream takes float32 audio; make it with format=\"int16\"");
        return in;
    }
    lw_audio_stream *create(const Model &model, bool live, uint32_t rate_in, uint32_t rate_out,
                            uint32_t block, const std::optional<std::string> &output) const {
        auto options = make<lw_audio_stream_options>();
        options.format = format_;
        options.live = live;
        options.rate_in = rate_in;
        options.rate_out = rate_out;
        options.block = block;
        options.output = output ? output->c_str() : nullptr;
        lw_audio_stream *stream = nullptr;
        check(lw_audio_stream_create(model.get(), &options, &stream));
        return stream;
    }
    void push_all(lw_audio_stream *s, const Samples &in, Heard &heard) const {
        for (size_t at = 0; at < in.ticks;) {
            size_t done = 0;
            check(lw_audio_stream_push(s, static_cast<const uint8_t *>(in.data) + at * sample_bytes(),
                                       in.ticks - at, &done));
            at += done;
            heard.pull_all(s);
        }
    }

    lw_input_info input_;
    lw_sample_format format_;
    Owned<lw_audio_stream> stream_;
};

} // namespace

void bind_audio_stream(nb::module_ &module) {
    nb::class_<AudioStream>(
        module, "AudioStream",
        "Audio in, audio out: a denoiser or a filter. One thread at a time may use it.\n\n"
        "format: of the samples, \"float32\" (default) or \"int16\". live: zeros come first, so that n "
        "samples bring n. "
        "rate_in, rate_out: of pushed and of returned samples; 0: those of the model. block: of the stream. "
        "output: of "
        "the model; None: the only one of audio.")
        .def(nb::init<const Model &, const std::string &, bool, uint32_t, uint32_t, uint32_t,
                      const std::optional<std::string> &>(),
             "model"_a, nb::kw_only(), "format"_a = "float32", "live"_a = false, "rate_in"_a = 0,
             "rate_out"_a = 0, "block"_a = 0, "output"_a = nb::none(),
             nb::sig("def __init__(self, model: Model, *, format: str = 'float32', live: bool = False, "
                     "rate_in: int = 0, "
                     "rate_out: int = 0, block: int = 0, output: str | None = None) -> None"))
        .def("push", &AudioStream::push, "audio"_a,
             nb::sig("def push(self, audio: numpy.typing.ArrayLike) -> numpy.typing.NDArray[typing.Any]"),
             "Takes audio [samples], float32 or int16 as the stream was made. Returns the samples that are "
             "ready, in the "
             "same type.\n\nRaises TypeError for the other type, WrongStateError after finish.")
        .def("finish", &AudioStream::finish, nb::sig("def finish(self) -> numpy.typing.NDArray[typing.Any]"),
             "Ends the audio. Returns the last samples: in all as many as were pushed, at equal rates.")
        .def("process", &AudioStream::process, "audio"_a,
             nb::sig("def process(self, audio: numpy.typing.ArrayLike) -> numpy.typing.NDArray[typing.Any]"),
             "n samples for n samples, late by `latency`. Only with live=True and equal rates.")
        .def("apply", &AudioStream::apply, "audio"_a,
             nb::sig("def apply(self, audio: numpy.typing.ArrayLike) -> numpy.typing.NDArray[typing.Any]"),
             "All samples of a complete recording. Begins and ends as new.")
        .def("reset", &AudioStream::reset, "Makes the audio stream as new.")
        .def("set", &AudioStream::set, "scalar"_a, "value"_a,
             "Sets a scalar of the model (`Model.info[\"scalars\"]`). It holds from the next block on.")
        .def_prop_ro(
            "latency", [](AudioStream &s) { return s.info().latency; },
            "Samples by which a live output is late.")
        .def_prop_ro(
            "rate_in", [](AudioStream &s) { return s.info().rate_in; },
            "Samples per second that `push` expects.")
        .def_prop_ro(
            "rate_out", [](AudioStream &s) { return s.info().rate_out; }, "Samples per second that come out.")
        .def_prop_ro(
            "non_finite", [](AudioStream &s) { return s.info().non_finite; },
            "Inputs that were NaN, infinite or too large: they count as 0.")
        .def_prop_ro(
            "resets", [](AudioStream &s) { return s.info().resets; },
            "How often the stream was reset because of a row that was not finite.")
        .def("close", &AudioStream::close, "Frees the audio stream. Later calls raise WrongStateError.")
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> AudioStream"))
        .def(
            "__exit__", [](AudioStream &self, nb::args) { self.close(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace longwave::python
