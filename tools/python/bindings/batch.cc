// longwave.StreamBatch: blocks of many streams in one go.
#include "longwave/batch.h"
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
        "Every stream gets the bits that it would get by itself. A model compiled with `--streams N` reads its "
        "weights once for N streams. One thread at a time may use it. Raises UnsupportedError for models on a GPU.")
        .def(nb::init<const Model &>(), "model"_a)
        .def("push", &StreamBatch::push, "streams"_a, "values"_a,
             nb::sig("def push(self, streams: collections.abc.Sequence[Stream], values: "
                     "collections.abc.Sequence[numpy.typing.ArrayLike]) -> list[int]"),
             "Pushes values[i] to streams[i], as `Stream.push`. Returns the ticks that each stream took.")
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
