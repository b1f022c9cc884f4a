"""A host for LV2 plug-ins without a sound card: lv2apply, and plug-ins that are called here."""

import array
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess


def missing():
    if not shutil.which("lv2apply") or subprocess.run(["pkg-config", "--exists", "lv2"]).returncode:
        return "LV2 is missing; install lv2-dev and lilv-utils"
    return ""


def write_wav(path, samples, channels, rate):
    data, size = samples.tobytes(), 4 * channels
    path.write_bytes(
        b"RIFF"
        + struct.pack("<I", 36 + len(data))
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 3, channels, rate, size * rate, size, 32)
        + b"data"
        + struct.pack("<I", len(data))
        + data
    )


def read_wav(path):
    data = path.read_bytes()
    assert struct.unpack_from("<H", data, data.index(b"fmt ") + 8)[0] in (3, 0xFFFE), "float samples"
    at = data.index(b"data")
    (size,) = struct.unpack_from("<I", data, at + 4)
    return array.array("f", data[at + 8 : at + 8 + size])


class Descriptor(ctypes.Structure):
    """LV2_Descriptor of lv2.h."""

    _fields_ = [
        ("uri", ctypes.c_char_p),
        (
            "instantiate",
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_char_p, ctypes.c_void_p),
        ),
        ("connect_port", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)),
        ("activate", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("run", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)),
        ("deactivate", ctypes.c_void_p),
        ("cleanup", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("extension_data", ctypes.c_void_p),
    ]


def load(path):
    """The descriptor of the only plug-in of a library, and the library, which must stay."""
    library = ctypes.CDLL(str(path))
    library.lv2_descriptor.restype = ctypes.POINTER(Descriptor)
    return library.lv2_descriptor(0).contents, library


def run_in_lv2apply(bundle, uri, folder):
    """From in.wav to out.wav in `folder`."""
    return subprocess.run(
        ["lv2apply", "-i", folder / "in.wav", "-o", folder / "out.wav", uri],
        env={**os.environ, "LV2_PATH": str(bundle)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def make_bundle(folder, plugin, longwave, *variables, **environment):
    """The bundle of a plug-in that examples/lv2/Makefile makes in `folder`. `variables`: of make, as in "SAMPLES=1000"."""
    root = pathlib.Path(__file__).resolve().parents[2]
    given = [f"PLUGIN={plugin}", f"OUT={folder}", f"INCLUDE={root}/runtime/include", f"LONGWAVE={longwave}"]
    given += [f"LIB={pathlib.Path(longwave).parent}", "CFLAGS=-Werror", *variables]
    make = ["make", "-s", "-C", root / "examples/lv2", *given]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    (path,) = folder.iterdir()
    return path
