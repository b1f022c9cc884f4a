// longwave.Stream: push, pull, state.
#include "stream.h"
#include <nanobind/stl/string.h>

namespace longwave::python {

using namespace nb::literals;

void bind_stream(nb::module_ &module) {
    nb::class_<Row>(module, "Row", "One output row of a stream.")
        .def_ro("output", &Row::output, "Index of the stream output.")
        .def_ro("number", &Row::number, "Number of the row of this output, from 0.")
        .def_ro("end", &Row::end, "Input ticks that the row needed.")
        .def_ro("data", &Row::data, "The values: float32 [width], a copy.",
                nb::for_getter(nb::sig("def data(self) -> numpy.typing.NDArray[numpy.float32]")));
    nb::class_<Stream>(
        module, "Stream",
        "The state of one stream. One thread at a time may use it; a second one gets WrongStateError.\n\n"
        "Iteration gives the rows that wait. Use `Model.stream`.")
        .def(nb::init<const Model &, uint32_t, uint32_t, const std::string &>(), "model"_a, "block"_a,
             "queue"_a, "format"_a)
        .def("push", &Stream::push, "values"_a,
             nb::sig("def push(self, values: numpy.typing.ArrayLike) -> int"),
             "Takes input: float32 [ticks, width], int16 [ticks] or int32 [ticks] without a copy.\n\n"
             "Returns the number of ticks taken: fewer than given if the queue of rows is full. Pull, then "
             "push the "
             "rest. Raises ValueError and TypeError for arrays that the input does not take.")
        .def("pull", &Stream::pull, nb::sig("def pull(self) -> Row | None"),
             "The next `Row`, or None if none waits.")
        .def(
            "process", &Stream::process, "values"_a, nb::kw_only(), "last"_a = false,
            nb::sig("def process(self, values: numpy.typing.ArrayLike, *, last: bool = False) -> typing.Any"),
            "Pushes all values and returns the rows that come out: float32 [rows, width], or a dict by "
            "output name.\n\n"
            "last: end the stream and return its last rows too.")
        .def("prefill", &Stream::prefill, "values"_a,
             nb::sig("def prefill(self, values: numpy.typing.ArrayLike) -> None"),
             "Reads input as fast as the model can, with the largest blocks that it has.")
        .def("finish", &Stream::finish, "Ends the input. The last rows can be pulled afterwards.")
        .def("reset", &Stream::reset, "Makes the stream as new.")
        .def("set", &Stream::set, "scalar"_a, "value"_a,
             "Sets a scalar of the model (`Model.info[\"scalars\"]`). It holds from the next block on.\n\n"
             "Raises InvalidArgumentError outside of its range, NotFoundError for an unknown name.")
        .def("get", &Stream::get, "scalar"_a, "The value of a scalar that the next block will have.")
        .def("copy_from", &Stream::copy, "other"_a, "Takes the state of another stream of the same model.")
        .def("save", &Stream::save, "The state as bytes.")
        .def("load", &Stream::load, "state"_a,
             "Continues from saved bytes. Raises BadStateError; nothing changes then.")
        .def("stats", &Stream::stats, nb::sig("def stats(self) -> dict[str, int]"),
             "Counters since creation or reset.")
        .def("close", &Stream::close, "Frees the stream. Later calls raise WrongStateError.")
        .def(
            "__iter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __iter__(self) -> Stream"))
        .def(
            "__next__",
            [](Stream &self) {
                nb::object row = self.pull();
                if (!row.is_none()) return row;
                PyErr_SetNone(PyExc_StopIteration); // a C++ exception would take 2 us
                return nb::object();
            },
            nb::sig("def __next__(self) -> Row"))
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> Stream"))
        .def(
            "__exit__", [](Stream &self, nb::args) { self.close(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace longwave::python
