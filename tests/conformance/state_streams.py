"""Streams of compiled models through the C API, on the CPU or on a Vulkan device, and small causal models of each family: for tests of saved states.

The libraries lie in the build folder of the program under test.
"""

import ctypes as c
import os
import pathlib
import subprocess
import sys

import families
import sc10_package

BLOCKS = [16, 4]
WIDTH = 8
SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"


def strided():
    """A convolution that gives one row for four ticks, then one over its rows: histories with a slower clock and rows that wait for the next."""
    weights = families.Weights()
    weights.normal("first.weight", [12, WIDTH, 5], 0.2)
    weights.normal("first.bias", [12], 0.1)
    weights.normal("second.weight", [WIDTH, 12, 3], 0.2)
    weights.normal("second.bias", [WIDTH], 0.1)
    layers = [
        {"type": "conv1d", "name": "first", "out_channels": 12, "kernel": 5, "stride": 4},
        {"type": "gelu", "name": "act"},
        {"type": "conv1d", "name": "second", "out_channels": WIDTH, "kernel": 3},
    ]
    return families.model("strided", WIDTH, layers), weights.tensors


FAMILIES = {
    "sgconv": lambda: families.sgconv(WIDTH, 2, l_max=100),
    "chela": lambda: families.chela(WIDTH, 2, taps=60),
    "lightnet": lambda: families.lightnet(WIDTH, 1, heads=2, short_conv=3),
    "orchid": lambda: families.orchid(WIDTH, 32),
    "strided": strided,
}


def library(longwave: pathlib.Path):
    """The C API of the build that `longwave` belongs to."""
    os.environ["LONGWAVE_LIBRARY"] = str(longwave.resolve().parent / "liblongwave.so")
    sys.path.insert(0, str(SUPPORT))
    import longwave_ctypes

    return longwave_ctypes


def first_device(longwave: pathlib.Path):
    """The first Vulkan device, or None."""
    listed = subprocess.run([longwave, "devices", "--json"], capture_output=True, text=True).stdout
    return Device(longwave) if '"vulkan' in listed else None


class Device:
    """The first Vulkan device."""

    def __init__(self, longwave: pathlib.Path):
        self.vulkan, self.handle = c.CDLL(str(longwave.resolve().parent / "liblongwave-vulkan.so")), c.c_void_p()
        assert self.vulkan.lw_vulkan_open(None, c.byref(self.handle)) == 0

    def close(self):
        self.vulkan.lw_vulkan_close(self.handle)


class Model:
    def __init__(self, api, path, device=None):
        self.api, self.lib = api, api._lib
        options = api._struct(
            "OpenOptions",
            (c.c_int, "allow_unsigned_code"),
            (c.c_char_p, "variant"),
            (c.c_void_p, "allocator"),
            (c.c_int, "map_weights"),
            (c.c_uint64, "memory_limit"),
            (c.c_void_p, "check_signature signature_context device"),
        )
        self.handle = c.c_void_p()
        self.check(
            self.lib.lw_model_open(
                os.fsencode(path),
                c.byref(options(allow_unsigned_code=True, device=device.handle if device else None)),
                c.byref(self.handle),
            )
        )

    def check(self, status):
        if status != 0:
            raise self.api.Error(f"{self.lib.lw_status_text(status).decode()}: {self.lib.lw_last_error().decode()}")

    def close(self):
        self.lib.lw_model_close(self.handle)


class Stream:
    def __init__(self, model, block=0):
        self.model, self.api, self.lib, self.handle = model, model.api, model.lib, c.c_void_p()
        options = self.api.StreamOptions(format=self.api.F32, queue=1024, block=block)
        model.check(self.lib.lw_stream_create(model.handle, c.byref(options), c.byref(self.handle)))

    def push(self, values, width=WIDTH):
        """The rows that come out, as (row number, values)."""
        data, taken = (c.c_float * len(values))(*values), c.c_size_t()
        self.model.check(self.lib.lw_stream_push(self.handle, data, c.c_size_t(len(values) // width), c.byref(taken)))
        assert taken.value == len(values) // width
        out, rows = self.api.Output(), []
        while self.lib.lw_stream_pull(self.handle, c.byref(out)) == 0:
            rows.append((out.row, out.data[: out.width]))
        return rows

    def save(self) -> bytes:
        n = c.c_size_t()
        self.model.check(self.lib.lw_stream_save(self.handle, None, c.c_size_t(0), c.byref(n)))
        room = c.create_string_buffer(n.value)
        self.model.check(self.lib.lw_stream_save(self.handle, room, n, c.byref(n)))
        return room.raw

    def load(self, state: bytes):
        self.model.check(self.lib.lw_stream_load(self.handle, state, c.c_size_t(len(state))))

    def close(self):
        self.lib.lw_stream_destroy(self.handle)


def largest_error(rows, expected) -> float:
    """Relative to the peak of what is expected."""
    assert [n for n, _ in rows] == [n for n, _ in expected], "the rows have other numbers"
    peak = max(abs(x) for _, row in expected for x in row)
    return (
        max((abs(a - b) for (_, row), (_, other) in zip(rows, expected) for a, b in zip(row, other)), default=0.0)
        / peak
    )


def write(folder: pathlib.Path, family: str) -> pathlib.Path:
    package = folder / f"state_{family}"
    sc10_package.write(package, *FAMILIES[family]())
    return package
