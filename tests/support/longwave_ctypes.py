"""liblongwave from Python with nothing but ctypes: enough of the C API to run a model whole and as a stream.

The library is found beside this tree (build/liblongwave.so) or in $LONGWAVE_LIBRARY.
"""

import ctypes as c
import os
import pathlib

_default = pathlib.Path(__file__).resolve().parents[2] / "build" / "liblongwave.so"
_lib = c.CDLL(os.environ.get("LONGWAVE_LIBRARY", str(_default)))
_lib.lw_status_text.restype = _lib.lw_last_error.restype = _lib.lw_model_label.restype = c.c_char_p
AGAIN, END, F32, I32, TOKENS = 1, 2, 1, 3, 3


class _Sized(c.Structure):
    """A struct of the API: the first field is its own size."""

    def __init__(self, **fields):
        super().__init__(struct_size=c.sizeof(self), **fields)


def _struct(name, *groups):  # each: a type, and the names of the fields that have it
    fields = [(field, kind) for kind, names in groups for field in names.split()]
    return type(name, (_Sized,), {"_fields_": [("struct_size", c.c_size_t), *fields]})


_text, _pointer, _int, _u32, _u64, _size = c.c_char_p, c.c_void_p, c.c_int, c.c_uint32, c.c_uint64, c.c_size_t
OpenOptions = _struct(
    "OpenOptions",
    (_int, "allow_unsigned_code"),
    (_text, "variant"),
    (_pointer, "allocator"),
    (_int, "map_weights"),
    (_u64, "memory_limit"),
    (_pointer, "check_signature signature_context"),
)
EntryInfo = _struct("EntryInfo", (_u32, "block delay period"), (_u64, "calls cache_bytes moved_bytes rebuild_calls"))
Info = _struct(
    "Info",
    (_text, "name producer variant"),
    (_u32, "inputs labels run_outputs stream_outputs"),
    (_int, "has_run has_stream"),
    (_u32, "run_capacity stream_block stream_delay"),
    (_u64, "stream_state_bytes stream_memory_bytes run_memory_bytes derived_bytes artifact_bytes"),
    (_text, "report certificates"),
    (_u32, "stream_entries state_fields"),
)
InputInfo = _struct("InputInfo", (_text, "name"), (_int, "kind"), (_u32, "width sample_rate vocabulary"))
OutputInfo = _struct("OutputInfo", (_text, "name"), (_u32, "width clock_num clock_den delay sample_rate lag whole"))
StreamOptions = _struct("StreamOptions", (_int, "format"), (_u32, "queue block"))
RunOptions = _struct("RunOptions", (_int, "format"), (_u32, "threads"))
Output = _struct("Output", (_u32, "index width"), (c.POINTER(c.c_float), "data"), (_u64, "row end"))
Tensor = _struct("Tensor", (_pointer, "data"), (_size, "rows length"))


class Error(Exception): ...


def _check(status, *fine):
    if status != 0 and status not in fine:
        raise Error(f"{_lib.lw_status_text(status).decode()}: {_lib.lw_last_error().decode()}")
    return status


class Model:
    def __init__(self, path, allow_unsigned_code=True):
        self.handle, self.info, self.input, self.streams = c.c_void_p(), Info(), InputInfo(), 0
        options = OpenOptions(allow_unsigned_code=allow_unsigned_code)
        _check(_lib.lw_model_open(os.fsencode(path), c.byref(options), c.byref(self.handle)))
        _check(_lib.lw_model_get_info(self.handle, c.byref(self.info)))
        _check(_lib.lw_model_input(self.handle, 0, c.byref(self.input)))
        self.ids = self.input.kind == TOKENS
        self.run_outputs = self._outputs(_lib.lw_model_run_output, self.info.run_outputs)
        self.stream_outputs = self._outputs(_lib.lw_model_stream_output, self.info.stream_outputs)

    def _outputs(self, ask, n):
        outputs = [OutputInfo() for _ in range(n)]
        for i, output in enumerate(outputs):
            _check(ask(self.handle, i, c.byref(output)))
        return outputs

    def array(self, values):  # ticks of `width` values each
        width = self.input.width
        if len(values) % width:
            raise ValueError(f"{len(values)} values are no whole number of ticks: a tick has {width}")
        return ((c.c_int32 if self.ids else c.c_float) * len(values))(*values)

    def blocks(self):  # of each stream entry; the first is the default
        entries = [EntryInfo() for _ in range(self.info.stream_entries)]
        for i, entry in enumerate(entries):
            _check(_lib.lw_model_stream_entry(self.handle, i, c.byref(entry)))
        return [entry.block for entry in entries]

    def open_handle(self):
        if not self.handle:
            raise ValueError("the model is closed")
        return self.handle

    def run(self, values, threads=1):
        """One whole sequence of the only input; a list of values for each output, row after row."""
        handle, capacity = self.open_handle(), self.info.run_capacity
        data, runner = self.array(values), c.c_void_p()
        room = [(c.c_float * (output.width * capacity))() for output in self.run_outputs]
        given = Tensor(data=c.addressof(data), rows=len(values) // self.input.width)
        taken = (Tensor * len(room))(*[Tensor(data=c.addressof(r), rows=capacity) for r in room])
        _check(_lib.lw_runner_create(handle, c.byref(RunOptions(format=F32, threads=threads)), c.byref(runner)))
        status = _lib.lw_run(runner, c.byref(given), c.c_size_t(1), taken, c.c_size_t(len(room)))
        _lib.lw_runner_destroy(runner)
        _check(status)
        return [list(r[: t.rows * output.width]) for r, t, output in zip(room, taken, self.run_outputs)]

    def close(self):
        """After the streams of the model are closed. A second time it does nothing."""
        if self.handle and self.streams:
            raise ValueError(f"close its {self.streams} streams first")
        _lib.lw_model_close(self.handle)
        self.handle = c.c_void_p()
        self.info, self.run_outputs, self.stream_outputs = Info(), [], []  # they point into the model
        self.input.name = None


class Stream:
    def __init__(self, model, block=0):
        self.model, self.handle = model, c.c_void_p()
        options = StreamOptions(format=I32 if model.ids else F32, block=block)
        _check(_lib.lw_stream_create(model.open_handle(), c.byref(options), c.byref(self.handle)))
        model.streams += 1

    def push(self, values):  # yields the rows that come out: (output, row number, values)
        data, width, done = self.model.array(values), self.model.input.width, 0
        while done < len(values):
            taken = c.c_size_t()
            at, left = c.c_void_p(c.addressof(data) + 4 * done), c.c_size_t((len(values) - done) // width)
            _check(_lib.lw_stream_push(self.handle, at, left, c.byref(taken)))
            done += taken.value * width
            yield from self._pull()

    def finish(self):
        _check(_lib.lw_stream_finish(self.handle))
        yield from self._pull()

    def _pull(self):
        out = Output()
        while _check(_lib.lw_stream_pull(self.handle, c.byref(out)), AGAIN, END) == 0:
            yield out.index, out.row, out.data[: out.width]

    def close(self):
        """A second time it does nothing. Every other call afterwards is refused by the library."""
        self.model.streams -= bool(self.handle)
        _lib.lw_stream_destroy(self.handle)
        self.handle = c.c_void_p()
