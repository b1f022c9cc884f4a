"""Longwave: compile and run sequence models built on long convolutions and linear attention.

    import longwave
    model = longwave.compile("my_model_folder", stream=True)   # or longwave.open("model.lw")
    y = model.run(x)                                           # offline: [rows, width]
    with model.stream() as stream:
        stream.push(block)
        for row in stream:
            print(row.number, row.data)

Importing this module needs NumPy only. `longwave.layers`, `longwave.zoo` and the training modules import PyTorch when
they are imported themselves.
"""
import importlib

_HOME = {name: "longwave.model" for name in ("Model", "open", "compile", "CompileError")}
_NATIVE = {"Stream", "Row", "Spotter", "Event", "Generator", "Token", "Error"}
__all__ = sorted({*_HOME, *_NATIVE})


def __getattr__(name):
    # The native module is loaded at first use: the model folder writer works without it.
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _NATIVE or name.endswith("Error"):
        value = getattr(importlib.import_module("longwave._native"), name, None)
        if value is not None:
            return value
    raise AttributeError(f"module 'longwave' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
