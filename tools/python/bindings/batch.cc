// longwave.StreamBatch: blocks of many streams in one go.
#include "longwave/batch.h"
#include "speech_detector.h"
#include "stream.h"
#include <nanobind/stl/vector.h>
#include <set>

namespace longwave::python {

using namespace nb::literals;

class StreamBatch {
public:
    explicit StreamBatch(const Model &model)
        : batch_(create(model), lw_batch_destroy, model.share(), "the batch") {}

    std::vector<size_t> push(const std::vector<Stream *> &streams, const nb::sequence &values) {
        const size_t n = streams.size();
        if (nb::len(values) != n)
            throw nb::value_error(("expected values for " + std::to_string(n) + " streams, got " +
                                   std::to_string(nb::len(values)))
                                      .c_str());
        if (std::set<Stream *>(streams.begin(), streams.end()).size() != n)
            throw nb::value_error("a stream occurs twice");
        std::vector<Samples> in;
        std::vector<std::unique_lock<std::mutex>> locks;
        std::vector<lw_stream *> handles;
        std::vector<const void *> data;
        std::vector<size_t> ticks, taken(n);
        for (size_t i = 0; i < n; i++) in.push_back(streams[i]->taken(values[i]));
        for (size_t i = 0; i < n; i++) {
            locks.push_back(streams[i]->stream_.only_user());
            handles.push_back(streams[i]->stream_.get());
            data.push_back(in[i].data);
            ticks.push_back(in[i].ticks);
        }
        batch_.use([&](lw_batch *batch) {
            check(lw_batch_push(batch, handles.data(), n, data.data(), ticks.data(), taken.data()));
        });
        return taken;
    }
    // Pushes audio to each detector and returns the events that it completes, of each.
    std::vector<std::vector<SpeechEvent>>
    push_speech_detectors(const std::vector<SpeechDetector *> &detectors, const nb::sequence &values) {
        const size_t n = detectors.size();
        if (nb::len(values) != n)
            throw nb::value_error(("expected audio for " + std::to_string(n) + " speech detectors, got " +
                                   std::to_string(nb::len(values)))
                                      .c_str());
        if (std::set<SpeechDetector *>(detectors.begin(), detectors.end()).size() != n)
            throw nb::value_error("a speech detector occurs twice");
        std::vector<Samples> in;
        std::vector<std::unique_lock<std::mutex>> locks;
        std::vector<lw_speech_detector *> handles;
        std::vector<const void *> data;
        std::vector<size_t> left, taken(n);
        for (size_t i = 0; i < n; i++) in.push_back(detectors[i]->taken(values[i]));
        for (size_t i = 0; i < n; i++) {
            locks.push_back(detectors[i]->detector_.only_user());
            handles.push_back(detectors[i]->detector_.get());
            data.push_back(in[i].data);
            left.push_back(in[i].ticks);
        }
        std::vector<std::vector<SpeechEvent>> events(n);
        batch_.use([&](lw_batch *batch) {
            for (bool more = true; more;) { // again while events of one of them leave no room
                check(lw_batch_push_speech_detectors(batch, handles.data(), n, data.data(), left.data(),
                                                     taken.data()));
                more = false;
                for (size_t i = 0; i < n; i++) {
                    detectors[i]->pull(handles[i], events[i]);
                    const size_t sample = in[i].format == LW_S16 ? sizeof(int16_t) : sizeof(float);
                    data[i] = static_cast<const char *>(data[i]) + taken[i] * sample;
                    left[i] -= taken[i];
                    more = more || left[i] > 0;
                }
            }
        });
        return events;
    }
    uint32_t streams() {
        return batch_.use([](lw_batch *batch) { return lw_batch_streams(batch); });
    }
    void close() { batch_.close(); }

private:
    static lw_batch *create(const Model &model) {
        lw_batch *batch = nullptr;
        check(lw_batch_create(model.get(), &batch));
        return batch;
    }

    Owned<lw_batch> batch_;
};

void bind_batch(nb::module_ &module) {
    nb::class_<StreamBatch>(
        module, "StreamBatch",
        "Runs blocks of many streams of one model together. It holds no streams: each call names them.\n\n"
        "Every stream gets the bits that it would get by itself. A model compiled with `--streams N` reads "
        "its "
        "weights once for N streams. One thread at a time may use it. Raises UnsupportedError for models on "
        "a GPU.")
        .def(nb::init<const Model &>(), "model"_a)
        .def("push", &StreamBatch::push, "streams"_a, "values"_a,
             nb::sig("def push(self, streams: collections.abc.Sequence[Stream], values: "
                     "collections.abc.Sequence[numpy.typing.ArrayLike]) -> list[int]"),
             "Pushes values[i] to streams[i], as `Stream.push`. Returns the ticks that each stream took.")
        .def(
            "push_speech_detectors", &StreamBatch::push_speech_detectors, "detectors"_a, "audio"_a,
            nb::sig(
                "def push_speech_detectors(self, detectors: collections.abc.Sequence[SpeechDetector], audio: "
                "collections.abc.Sequence[numpy.typing.ArrayLike]) -> list[list[SpeechEvent]]"),
            "Pushes audio[i] to detectors[i], as `SpeechDetector.push`. Returns the events of each.")
        .def_prop_ro("streams", &StreamBatch::streams,
                     "Most streams that one kernel of the model serves; 1: they run one by one.")
        .def("close", &StreamBatch::close, "Frees the batch. Later calls raise WrongStateError.")
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> StreamBatch"))
        .def(
            "__exit__", [](StreamBatch &self, nb::args) { self.close(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace longwave::python
