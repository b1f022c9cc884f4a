#!/usr/bin/env python3
"""Files of the Python package after full disks, signals at every step, and links: the old file or the new file, nothing else.

    PYTHONPATH=tools/python python tools/python/tests/output_files_test.py

Standard library only.
"""

import errno
import mmap
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from longwave import cleanup, output_files

OLD, NEW = b"old" * 1000, b"new and longer" * 1000
SIGNALS = [
    number for number in cleanup.ENDING if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
]
STEPS = ("open", "os.", "subprocess.Popen", "shutil.", "tempfile.")  # audit events of what touches files and programs


def in_child(action):
    """Runs it in a process of its own. Returns its exit status, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            for number in SIGNALS:  # whoever starts the tests may ignore some
                signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            action()
            code = 0
        except OSError as error:
            code = 100 + (error.errno or 0)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def interrupted_at(step, number, action):
    """The signal comes just before the step-th event. Returns the status of the process."""

    def run():
        seen = [0]

        def hook(event, _):
            if event.startswith(STEPS):
                seen[0] += 1
                if seen[0] == step:
                    signal.raise_signal(number)

        sys.addaudithook(hook)
        action()

    return in_child(run)


class OutputFilesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="output-files-test-"))
        self.temporary, self.out = self.folder / "tmp", self.folder / "out"
        for made in (self.temporary, self.out):
            made.mkdir()
        self.before, tempfile.tempdir = tempfile.tempdir, str(self.temporary)

    def tearDown(self):
        tempfile.tempdir = self.before
        shutil.rmtree(self.folder)

    def file(self, content=OLD, name="file"):
        (self.out / name).write_bytes(content)
        return self.out / name

    def left(self):
        return sorted(file.name for file in self.out.iterdir()) + list(self.temporary.iterdir())

    def test_a_file_is_written_and_replaced(self):
        mask = os.umask(0o027)
        try:
            for content in (NEW, OLD, b"", lambda path: path.write_bytes(NEW)):
                output_files.write_file(self.out / "file", content)
                self.assertEqual((self.out / "file").read_bytes(), content if isinstance(content, bytes) else NEW)
                self.assertEqual(self.left(), ["file"])
                self.assertEqual((self.out / "file").stat().st_mode & 0o777, 0o640)
            output_files.write_file(self.out / "copy", self.out / "file")
            self.assertEqual((self.out / "copy").read_bytes(), NEW)
        finally:
            os.umask(mask)

    def test_a_process_that_maps_the_old_file_keeps_it(self):
        with open(self.file(), "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            output_files.write_file(self.out / "file", b"")
            self.assertEqual(mapped[:], OLD)

    def test_a_signal_at_every_step_of_a_write(self):
        for number in SIGNALS:
            step, ended = 0, -number
            while ended == -number:
                step += 1
                shutil.rmtree(self.out)
                self.out.mkdir()
                self.file(OLD, "a"), self.file(OLD, "b")
                ended = interrupted_at(
                    step, number, lambda: output_files.write_folder(self.out, {"a": NEW, "b": NEW, "c": NEW})
                )
                found = {name: (self.out / name).read_bytes() for name in self.left()}
                self.assertLessEqual(set(found), {"a", "b", "c"}, (number, step))
                self.assertLessEqual(set(found.values()), {OLD, NEW}, (number, step))
            self.assertEqual((ended, found), (0, {"a": NEW, "b": NEW, "c": NEW}))
            self.assertGreater(step, 10)

    def test_a_signal_at_every_step_of_a_program_and_a_temporary_folder(self):
        script = self.folder / "child"
        script.write_text(
            f"#!/bin/sh\necho $$ > '{self.folder}/pid'\ntrap 'rm -f {self.out}/half; exit 1' TERM\n: > '{self.out}/half'\n"
            "while [ ! -e '" + str(self.folder) + "/go' ]; do sleep 0.01; done\nrm '" + str(self.out) + "/half'\n"
        )
        script.chmod(0o755)

        def work():
            with cleanup.watched(), cleanup.temporary_folder() as folder:
                (folder / "part").write_bytes(OLD)
                with cleanup.started([str(script)]) as process:
                    while not (self.out / "half").exists():
                        time.sleep(0.001)
                    os.listdir(folder)  # a step while the program runs
                    (self.folder / "go").touch()
                    process.wait()

        step, ended = 0, -signal.SIGTERM
        while ended < 0:
            step += 1
            for name in ("go", "pid"):
                (self.folder / name).unlink(missing_ok=True)
            number = SIGNALS[step % len(SIGNALS)]
            ended = interrupted_at(step, number, work)
            self.assertIn(ended, (0, -number))
            self.assertEqual(self.left(), [], (number, step))
            if (self.folder / "pid").exists():
                pid = int((self.folder / "pid").read_text() or 0)
                self.assertFalse(
                    pid
                    and os.path.exists(f"/proc/{pid}")
                    and "child" in pathlib.Path(f"/proc/{pid}/cmdline").read_text(),
                    (number, step),
                )
        self.assertGreater(step, 5)

    def test_control_c_is_a_keyboard_interrupt_after_the_write_and_handlers_of_the_caller_stay(self):
        def work():
            heard = []
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
            try:

                def content(path):
                    signal.raise_signal(signal.SIGUSR1)
                    signal.raise_signal(signal.SIGINT)
                    path.write_bytes(NEW)

                output_files.write_file(self.out / "file", content)
            except KeyboardInterrupt:
                assert heard == [1] and (self.out / "file").read_bytes() == NEW
                assert (
                    signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
                    and signal.getsignal(signal.SIGINT) == signal.default_int_handler
                )
                return
            raise AssertionError("no interrupt")

        self.assertEqual(in_child(work), 0)

    def test_a_full_disk_leaves_the_old_file(self):
        self.file()
        for size in (0, 1, 100, len(NEW) - 1):

            def work():
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
                output_files.write_folder(self.out, {"other": b"", "file": NEW})

            self.assertEqual(in_child(work), 100 + errno.EFBIG, size)
            self.assertEqual((self.left(), (self.out / "file").read_bytes()), (["file"], OLD))

            def new_folder():
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
                output_files.write_folder(self.out / "a/b", {"file": NEW})

            self.assertEqual(in_child(new_folder), 100 + errno.EFBIG, size)
            self.assertEqual(self.left(), ["file"])

    def test_texts_and_arrays_are_written_whole(self):
        try:
            import numpy as np
        except ModuleNotFoundError:
            self.skipTest("NumPy is not installed")
        values = np.arange(1000.0)
        output_files.write_array(self.out / "values.npy", values)
        output_files.write_text(self.out / "text", "\u00fc\r\n")
        self.assertEqual((self.out / "text").read_bytes(), b"\xc3\xbc\r\n")
        np.testing.assert_array_equal(np.load(self.out / "values.npy"), values)
        for write in (
            lambda: output_files.write_array(self.out / "values.npy", np.arange(5000.0)),
            lambda: output_files.write_text(self.out / "text", "x" * 5000),
        ):

            def full():
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
                write()

            self.assertIn(in_child(full), (100 + errno.EFBIG, 100 + errno.EIO))  # NumPy does not say why
        self.assertEqual((self.left(), (self.out / "text").read_bytes()), (["text", "values.npy"], b"\xc3\xbc\r\n"))
        np.testing.assert_array_equal(np.load(self.out / "values.npy"), values)

    def test_no_script_writes_results_in_place(self):
        """Results of hours: a script that is ended while it writes must not damage what was there."""
        package = pathlib.Path(output_files.__file__).parent
        in_place = (".write_text(", ".write_bytes(", "torch.save(", "np.save(")
        allowed = {
            "output_files.py",
            "kws/engine.py",  # scratch folders, memory
            "importer/files.py",
            "importer/checkpoint.py",
        }  # words of messages
        for file in sorted(package.rglob("*.py")):
            if file.relative_to(package).as_posix() in allowed:
                continue
            for line in file.read_text(encoding="utf-8").splitlines():
                if any(word in line for word in in_place) and "output_files.write" not in line:
                    self.fail(f"{file}: {line.strip()}")

    def test_a_mounted_disk_that_is_full_leaves_the_old_file(self):
        code = f"""
import errno, pathlib, sys; sys.path[:0] = {sys.path!r}
from longwave import output_files
out = pathlib.Path({str(self.out)!r})
(out / "file").write_bytes(b"old")
for size in (30_000, 100_000):
    try:
        output_files.write_file(out / "file", bytes(size))
        print("written")
    except OSError as error:
        assert error.errno == errno.ENOSPC and error.filename == str(out / "file"), error
    assert [file.name for file in out.iterdir()] == ["file"] and (out / "file").read_bytes() == b"old"
print("ok")
"""
        mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=16k none '{self.out}' && exec \"$@\"", "sh"]
        try:
            able = subprocess.run([*mount, "true"], capture_output=True).returncode == 0
        except FileNotFoundError:
            able = False
        if not able:
            print("SKIPPED in part: this system does not let the test mount a file system")
            self.skipTest("no mount")
        done = subprocess.run([*mount, sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("ok\n", ""))

    def test_links(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.write_bytes(OLD)
        link = self.out / "link"
        link.symlink_to(elsewhere)
        output_files.write_file(link, NEW)  # the file that the user named is that behind the link
        self.assertTrue(link.is_symlink())
        self.assertEqual(elsewhere.read_bytes(), NEW)
        output_files.write_folder(
            self.out, {"link": OLD}
        )  # nobody named the files of a folder: a link is no way out of it
        self.assertFalse(link.is_symlink())
        self.assertEqual((elsewhere.read_bytes(), link.read_bytes()), (NEW, OLD))
        for number in range(50):
            (self.out / f"l{number}").symlink_to(f"l{(number + 1) % 50}")
        with self.assertRaises(OSError) as caught:
            output_files.write_file(self.out / "l0", NEW)
        self.assertEqual(caught.exception.errno, errno.ELOOP)

    def test_a_link_of_another_user_in_a_shared_folder_is_not_followed(self):
        if os.geteuid() != 0:
            print("SKIPPED in part: only root can make files of another user")
            self.skipTest("not root")
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        (shared / "m.lw").symlink_to(self.file())
        os.lchown(shared / "m.lw", 12345, 12345)
        with self.assertRaisesRegex(OSError, "a link of another user is not followed"):
            output_files.write_file(shared / "m.lw", NEW)
        self.assertEqual((self.out / "file").read_bytes(), OLD)

    def test_what_is_no_file_is_written_to_and_folders_are_refused(self):
        pipe = self.out / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
        output_files.write_file(pipe, NEW)
        self.assertEqual(reader.communicate()[0], NEW)
        with self.assertRaisesRegex(OSError, "No space left"):
            output_files.write_file(pathlib.Path("/dev/full"), NEW)
        for bad, kind in ((self.out, IsADirectoryError), (self.out / "no/file", FileNotFoundError)):
            with self.assertRaises(kind):
                output_files.write_file(bad, NEW)
        with self.assertRaises(NotADirectoryError):
            output_files.check_folder(self.file() / "a")
        with self.assertRaises(OSError):
            output_files.write_folder(self.out, {"a": NEW, "tmp": NEW, "../tmp": NEW})
        self.assertEqual(self.left(), ["file", "pipe"])

    def test_what_a_killed_program_left_goes_after_an_hour_and_nothing_else(self):
        old, fresh, other = (
            self.file(OLD, name)
            for name in (".longwave-new-aaaaaa", ".longwave-new-bbbbbb", ".longwave-new-longer-name")
        )
        for path in (old, other):
            os.utime(path, (0, time.time() - 3700))
        output_files.write_file(self.out / "file", NEW)
        self.assertEqual(self.left(), [fresh.name, other.name, "file"])

    def test_a_killed_program_leaves_the_old_file(self):
        def work():
            output_files.write_file(
                self.file(), lambda path: (path.write_bytes(NEW[:100]), os.kill(os.getpid(), signal.SIGKILL))
            )

        self.assertEqual(in_child(work), -signal.SIGKILL)
        self.assertEqual((self.out / "file").read_bytes(), OLD)


if __name__ == "__main__":
    unittest.main(verbosity=1)
