"""liblongwave from Python with nothing but ctypes: enough of the C API to run a model whole and as a stream.

The library is found beside this tree (build/liblongwave.so) or in $LONGWAVE_LIBRARY.
"""
import ctypes as c
import os
import pathlib

_default = pathlib.Path(__file__).resolve().parents[2] / "build" / "liblongwave.so"
_lib = c.CDLL(os.environ.get("LONGWAVE_LIBRARY", str(_default)))
_lib.lw_status_text.restype = _lib.lw_last_error.restype = _lib.lw_model_label.restype = c.c_char_p
AGAIN, END, F32, I32, TOKENS = 1, 2, 0, 2, 2


class _Sized(c.Structure):
    """A struct of the API: the first field is its own size."""

    def __init__(self, **fields):
        super().__init__(struct_size=c.sizeof(self), **fields)


def _struct(name, *fields):
    return type(name, (_Sized,), {"_fields_": [("struct_size", c.c_size_t), *fields]})


OpenOptions = _struct("OpenOptions", ("allow_unsigned_code", c.c_int), ("variant", c.c_char_p), ("allocator", c.c_void_p), ("map_weights", c.c_int),
                      ("memory_limit", c.c_uint64), ("check_signature", c.c_void_p), ("signature_context", c.c_void_p))
Info = _struct("Info", ("name", c.c_char_p), ("producer", c.c_char_p), ("variant", c.c_char_p), ("inputs", c.c_uint32), ("labels", c.c_uint32),
               ("run_outputs", c.c_uint32), ("stream_outputs", c.c_uint32), ("has_run", c.c_int), ("has_stream", c.c_int), ("run_capacity", c.c_uint32),
               ("stream_block", c.c_uint32), ("stream_delay", c.c_uint32), ("stream_state_bytes", c.c_uint64), ("stream_memory_bytes", c.c_uint64),
               ("run_memory_bytes", c.c_uint64), ("derived_bytes", c.c_uint64), ("artifact_bytes", c.c_uint64), ("report", c.c_char_p),
               ("certificates", c.c_char_p))
InputInfo = _struct("InputInfo", ("name", c.c_char_p), ("kind", c.c_int), ("width", c.c_uint32), ("sample_rate", c.c_uint32), ("vocabulary", c.c_uint32))
OutputInfo = _struct("OutputInfo", ("name", c.c_char_p), ("width", c.c_uint32), ("clock_num", c.c_uint32), ("clock_den", c.c_uint32))
StreamOptions = _struct("StreamOptions", ("format", c.c_int), ("queue", c.c_uint32))
Output = _struct("Output", ("index", c.c_uint32), ("width", c.c_uint32), ("data", c.POINTER(c.c_float)), ("row", c.c_uint64), ("end", c.c_uint64))
Tensor = _struct("Tensor", ("data", c.c_void_p), ("rows", c.c_size_t), ("length", c.c_size_t))


class Error(Exception):
    pass


def _check(status, *fine):
    if status != 0 and status not in fine:
        raise Error(f"{_lib.lw_status_text(status).decode()}: {_lib.lw_last_error().decode()}")
    return status


class Model:
    def __init__(self, path, allow_unsigned_code=True):
        self.handle, self.info, self.input = c.c_void_p(), Info(), InputInfo()
        _check(_lib.lw_model_open(os.fsencode(path), c.byref(OpenOptions(allow_unsigned_code=allow_unsigned_code)), c.byref(self.handle)))
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

    def array(self, values):
        return ((c.c_int32 if self.ids else c.c_float) * len(values))(*values)

    def run(self, values):
        """One whole sequence of the only input; a list of values for each output, row after row."""
        capacity, data, runner = self.info.run_capacity, self.array(values), c.c_void_p()
        room = [(c.c_float * (output.width * capacity))() for output in self.run_outputs]
        given = Tensor(data=c.addressof(data), rows=len(values) // self.input.width)
        taken = (Tensor * len(room))(*[Tensor(data=c.addressof(r), rows=capacity) for r in room])
        _check(_lib.lw_runner_create(self.handle, None, c.byref(runner)))
        status = _lib.lw_run(runner, c.byref(given), c.c_size_t(1), taken, c.c_size_t(len(room)))
        _lib.lw_runner_destroy(runner)
        _check(status)
        return [list(r[:t.rows * output.width]) for r, t, output in zip(room, taken, self.run_outputs)]

    def close(self):
        _lib.lw_model_close(self.handle)


class Stream:
    def __init__(self, model):
        self.model, self.handle = model, c.c_void_p()
        _check(_lib.lw_stream_create(model.handle, c.byref(StreamOptions(format=I32 if model.ids else F32)), c.byref(self.handle)))

    def push(self, values):
        """Pushes values and yields the rows that come out: (output, row number, values)."""
        data, width, done = self.model.array(values), self.model.input.width, 0
        while done < len(values):
            taken = c.c_size_t()
            _check(_lib.lw_stream_push(self.handle, c.c_void_p(c.addressof(data) + 4 * done), c.c_size_t((len(values) - done) // width), c.byref(taken)))
            done += taken.value * width
            yield from self._pull()

    def finish(self):
        _check(_lib.lw_stream_finish(self.handle))
        yield from self._pull()

    def _pull(self):
        out = Output()
        while _check(_lib.lw_stream_pull(self.handle, c.byref(out)), AGAIN, END) == 0:
            yield out.index, out.row, out.data[:out.width]

    def close(self):
        _lib.lw_stream_destroy(self.handle)
