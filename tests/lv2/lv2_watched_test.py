#!/usr/bin/env python3
"""That watched.c, which is in LD_PRELOAD, counts: lv2_watched_test.py

The tests of the plug-ins ask it for 0 calls.
"""

import ctypes
import unittest

LIBC = ctypes.CDLL(None)


def calls(name, argument, more=0):
    return LIBC.watched_run(ctypes.cast(getattr(LIBC, name), ctypes.c_void_p), argument, more)


class Watched(unittest.TestCase):
    def test_allocations_count_also_those_of_the_c_library(self):
        for name, argument in (("malloc", 64), ("calloc", 8), ("free", None), ("strdup", b"text")):
            self.assertGreaterEqual(calls(name, argument, 8), 1, name)

    def test_locks_and_files_count(self):
        mutex = ctypes.create_string_buffer(256)
        for name, argument in (
            ("pthread_mutex_lock", mutex),
            ("pthread_rwlock_rdlock", ctypes.create_string_buffer(256)),
        ):
            self.assertEqual(calls(name, argument), 1, name)
        for name in ("open", "open64"):
            self.assertEqual(calls(name, b"/dev/null"), 1, name)

    def test_arithmetic_does_not_count(self):
        self.assertEqual(calls("abs", 7), 0)
        self.assertEqual(calls("strlen", b"text"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
