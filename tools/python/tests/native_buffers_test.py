#!/usr/bin/env python3
"""Memory that Python could free, resize or change while the C library reads it. NumPy only.

    LONGWAVE_PROGRAM=build/longwave PYTHONPATH=build/python python tools/python/tests/native_buffers_test.py

With the module of a build with -fsanitize=address and LD_PRELOAD=libasan.so, each such read is an error.
"""

import array
import mmap
import pathlib
import tempfile
import threading
import unittest

import longwave
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Overwritten(np.ndarray):
    """An array whose memory is overwritten when the last reference to it goes, as a heap would do soon after."""

    def __del__(self):
        if self.base is not None and self.flags.writeable:
            self.view(np.ndarray)[...] = 0x7F7F


class Once:
    """Each call of __dlpack__ exports an array that nobody else knows."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **_):
        owner = np.zeros(self.values.shape, self.values.dtype)
        exported = owner.view(Overwritten)
        exported[...] = self.values
        return exported.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class BuffersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.kws = longwave.compile(ROOT / "examples/kws/model", pathlib.Path(cls.folder.name) / "kws.lw", stream=True)
        cls.text = longwave.compile(
            ROOT / "examples/text/lightnet/model", pathlib.Path(cls.folder.name) / "text.lw", stream=True
        )
        cls.audio = (np.random.default_rng(1).standard_normal(16000) * 0.1).astype(np.float32)
        cls.ids = np.frombuffer(b"The quick brown fox jumps", np.uint8).astype(np.int32)

    @classmethod
    def tearDownClass(cls):
        cls.kws.close()
        cls.text.close()
        cls.folder.cleanup()

    def each_call(self):
        """Name, a function of an array that returns what the call makes of it, and the array."""

        def generated(ids):
            with longwave.Generator(self.text) as generator:
                generator.prompt(ids)
                return [generator.next().id for _ in range(5)]

        def pushed(audio):
            with self.kws.stream(queue=1000) as stream:
                self.assertEqual(stream.push(audio), 16000)
                return [row.data for row in stream]

        def prefilled(audio):
            with self.kws.stream() as stream:
                stream.prefill(audio)
                return stream.save()

        def heard(audio):
            with longwave.Spotter(self.kws, format="float32") as spotter:
                spotter.push(audio)
                return spotter.scores()

        yield "run", lambda audio: list(self.kws.run(audio).values()), self.audio
        yield "run of ids", lambda ids: self.text.run(ids), self.ids
        yield "push", pushed, self.audio
        yield "process", lambda audio: list(self.kws.stream().process(audio, last=True).values()), self.audio
        yield "prefill", prefilled, self.audio
        yield "spotter", heard, self.audio
        yield "generator", generated, self.ids

    def check_equal(self, found, expected):
        if isinstance(expected, bytes):
            self.assertEqual(found, expected)
            return
        for one, other in zip(found, expected):
            np.testing.assert_array_equal(one, other)

    def test_the_export_of_a_temporary_lives_as_long_as_the_call(self):
        for name, call, values in self.each_call():
            with self.subTest(name):
                self.check_equal(call(Once(values)), call(values))

    def test_exporters_of_every_kind_give_the_same(self):
        file = mmap.mmap(-1, self.audio.nbytes)
        file[:] = self.audio.tobytes()
        for name, call, values in self.each_call():
            kinds = [
                array.array(values.dtype.char, values.tolist()),
                memoryview(values),
                memoryview(values.tobytes()).cast(values.dtype.char),
            ]
            if values is self.audio:
                kinds.append(memoryview(file).cast("f"))
            for given in kinds:
                with self.subTest(name, kind=type(given).__name__):
                    self.check_equal(call(given), call(values))

    def test_a_view_that_begins_between_two_elements_is_copied(self):
        for name, call, values in self.each_call():
            for shift in range(1, values.itemsize):
                room = np.zeros(values.nbytes + shift, np.uint8)
                room[shift:] = values.view(np.uint8)
                with self.subTest(name, shift=shift):
                    self.check_equal(call(room[shift:].view(values.dtype)), call(values))

    def test_another_thread_cannot_resize_a_buffer_during_a_call(self):
        samples = array.array("f", np.tile(self.audio, 50).tobytes())
        refused = False
        spotter = longwave.Spotter(self.kws, format="float32")
        thread = threading.Thread(target=lambda: spotter.push(samples))
        thread.start()
        while thread.is_alive():
            try:
                samples.extend(samples[:100000])
                del samples[-100000:]
            except BufferError:
                refused = True
        thread.join()
        self.assertTrue(refused)
        samples.append(0.0)  # the call has ended: the buffer is free again

    def test_ids_that_another_thread_changes_never_leave_the_vocabulary(self):
        ids, done = np.tile(self.ids, 20), threading.Event()

        def change():
            while not done.is_set():
                ids[:] = 2**31 - 1
                ids[:] = -(2**31)
                ids[:] = 5

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(100):
                for call in (self.text.run, self.text.stream().prefill, self.text.stream(queue=1000).push):
                    try:
                        call(ids)
                    except longwave.BadTokenError:
                        pass
        finally:
            done.set()
            thread.join()

    def test_an_object_that_closes_what_reads_it_is_an_error(self):
        model = longwave.open(pathlib.Path(self.folder.name) / "kws.lw")
        stream, audio = model.stream(), self.audio

        class Closes:
            def __dlpack__(self, **_):
                stream.close()
                model.close()
                return audio.__dlpack__()

            def __dlpack_device__(self):
                return (1, 0)

        with self.assertRaises(longwave.WrongStateError):
            stream.push(Closes())
        model = longwave.open(pathlib.Path(self.folder.name) / "kws.lw")
        self.check_equal(model.run(Closes()).values(), self.kws.run(audio).values())  # the run holds its model

    def test_unsigned_and_wide_ids_are_ids(self):
        expected = self.text.run(self.ids)
        for kind in (np.uint8, np.uint16, np.int64, np.uint64):
            np.testing.assert_array_equal(self.text.run(self.ids.astype(kind)), expected)
        for bad in (np.array([2**40]), np.array([2**63], np.uint64), np.array([-(2**40)])):
            with self.assertRaisesRegex(ValueError, "outside of int32"):
                self.text.run(bad)


if __name__ == "__main__":
    unittest.main(verbosity=1)
