"""The constants of an ONNX file as arrays. float16 and bfloat16 become float32, which holds them exactly."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from ..errors import Refused
from .limits import EXTERNAL, NUMBERS, RANK

# element type -> (NumPy type that computes, bytes of one element in the file)
TYPES: dict[int, tuple[type, int]] = {
    TensorProto.FLOAT: (np.float32, 4),
    TensorProto.FLOAT16: (np.float32, 2),
    TensorProto.BFLOAT16: (np.float32, 2),
    TensorProto.DOUBLE: (np.float64, 8),
    TensorProto.INT8: (np.int8, 1),
    TensorProto.INT16: (np.int16, 2),
    TensorProto.INT32: (np.int32, 4),
    TensorProto.INT64: (np.int64, 8),
    TensorProto.UINT8: (np.uint8, 1),
    TensorProto.UINT16: (np.int64, 2),
    TensorProto.UINT32: (np.int64, 4),
    TensorProto.BOOL: (np.bool_, 1),
}


def type_name(code: int) -> str:
    try:
        return str(TensorProto.DataType.Name(code)).lower()
    except ValueError:
        return f"type {code}"


def numpy_type(code: int) -> type:
    if code not in TYPES:
        raise Refused(
            f"holds {type_name(code)}",
            "the importer reads float, float16, bfloat16, double, bool and integers up to int64",
        )
    return TYPES[code][0]


class Constants:
    """Reads the tensors of one file. `folder`: where its external data lie. Raises Refused for one that cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.external = folder, 0

    def array(self, t: TensorProto) -> np.ndarray:
        made, (_, size) = numpy_type(t.data_type), TYPES[t.data_type]
        shape = list(t.dims)
        if len(shape) > RANK or any(extent < 0 for extent in shape) or math.prod(shape) > NUMBERS:
            raise Refused(f"has shape {shape[: RANK + 1]}", f"at most {RANK} axes and {NUMBERS:,} numbers")
        count = math.prod(shape)
        if t.HasField("segment"):
            raise Refused("is one segment of a tensor", "save the tensor whole")
        if t.data_location == TensorProto.EXTERNAL:
            return np.array(self.outside(t, count * size).reshape(shape), made, order="C")
        if t.HasField("raw_data"):
            if len(t.raw_data) != count * size:
                raise Refused(
                    f"has {len(t.raw_data):,} bytes, and its shape {shape} needs {count * size:,}",
                    "the file is cut or damaged: fetch it again",
                )
        else:
            given = max(len(t.float_data), len(t.int32_data), len(t.int64_data), len(t.double_data), len(t.uint64_data))
            if given != count:
                raise Refused(
                    f"has {given:,} numbers, and its shape {shape} needs {count:,}",
                    "the file is cut or damaged: fetch it again",
                )
        return np.array(numpy_helper.to_array(t).reshape(shape), made, order="C")

    def outside(self, t: TensorProto, size: int) -> np.ndarray:
        """External data: a part of a file beside the model. Its path must stay in the folder, also through links."""
        entries = {e.key: e.value for e in t.external_data}
        location = entries.get("location", "")
        if (
            not location
            or os.path.isabs(location)
            or "\\" in location
            or "\0" in location
            or ".." in Path(location).parts
        ):
            raise Refused(
                f"its data lie in {location!r}, which is not a path below the model's folder",
                "save the data beside the model",
            )
        file = self.folder / location
        try:
            if not file.resolve(strict=True).is_relative_to(self.folder.resolve()):
                raise Refused(
                    f"its data lie in {location}, a link that leaves the model's folder",
                    "copy the data beside the model",
                )
            offset, length = (
                number(entries.get(key, default), key) for key, default in (("offset", "0"), ("length", str(size)))
            )
            if length != size:
                raise Refused(
                    f"its external data have {length:,} bytes, and its shape needs {size:,}",
                    "the file is damaged: save it again",
                )
            self.external += length
            if self.external > EXTERNAL:
                raise Refused(f"external data of more than {EXTERNAL:,} bytes", "give a smaller model")
            with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:  # a pipe must not wait
                held = os.fstat(stream.fileno())
                if not stat.S_ISREG(held.st_mode):
                    raise Refused(
                        f"its data lie in {location}, which is not a regular file", "save the data beside the model"
                    )
                if offset + length > held.st_size:
                    raise Refused(
                        f"its data end at byte {offset + length:,} of {location}, which has {held.st_size:,}",
                        "the file of the data is cut: fetch it again",
                    )
                stream.seek(offset)
                data = stream.read(length)
        except (OSError, RuntimeError, ValueError) as e:
            raise Refused(
                f"its data in {location} cannot be read: {getattr(e, 'strerror', None) or e}",
                "fetch the file of the data too",
            ) from e
        whole = onnx.TensorProto(data_type=t.data_type, dims=t.dims, raw_data=data)
        return numpy_helper.to_array(whole)


def number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused(
            f"the {what} of its external data is {text[:30]!r}, not a number of bytes",
            "the file is damaged: save it again",
        )
    return int(text)
