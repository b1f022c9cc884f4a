"""Longwave: compile and run sequence models built on long convolutions and linear attention.

    import longwave
    model = longwave.compile(module, torch.zeros(1, 1000, 64), stream=True)   # or longwave.open("model.lw")
    y = model.run(x)                                           # offline: [rows, width]
    with model.stream() as stream:
        stream.push(block)
        for row in stream:
            print(row.number, row.data)

Importing this module needs NumPy only. `longwave.layers`, `longwave.importer` and the training modules
import PyTorch when they are imported themselves.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import (
        AudioStream as AudioStream,
        BadArtifactError as BadArtifactError,
        BadStateError as BadStateError,
        BadTokenError as BadTokenError,
        BadVersionError as BadVersionError,
        CheckFailedError as CheckFailedError,
        DeviceError as DeviceError,
        DeviceLostError as DeviceLostError,
        DeviceWrongError as DeviceWrongError,
        Error as Error,
        Event as Event,
        Generator as Generator,
        InvalidArgumentError as InvalidArgumentError,
        IoError as IoError,
        NoCodeError as NoCodeError,
        NoDeviceError as NoDeviceError,
        NoMemoryError as NoMemoryError,
        NoStreamError as NoStreamError,
        NotFiniteError as NotFiniteError,
        NotFoundError as NotFoundError,
        NoVariantError as NoVariantError,
        OldVersionError as OldVersionError,
        Row as Row,
        SpeechDetector as SpeechDetector,
        SpeechEvent as SpeechEvent,
        Spotter as Spotter,
        Stream as Stream,
        StreamBatch as StreamBatch,
        TimeoutError as TimeoutError,
        Token as Token,
        TooLongError as TooLongError,
        TooShortError as TooShortError,
        TooSmallError as TooSmallError,
        UnsignedCodeError as UnsignedCodeError,
        UnsupportedError as UnsupportedError,
        WrongStateError as WrongStateError,
    )
    from .model import CompileError as CompileError, Model as Model, compile as compile, open as open

    __version__: str

_HOME = dict.fromkeys(("Model", "open", "compile", "CompileError"), "longwave.model")
_NATIVE = {
    "Stream",
    "StreamBatch",
    "Row",
    "Spotter",
    "Event",
    "SpeechDetector",
    "SpeechEvent",
    "AudioStream",
    "Generator",
    "Token",
    "Error",
}
__all__ = sorted({*_HOME, *_NATIVE})


def _native_module() -> Any:
    try:
        return importlib.import_module("longwave._native")
    except ModuleNotFoundError as error:
        if error.name != "longwave._native":
            raise
        raise ImportError(
            "longwave._native is not built: install the wheel (tools/wheel), or run tools/setup --tests in the clone and set "
            "PYTHONPATH to its folder build/python"
        ) from None


def __getattr__(name: str) -> Any:
    # The native module is loaded at first use: the model folder writer works without it.
    if name in _HOME:
        _native_module()
        return getattr(importlib.import_module(_HOME[name]), name)
    if name == "__version__":
        try:
            return _native_module().version
        except ImportError as error:
            raise AttributeError(str(error)) from error
    if name in _NATIVE or name.endswith("Error"):
        value = getattr(_native_module(), name, None)
        if value is not None:
            return value
    raise AttributeError(f"module 'longwave' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
