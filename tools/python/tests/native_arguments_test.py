#!/usr/bin/env python3
"""Odd arguments of the Python package: each is one true line, never a silent other meaning. NumPy only.

LONGWAVE_PROGRAM=build/longwave PYTHONPATH=build/python python tools/python/tests/native_arguments_test.py
"""

import os
import pathlib
import re
import tempfile
import unittest

import longwave
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
KEY = "11" * 32


class Module:
    """Looks like a torch.nn.Module."""

    def state_dict(self):
        return {}


class ArgumentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.before = os.getcwd()
        os.chdir(cls.folder.name)
        cls.model = longwave.compile(ROOT / "examples/kws/model", "kws.lw", stream=True)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()
        os.chdir(cls.before)
        cls.folder.cleanup()

    def refused(self, kind, text, call):
        with self.assertRaisesRegex(kind, text) as caught:
            call()
        self.assertNotIn("\n", str(caught.exception))

    def test_an_empty_list_of_keys_opens_nothing(self):
        for keys in ([], (), {}, set(), iter([]), (key for key in [])):
            self.refused(ValueError, "the list is empty, so no file opens", lambda: longwave.open("kws.lw", keys=keys))
        for keys in ("", KEY, b"", 5):
            self.refused(TypeError, "keys: expected a list, got", lambda: longwave.open("kws.lw", keys=keys))
        for keys in ([""], [b""], ["0x" + KEY], [KEY, ""], [None], [bytes(32)]):
            self.refused(ValueError, "64 hexadecimal digits", lambda: longwave.open("kws.lw", keys=keys))
        for keys in (b"", b"x" * 31, b"x" * 33):
            self.refused(
                longwave.InvalidArgumentError,
                "one or more public keys of 32 bytes",
                lambda: longwave.Model(b"kws.lw", keys, 0, "", "cpu", 0, False),
            )
        self.refused(longwave.UnsignedCodeError, "", lambda: longwave.open("kws.lw", keys=iter([KEY])))
        self.refused(longwave.InvalidArgumentError, "", lambda: longwave.Model(b"kws.lw", None, 3, "", "cpu", 0, False))
        longwave.open("kws.lw", keys=None).close()

    def test_paths(self):
        self.refused(ValueError, "path: contains a NUL character", lambda: longwave.open("kws.lw\0.txt"))
        self.refused(ValueError, "path: contains a NUL character", lambda: longwave.open(b"kws.lw\0"))
        self.refused(
            longwave.InvalidArgumentError, "NUL", lambda: longwave.Model(b"kws.lw\0", None, 0, "", "cpu", 0, False)
        )
        self.refused(ValueError, "path: the path is empty", lambda: longwave.open(""))
        for path in (3, None, ["kws.lw"], 1.5):
            self.refused(TypeError, "path: expected a path, got", lambda: longwave.open(path))
        self.refused(longwave.Error, "", lambda: longwave.open("."))
        odd = os.fsdecode(b"\xff-\xc3\xa4.lw")  # a name that is not UTF-8
        os.link("kws.lw", odd)
        for path in (odd, os.fsencode(odd), pathlib.Path(odd)):
            longwave.open(path).close()
        self.refused(longwave.CompileError, "expected a model folder", lambda: longwave.compile(odd))

    def test_numbers_and_texts(self):
        for name, value in (
            ("least_version", -1),
            ("least_version", 2**64),
            ("memory_limit", -1),
            ("memory_limit", 1.5),
            ("memory_limit", "1G"),
            ("device", 0),
            ("device", None),
            ("variant", None),
            ("variant", "x\0"),
        ):
            self.refused((TypeError, ValueError), f"^{name}: ", lambda: longwave.open("kws.lw", **{name: value}))
        for name, value in (("length", -1), ("length", 2**40), ("threads", -1), ("threads", "2"), ("threads", 2**31)):
            self.refused(
                (TypeError, ValueError, longwave.Error), name, lambda: self.model.run(np.zeros(1600), **{name: value})
            )
        for name, value in (
            ("queue", -1),
            ("queue", 2**31),
            ("format", "flaot32"),
            ("format", 1),
            ("block", "320"),
            ("block", -1),
        ):
            self.refused((TypeError, ValueError, longwave.Error), name, lambda: self.model.stream(**{name: value}))
        self.refused(
            ValueError,
            'format "flaot32": expected "float32" or "int16"',
            lambda: longwave.Spotter(self.model, format="flaot32"),
        )
        self.assertEqual(len(self.model.run(np.zeros(1600), threads=np.int64(1))), len(self.model.run(np.zeros(1600))))

    def test_compile(self):
        folder = ROOT / "examples/kws/model"
        self.refused(
            ValueError, "- is standard output on the command line alone", lambda: longwave.compile(folder, "-")
        )
        self.refused(ValueError, "- is standard output", lambda: longwave.compile(Module(), np.zeros((1, 20, 4)), "-"))
        self.refused(ValueError, "output: contains a NUL", lambda: longwave.compile(folder, "a\0b.lw"))
        self.refused(ValueError, "model: contains a NUL", lambda: longwave.compile("a\0b"))
        self.refused(TypeError, "output: expected a path", lambda: longwave.compile(folder, 3))
        self.refused(longwave.CompileError, "no such folder", lambda: longwave.compile(folder, "missing/m.lw"))
        self.refused(longwave.CompileError, "is a folder", lambda: longwave.compile(folder, "."))
        self.refused(
            longwave.CompileError,
            "no such folder",
            lambda: longwave.compile(Module(), np.zeros((1, 20, 4)), "missing/m.lw"),
        )
        for name, value in (
            ("blocks", "64"),
            ("blocks", 64),
            ("blocks", [-1]),
            ("blocks", ["64"]),
            ("targets", "x86-64-v3"),
            ("targets", [3]),
            ("options", "--no-check"),
            ("options", [None]),
            ("length", -1),
            ("length", "5"),
            ("weights", 8),
        ):
            self.refused((TypeError, ValueError), f"^{name}: ", lambda: longwave.compile(folder, **{name: value}))
        os.mkdir("-stream")
        with self.assertRaisesRegex(longwave.CompileError, "/-stream/model.json: cannot be read"):
            longwave.compile("-stream")
        longwave.compile(folder, "-x.lw").close()
        longwave.compile(folder, "./-").close()
        self.assertEqual(pathlib.Path("-x.lw").read_bytes(), pathlib.Path("-").read_bytes())

    def test_a_copy_of_itself_changes_nothing(self):
        with self.model.stream() as stream:
            stream.push(np.zeros(1000, np.float32))
            before = stream.save()
            stream.copy_from(stream)
            self.assertEqual(stream.save(), before)

    def test_the_version_is_that_of_the_build(self):
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(longwave.__version__, re.search(r"project\(longwave VERSION ([0-9.]+)", text)[1])


if __name__ == "__main__":
    unittest.main(verbosity=1)
