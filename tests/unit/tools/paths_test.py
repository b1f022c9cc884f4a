#!/usr/bin/env python3
"""Names and files of every kind through the command line: paths_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Links, pipes, names that are no text, outputs that are inputs.

Standard library only.
"""

import json
import os
import shutil

from cli_support import BAD_INPUT, DEVICE, OK, USAGE, Cli, main, noise, npy, wav


class Paths(Cli):
    # ---- links --------------------------------------------------------------------------------------------------------------------------------

    def test_an_output_that_is_a_link_is_written_through_it(self):
        target, link = self.scratch / "elsewhere" / "target.lw", self.scratch / "link.lw"
        target.parent.mkdir()
        for old in (b"old", None):  # a file, and nothing yet
            target.write_bytes(old) if old else target.unlink()
            link.symlink_to("elsewhere/target.lw")
            result = self.run_cli("compile", self.package, "-o", link, "--target", "host", "--stream", "--no-check")
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertTrue(link.is_symlink())
            self.assertEqual(target.read_bytes(), self.artifact.read_bytes())
            self.assertEqual(os.listdir(target.parent), ["target.lw"])
            link.unlink()
        numbers, chain = target.parent / "numbers.npy", self.scratch / "chain.npy"
        numbers.write_bytes(b"old")
        (self.scratch / "middle.npy").symlink_to(numbers)
        chain.symlink_to("middle.npy")
        result = self.run_cli("run", self.artifact, "--input", "audio=1600", "-o", f"logits={chain}")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertTrue(chain.is_symlink())
        self.assertTrue(numbers.read_bytes().startswith(b"\x93NUMPY"))
        numbers.unlink()
        numbers.symlink_to(chain)
        self.refused(
            DEVICE,
            ["chain.npy", "symbolic links"],
            "run",
            self.artifact,
            "--input",
            "audio=1600",
            "-o",
            f"logits={chain}",
        )
        chain.unlink()
        (self.scratch / "middle.npy").unlink()
        shutil.rmtree(target.parent)

    def test_a_link_of_somebody_else_in_a_shared_folder_is_not_followed(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a link away")
        shared, victim = self.scratch / "shared", self.scratch / "victim"
        shared.mkdir()
        os.chmod(shared, 0o1777)
        victim.write_bytes(b"precious")
        (shared / "x.lw").symlink_to(victim)
        os.chown(shared / "x.lw", 65534, 65534, follow_symlinks=False)
        self.refused(
            DEVICE,
            ["x.lw", "Permission denied"],
            "compile",
            self.package,
            "-o",
            shared / "x.lw",
            "--target",
            "host",
            "--no-check",
        )
        self.assertEqual(victim.read_bytes(), b"precious")
        shutil.rmtree(shared)
        victim.unlink()

    # ---- outputs that are inputs --------------------------------------------------------------------------------------------------------------

    def test_an_output_that_is_an_input_is_refused(self):
        package = self.scratch / "own"
        shutil.copytree(self.package, package)
        key, link, hard = self.scratch / "key", self.scratch / "own-link", self.scratch / "own-hard"
        key.write_text("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n")
        link.symlink_to(package / "model.json")
        os.link(package / "weights.safetensors", hard)
        before = {name: (package / name).read_bytes() for name in ("model.json", "weights.safetensors")}
        for output, word in (
            (package / "model.json", "model.json"),
            (link, "model.json"),
            (hard, "weights.safetensors"),
            (key, "key"),
        ):
            self.refused(
                USAGE,
                [str(output), word, "name another file"],
                "compile",
                package,
                "-o",
                output,
                "--target",
                "host",
                "--sign",
                key,
            )
        self.assertEqual({name: (package / name).read_bytes() for name in before}, before)
        self.assertTrue(link.is_symlink())
        self.assertTrue(key.read_text().startswith("9d61"))

        artifact, sound, expected = self.scratch / "own.lw", self.scratch / "own.wav", self.scratch / "own.npy"
        shutil.copy(self.artifact, artifact)
        sound.write_bytes(wav(noise(0.1)))
        expected.write_bytes(npy([10, 3], [0] * 30))
        for output in (artifact, sound, expected):
            old = output.read_bytes()
            self.refused(
                USAGE,
                [str(output), "name another file"],
                "run",
                artifact,
                "--input",
                f"audio=@{sound}",
                "--expected",
                f"logits=@{expected}",
                "-o",
                f"logits={output}",
            )
            self.assertEqual(output.read_bytes(), old)
        for path in (key, link, hard, artifact, sound, expected):
            path.unlink()
        shutil.rmtree(package)

    # ---- names that are no text ---------------------------------------------------------------------------------------------------------------

    def test_names_that_are_no_utf8_do_not_lose_the_json_line(self):
        name = os.fsencode(self.scratch) + b"/not\xfftext\xc3"
        result = self.run_cli("compile", self.package, "-o", name + b".lw", "--target", "host", "--stream", "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["output"].endswith("not\ufffdtext\ufffd.lw"))
        with open(name + b".lw", "rb") as file:
            self.assertEqual(file.read(), self.artifact.read_bytes())
        for verb in (
            ["inspect"],
            ["verify"],
            ["run", "--input", "audio=1600"],
            ["bench", "--seconds", "1", "--repeats", "1"],
        ):
            result = self.run_cli(verb[0], name + b".lw", *verb[1:], "--json")
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertEqual(len(result.stdout.splitlines()), 1)
            json.loads(result.stdout)
        result = self.run_cli("listen", name + b".lw", name + b".wav")  # there is no such sound
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        error = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual(error["type"], "error")
        self.assertIn("not\ufffdtext\ufffd.wav", error["message"])
        os.makedirs(name + b"/yes")
        with open(name + b"/yes/\xfe.wav", "wb") as file:
            file.write(wav(noise(0.2)))
        result = self.run_cli("eval", name + b".lw", "--clips", name, "--negatives", name, "--predictions")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["predictions"]), 1)
        os.remove(name + b".lw")
        shutil.rmtree(name)

    # ---- pipes --------------------------------------------------------------------------------------------------------------------------------

    def test_a_pipe_in_the_place_of_a_model_is_refused_at_once(self):
        pipe = self.scratch / "pipe.lw"
        os.mkfifo(pipe)
        for verb in (
            ["inspect", pipe],
            ["verify", pipe],
            ["listen", pipe, self.speech],
            ["run", pipe, "--input", "1600"],
            ["bench", pipe],
            ["eval", pipe, "--negatives", self.speech],
        ):
            self.refused(BAD_INPUT, ["pipe.lw", "regular file"], *verb)
        self.refused(BAD_INPUT, ["pipe.lw", "folder"], "compile", pipe, "-o", self.scratch / "x.lw")
        pipe.unlink()
        package = self.scratch / "pipes"
        package.mkdir()
        for name in ("model.json", "weights.safetensors"):
            os.mkfifo(package / name)
        self.refused(
            BAD_INPUT,
            ["model.json", "weights.safetensors", "regular file"],
            "compile",
            package,
            "-o",
            self.scratch / "x.lw",
            lines=2,
        )
        for name in ("model.json", "weights.safetensors"):
            (package / name).unlink()
        package.rmdir()
        kgen = self.scratch / "kgen"
        os.mkfifo(kgen)
        self.refused(
            DEVICE, ["kgen", "regular file"], "compile", self.package, "-o", self.scratch / "x.lw", "--kgen", kgen
        )
        kgen.unlink()

    def test_folders_that_cannot_be_read(self):
        if os.geteuid() == 0:
            self.skipTest("root may read anything")
        folder = self.scratch / "locked"
        folder.mkdir(mode=0)
        self.refused(BAD_INPUT, ["locked", "Permission denied"], "eval", self.artifact, "--negatives", folder / "inner")
        folder.rmdir()


if __name__ == "__main__":
    main()
