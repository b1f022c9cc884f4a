"""WebAssembly in wasmtime: programs with files, and modules for pages.

wasm_engine.py PROGRAM.wasm ARGUMENT...    a WASI program; the folders of its arguments are open to it
"""

import ctypes
import pathlib
import sys

import wasmtime


def run_program(path, arguments, stdin=False):
    engine = wasmtime.Engine()
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    wasi = wasmtime.WasiConfig()
    wasi.argv = [str(path), *arguments]
    if stdin:
        wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    for folder in {str(pathlib.Path(argument).parent) for argument in arguments if argument.startswith("/")}:
        wasi.preopen_dir(folder, folder)
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    instance = linker.instantiate(store, wasmtime.Module.from_file(engine, str(path)))
    try:
        instance.exports(store)["_start"](store)
    except wasmtime.ExitTrap as done:
        return done.code
    return 0


class Page:
    """A module as a page sees it: its functions as attributes, its memory, and no imports."""

    def __init__(self, path, weights, *settings):
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        module = wasmtime.Module.from_file(engine, str(path))
        assert not module.imports, [item.name for item in module.imports]
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.write(self.weights(), weights)
        self.check(self.open(*settings))

    def __getattr__(self, name):
        function = self.exports[name]
        return lambda *values: function(self.store, *values)

    def write(self, at, data):
        self.exports["memory"].write(self.store, data, at)

    def read(self, at, n):
        return self.exports["memory"].read(self.store, at, at + n)

    def text(self, at):
        memory = self.exports["memory"]
        return ctypes.string_at(ctypes.addressof(memory.data_ptr(self.store).contents) + at).decode()

    def check(self, status):
        assert status == 0, f"status {status}: {self.text(self.error())}"


if __name__ == "__main__":
    sys.exit(run_program(sys.argv[1], sys.argv[2:]))
