#!/usr/bin/env python3
"""Audio that strangers bring to `listen`, `run` and `eval`: audio_input_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Standard library only. What the files hold is compared with libsndfile in tests/unit/formats/audio. Containers that sox or
ffmpeg write are tried where these programs are installed.
"""

import array
import json
import os
import pathlib
import shutil
import struct
import subprocess
import threading

from cli_support import BAD_INPUT, OK, USAGE, Cli, main, noise, wav

STRANGERS = pathlib.Path("../shared/strangers")


def npy(type_code, shape, values):
    header = f"{{'descr': '<{type_code}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    code = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}[type_code]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array(code, values).tobytes()


class AudioInput(Cli):
    def words(self, *arguments, **options):
        return [line for line in self.listen(*arguments, **options) if line["type"] == "keyword"]

    def heard_alike(self, name, data, pipe=True):
        """A file, and a pipe, give the words of the speech."""
        path = self.scratch / name
        path.write_bytes(data)
        expected = self.words(self.speech)
        self.assertTrue(expected)
        self.assertEqual(self.words(path), expected, name)
        if pipe:
            self.assertEqual(self.words(stdin=data), expected, name)
        path.unlink()

    def refused_alike(self, words, data):
        path = self.scratch / "stranger"
        path.write_bytes(data)
        self.refused(BAD_INPUT, ["stranger: ", *words], "listen", self.artifact, path)
        self.refused(BAD_INPUT, ["standard input: ", *words], "listen", self.artifact, stdin=data)
        path.unlink()

    # ---- pipes --------------------------------------------------------------------------------------------------------------------------------

    def test_raw_samples_are_never_guessed(self):
        samples = array.array("h", self.speech.read_bytes()[44:])
        expected = self.words(self.speech)
        self.refused_alike(["known", "--format s16le"], bytes(samples))
        path = self.scratch / "samples.raw"  # `run` has no such flag
        path.write_bytes(bytes(samples))
        self.assertNotIn(
            "--format",
            self.refused(BAD_INPUT, ["known", "convert"], "run", self.artifact, "--input", f"audio=@{path}").stderr,
        )
        path.unlink()
        encoded = {
            "s16le": bytes(samples),
            "s24le": b"".join(b"\0" + struct.pack("<h", s) for s in samples),
            "s32le": array.array("i", [s << 16 for s in samples]).tobytes(),
            "f32le": array.array("f", [s / 32768 for s in samples]).tobytes(),
        }
        for name, data in encoded.items():
            self.assertEqual(self.words("--format", name, stdin=data), expected, name)
        self.refused(USAGE, ["--format", "mulaw"], "listen", self.artifact, "--format", "s8")

    def test_text_and_other_files_on_a_pipe_are_refused_by_name(self):
        rest = bytes(range(256)) * 8
        for words, data in (
            (["text"], b"no audio in here"),
            (["HTML page"], b"<!DOCTYPE html><html></html>"),
            (["JSON"], b'{"error": 404}'),
            (["ZIP archive"], b"PK\3\4" + rest),
            (["MP4", "convert"], b"\0\0\0\x20ftypM4A " + rest),
            (["WebM", "convert"], b"\x1a\x45\xdf\xa3" + rest),
            (["sox"], b".SoX" + rest),
            (["Longwave model", "before it"], self.artifact.read_bytes()),
            (["Git LFS pointer"], b"version https://git-lfs.github.com/spec/v1\n"),
        ):
            self.refused_alike(words, data)

    def test_events_come_while_a_pipe_is_open(self):
        """A WAV pipe here; FLAC and Ogg are in tests/unit/formats/audio/progressive_test.cc, and below where ffmpeg is installed."""
        self.event_before_the_end(wav(noise(3), size=0xFFFFFFFF))

    def event_before_the_end(self, data):
        process = subprocess.Popen(
            self.command("listen", self.artifact),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment({}),
        )
        seen = threading.Event()
        lines = []

        def read():
            for line in process.stdout:
                lines.append(json.loads(line))
                if lines[-1]["type"] == "keyword":
                    seen.set()

        reader = threading.Thread(target=read)
        reader.start()
        process.stdin.write(data[:-500])
        process.stdin.flush()
        in_time = seen.wait(60)
        process.stdin.write(data[-500:])
        process.stdin.close()
        reader.join()
        self.assertEqual(process.wait(), OK, process.stderr.read())
        process.stdout.close(), process.stderr.close()
        self.assertTrue(in_time, "no event before the pipe closed")
        self.assertEqual(lines[-1]["type"], "eof")

    def test_a_cut_file_and_a_cut_pipe_are_heard_and_told_once(self):
        data = self.speech.read_bytes()
        promised, there = (len(data) - 44) // 2, (len(data) - 44) // 4
        path = self.scratch / "part.wav"
        for content, expected in ((data, 0), (data[: 44 + 2 * there], 1)):
            path.write_bytes(content)
            for arguments, options in (
                (["listen", self.artifact, path], {}),
                (["listen", self.artifact], {"stdin": content}),
                (["run", self.artifact, "--stream", "--input", f"audio=@{path}"], {}),
            ):
                done = self.run_cli(*arguments, **options)
                self.assertEqual(done.returncode, OK, done.stderr)
                told = [line for line in done.stderr.splitlines() if line.startswith("warning: ") and "is cut" in line]
                self.assertEqual(len(told), expected, (arguments, done.stderr))
                for line in told:
                    self.assertTrue(f" {promised} " in line and f" {there} " in line, line)
        path.unlink()

    # ---- odd files ----------------------------------------------------------------------------------------------------------------------------

    def test_headers_that_recorders_and_editors_write(self):
        plain = self.speech.read_bytes()
        samples = array.array("h", plain[44:])
        low = array.array("i", [s << 8 for s in samples]).tobytes()
        header = lambda tag, bits, frame, more=b"": (
            b"fmt " + struct.pack("<IHHIIHH", 16 + len(more), tag, 1, 16000, 16000 * frame, frame, bits) + more
        )
        extension = struct.pack("<HHIH", 22, 24, 4, 1) + bytes.fromhex("000000001000800000aa00389b71")
        whole = lambda chunk, data: (
            b"RIFF"
            + struct.pack("<I", 12 + len(chunk) + len(data))
            + b"WAVE"
            + chunk
            + b"data"
            + struct.pack("<I", len(data))
            + data
        )
        self.heard_alike("arecord_s24_le.wav", whole(header(1, 24, 4), low))
        self.heard_alike("arecord_s24_le_extensible.wav", whole(header(0xFFFE, 24, 4, extension), low))
        self.heard_alike("block_align_0.wav", whole(header(1, 16, 0), bytes(samples)))
        self.heard_alike("id3_tag.wav", b"ID3\4\0\0\0\0\0\x16" + bytes(22) + plain)
        self.heard_alike(
            "word.rf64",
            b"RF64\xff\xff\xff\xffWAVEds64"
            + struct.pack("<IQQQI", 28, len(plain), len(plain) - 44, len(samples), 0)
            + plain[12:40]
            + b"\xff\xff\xff\xff"
            + plain[44:],
        )
        name = lambda tag: tag + bytes.fromhex("f3acd3118cd100c04f8edb8a")
        self.heard_alike(
            "word.w64",
            b"riff"
            + bytes.fromhex("2e91cf11a5d628db04c10000")
            + struct.pack("<Q", len(plain))
            + name(b"wave")
            + name(b"fmt ")
            + struct.pack("<Q", 40)
            + plain[20:36]
            + name(b"data")
            + struct.pack("<Q", 24 + len(plain) - 44)
            + plain[44:],
        )
        samples.byteswap()
        self.heard_alike("word.au", b".snd" + struct.pack(">IIIII", 24, 0xFFFFFFFF, 3, 16000, 1) + bytes(samples))

    def test_metadata_after_no_samples_are_not_heard(self):
        self.refused_alike(
            ["contains no samples"],
            wav([], size=0) + b"LIST" + struct.pack("<I", 16) + b"INFOISFT" + struct.pack("<I", 4) + b"Lavf",
        )

    def test_the_guards_of_rate_and_channels_hold_on_pipes(self):
        au = b".snd" + struct.pack(">IIIII", 24, 0xFFFFFFFF, 3, 44100, 2) + bytes(4000)
        self.refused_alike(["2 channels", "--channel"], au)
        self.refused(BAD_INPUT, ["44100 Hz"], "listen", self.artifact, "--channel", "1", stdin=au)

    def test_what_sox_and_ffmpeg_write(self):
        made = 0
        for program, arguments in {"ffmpeg": ["-v", "error", "-i", self.speech], "sox": [self.speech]}.items():
            if not shutil.which(program):
                print(f"SKIPPED: containers of {program}: it is not installed")
                continue
            for suffix, codec, on_pipes in (
                ("w64", [], True),
                ("au", [], True),
                ("flac", [], True),
                ("aiff", [], False),
                ("caf", [], False),
            ):
                if program == "sox" and suffix in ("caf", "w64"):
                    continue  # they need a module that Debian packs apart
                path = self.scratch / f"{program}.{suffix}"
                subprocess.run([program, *arguments, *codec, path], check=True, capture_output=True)
                data = path.read_bytes()
                path.unlink()
                self.heard_alike(path.name, data, pipe=on_pipes)
                made += 1
                if not on_pipes:
                    self.refused(
                        BAD_INPUT, ["from a file but not from a pipe", "convert"], "listen", self.artifact, stdin=data
                    )
                if suffix == "flac":
                    self.event_before_the_end(data)
        if shutil.which("ffmpeg"):
            streamed = subprocess.run(
                ["ffmpeg", "-v", "error", "-i", self.speech, "-f", "flac", "-"], check=True, capture_output=True
            ).stdout
            self.heard_alike("streamed.flac", streamed)  # its header tells no length
            tagged = b"ID3\4\0\0\0\0\0\x16" + bytes(22) + streamed
            self.heard_alike("id3_tag.flac", tagged)

    def test_every_stranger_is_heard_or_refused_for_its_reason(self):
        if not STRANGERS.is_dir():
            print(f"SKIPPED: files of {STRANGERS}: they are not here; the cases above are the same kinds")
            return
        expected = self.words(STRANGERS / "word.wav")
        for name in (
            "word.flac",
            "word.rf64",
            "id3_tag.flac",
            "id3_tag.wav",
            "arecord_s24_le.wav",
            "block_align_0.wav",
        ):
            self.assertEqual(self.words(STRANGERS / name), expected, name)
            self.assertEqual(self.words(stdin=(STRANGERS / name).read_bytes()), expected, name)
        self.words(stdin=(STRANGERS / "word.w64").read_bytes())  # one sample longer than the others
        self.refused_alike(["contains no samples"], (STRANGERS / "no_samples_list_after.wav").read_bytes())

    # ---- gain ---------------------------------------------------------------------------------------------------------------------------------

    def test_gain_brings_quiet_audio_back(self):
        samples = array.array("h", self.speech.read_bytes()[44:])
        quiet = self.scratch / "quiet.wav"
        quiet.write_bytes(wav([s // 8 for s in samples]))
        loud = self.words(self.speech)
        lines = self.listen(quiet, "--gain", "18.0618")  # 8 times
        self.assertEqual(lines[0]["decision"]["gain_db"], 18.0618)
        self.assertEqual([line["word"] for line in lines if line["type"] == "keyword"], [line["word"] for line in loud])
        self.assertNotIn("gain_db", self.listen(self.speech)[0]["decision"])
        automatic = self.listen(quiet, "--gain", "auto")
        self.assertEqual(automatic[0]["decision"]["gain_db"], "auto")
        self.assertTrue(-12 <= automatic[-2]["gain_db"] <= 30)
        self.assertEqual(
            self.listen(quiet, "--gain", "auto", "--chunk-ms", "7")[-2]["gain_db"], automatic[-2]["gain_db"]
        )
        for wrong in ("61", "-61", "loud", "nan"):
            self.refused(USAGE, ["--gain", "-60 to 60", "auto"], "listen", self.artifact, quiet, f"--gain={wrong}")
        quiet.unlink()

    # ---- run ----------------------------------------------------------------------------------------------------------------------------------

    def logits(self, path):
        result = self.run_cli("run", self.artifact, "--input", f"audio=@{path}", "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        return json.loads(result.stdout)["logits"]

    def test_whole_numbers_of_npy_audio_are_scaled_as_everywhere_else(self):
        samples = array.array("h", self.speech.read_bytes()[44 : 44 + 32000])
        path = self.scratch / "audio.npy"
        floats = [s / 32768 for s in samples]
        path.write_bytes(npy("f4", [16000], floats))
        expected = self.logits(path)
        for code, values in (("f8", floats), ("i2", samples), ("i4", [s << 16 for s in samples])):
            for shape in ([16000], [16000, 1]):
                path.write_bytes(npy(code, shape, values))
                self.assertEqual(self.logits(path), expected, (code, shape))
        for code in ("i1", "i8"):
            path.write_bytes(npy(code, [16000], [0] * 16000))
            self.refused(BAD_INPUT, [code, "int16 or int32"], "run", self.artifact, "--input", f"audio=@{path}")
        path.unlink()

    def test_arrays_keep_their_shape_or_are_refused(self):
        path = self.scratch / "shape.npy"
        for shape in ([2, 8000], [8000, 2], [1, 16000], [16000, 1, 1]):
            path.write_bytes(npy("f4", shape, [0] * 16000))
            self.refused(
                BAD_INPUT, [str(shape), "[rows, 1] or [rows]"], "run", self.artifact, "--input", f"audio=@{path}"
            )
        description = {
            "format": "longwave-model",
            "version": 1,
            "name": "rows",
            "inputs": [{"name": "x", "kind": "features", "width": 3}],
            "layers": [{"type": "linear", "name": "one", "out_features": 2}],
            "outputs": [{"name": "y", "from": "one"}],
        }
        package = self.write_package(
            "rows", description, {"one.weight": ([2, 3], [1, 2, 3, 4, 5, 6]), "one.bias": ([2], [0, 0])}
        )
        rows = self.scratch / "rows.lw"
        self.assertEqual(self.run_cli("compile", package, "-o", rows, "--target", "host", "--no-check").returncode, OK)
        path.write_bytes(npy("f4", [4, 3], range(12)))
        self.assertEqual(self.run_cli("run", rows, "--input", f"x=@{path}").returncode, OK)
        for shape in ([12], [2, 2, 3], [3, 4], [6, 2]):
            path.write_bytes(npy("f4", shape, range(12)))
            self.refused(BAD_INPUT, [str(shape), "[rows, 3]"], "run", rows, "--input", f"x=@{path}")
        path.write_bytes(npy("i4", [4, 3], range(12)))
        self.refused(BAD_INPUT, ["element type i4", "float32"], "run", rows, "--input", f"x=@{path}")
        path.unlink(), rows.unlink(), shutil.rmtree(package)

    # ---- eval ---------------------------------------------------------------------------------------------------------------------------------

    def test_eval_leaves_out_what_is_no_audio_and_lists_it(self):
        clips = self.scratch / "clips"
        for number, label in enumerate(("yes", "no")):
            (clips / label).mkdir(parents=True)
            for i in range(2):
                (clips / label / f"{i}.wav").write_bytes(wav(noise(1, 10 * number + i)))
        expected = json.loads(self.run_cli("eval", self.artifact, "--clips", clips).stdout)
        self.assertEqual(expected["left_out"], [])
        (clips / "yes" / "notes.txt").write_text("takes 3 and 4 are bad")
        (clips / "no" / "list.json").write_text('{"a": 1}')
        (clips / "no" / "empty.wav").write_bytes(b"")
        os.mkfifo(clips / "no" / "pipe")
        (clips / "README.md").write_text("# Clips")
        result = self.run_cli("eval", self.artifact, "--clips", clips)
        self.assertEqual(result.returncode, OK, result.stderr)
        found = json.loads(result.stdout)
        why = {pathlib.Path(file["file"]).name: file["why"] for file in found.pop("left_out")}
        self.assertEqual(set(why), {"notes.txt", "list.json", "empty.wav", "pipe", "README.md"})
        self.assertIn("is text", why["notes.txt"])
        self.assertIn("is empty", why["empty.wav"])
        self.assertIn("5 files", result.stderr)
        del expected["left_out"]
        self.assertEqual(found, expected)

        louder = json.loads(
            self.run_cli("eval", self.artifact, "--clips", clips, "--gain", "6", "--predictions").stdout
        )
        self.assertEqual((louder["gain_db"], louder["clips"]), (6, 4))
        (clips / "yes" / "damaged.wav").write_bytes(wav(noise(1))[:30])  # audio by its first bytes: not left out
        self.refused(BAD_INPUT, ["damaged.wav", "before its first sample"], "eval", self.artifact, "--clips", clips)
        for path in clips.rglob("*.wav"):
            path.unlink()
        self.refused(
            BAD_INPUT,
            ["no clips found", "left out: 4 files", "list.json is JSON"],
            "eval",
            self.artifact,
            "--clips",
            clips,
        )
        self.refused(
            BAD_INPUT,
            ["contains no audio files", "notes.txt is text"],
            "eval",
            self.artifact,
            "--negatives",
            clips / "yes",
        )
        shutil.rmtree(clips)


if __name__ == "__main__":
    main()
