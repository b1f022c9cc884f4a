#!/usr/bin/env python3
"""Text from the command line: generate_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Small models of SGConv, CHELA and LightNet with seeded weights are compiled for blocks of 1 and 64. A text that was stopped, saved and resumed must be the text that was
not, in any way of stopping; a prompt read in blocks must leave what one read byte by byte leaves; whatever is refused is refused in one line.

Standard library only.
"""

import fcntl
import json
import math
import os
import pathlib
import pty
import signal
import struct
import subprocess
import termios
import time

from cli_support import BAD_INPUT, OK, USAGE, Cli, main
from text_package import FAMILIES, language_model

SAMPLING = [
    "--temperature",
    "1.1",
    "--top-k",
    "100",
    "--top-p",
    "0.95",
    "--min-p",
    "0.001",
    "--repetition-penalty",
    "1.2",
    "--repetition-window",
    "32",
    "--seed",
    "5",
]
TOKENIZERS = pathlib.Path(__file__).resolve().parents[1] / "runtime/tokenizer/tokenizers"
LIMIT = 1e-5  # of logits, relative to the largest: what streams of one state in different blocks may differ by


class Generate(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {}
        for family in FAMILIES:
            package = cls.write_package(family, *language_model(family))
            for blocks in ("1,64", "1"):
                cls.models[family, blocks] = cls.compiled(package, f"{family}-{blocks}.lw", "--blocks", blocks)
        cls.model = cls.models["chela", "1,64"]

    @classmethod
    def compiled(cls, package, name, *flags):
        artifact = cls.scratch / name
        target = [] if "--target" in flags else ["--target", "host"]
        result = cls.run_cli("compile", package, "-o", artifact, *target, "--length", "256", "--no-check", *flags)
        assert result.returncode == OK, result.stderr
        return artifact

    def generate(self, model, *arguments, **options):
        result = self.run_cli("generate", model, *arguments, text=False, **options)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def lines(self, model, *arguments, **options):
        lines = [json.loads(line) for line in self.generate(model, *arguments, "--json", **options).splitlines()]
        self.assertEqual([line["type"] for line in lines], ["token"] * (len(lines) - 1) + ["end"])
        self.assertEqual(lines[-1]["tokens"], len(lines) - 1)
        return lines[:-1], lines[-1]

    def test_a_saved_and_resumed_text_is_the_text_without_the_stop(self):
        state = self.scratch / "a.state"
        for family in FAMILIES:
            model = self.models[family, "1,64"]
            for flags in ([], SAMPLING):
                whole = self.generate(model, "-p", "once upon a time", "-n", 300, *flags)
                self.assertEqual(len(whole), 300)
                parts = self.generate(model, "-p", "once upon a time", "-n", 117, "--state-out", state, *flags)
                parts += self.generate(model, "--state-in", state, "-n", 40, "--state-out", state, *flags)
                parts += self.generate(model, "--state-in", state, "-n", 143, *flags)
                self.assertEqual(parts, whole)

    def test_a_state_of_an_earlier_version_without_a_checksum_goes_on_with_a_note(self):
        state, old = self.scratch / "new.state", self.scratch / "old.state"
        whole = self.generate(self.model, "-p", "once upon a time", "-n", 30)
        self.generate(self.model, "-p", "once upon a time", "-n", 10, "--state-out", state)
        data = bytearray(state.read_bytes())
        for saved, note in ((data, False), (data[:24] + bytes(8) + data[32:], True)):
            old.write_bytes(saved)
            done = self.run_cli("generate", self.model, "--state-in", old, "-n", 20, text=False)
            self.assertEqual((done.returncode, done.stdout), (OK, whole[10:]))
            self.assertEqual("note: " in done.stderr and "without a checksum" in done.stderr, note)
        old.write_bytes(data[:33] + bytes([data[33] ^ 1]) + data[34:])
        self.refused(BAD_INPUT, ["old.state", "checksum"], "generate", self.model, "--state-in", old, "-n", "5")

    def test_a_state_goes_on_in_other_code(self):
        state = self.scratch / "v.state"
        both = self.compiled(self.scratch / "chela", "both.lw", "--blocks", "1,64", "--target", "x86-64-v2,x86-64-v3")
        whole, _ = self.lines(both, "-p", "once upon a time", "-n", 500, "--variant", "x86-64-v3")
        self.generate(both, "-p", "once upon a time", "-n", 250, "--variant", "x86-64-v3", "--state-out", state)
        rest, _ = self.lines(both, "--state-in", state, "-n", 250, "--variant", "x86-64-v2")
        for a, b in zip(whole[250:], rest):
            self.assertEqual(a["position"], b["position"])
            self.assertLessEqual(abs(a["logprob"] - b["logprob"]), 1e-4)
            if a["id"] != b["id"]:
                break  # the two likeliest were as good as equal, as the line above has shown

    def test_a_prompt_in_blocks_leaves_what_one_byte_by_byte_leaves(self):
        prompt = bytes(32 + (i * i) % 90 for i in range(1000)).decode()
        for family in FAMILIES:
            found = [self.lines(self.models[family, blocks], "-p", prompt, "-n", 100) for blocks in ("1,64", "1")]
            (blocks, end), (bytewise, _) = found
            self.assertEqual(end["prompt_tokens"], 1000)
            self.assertEqual([t["id"] for t in blocks], [t["id"] for t in bytewise])
            peak = max(abs(t["logprob"]) for t in bytewise)
            for a, b in zip(blocks, bytewise):
                self.assertLessEqual(abs(a["logprob"] - b["logprob"]), LIMIT * max(10, peak))
            self.assertEqual([t["position"] for t in blocks], list(range(1000, 1100)))

    def test_a_prompt_comes_from_the_command_line_a_file_or_a_pipe(self):
        text = bytes(range(1, 256)) * 3  # no UTF-8 by far
        file = self.scratch / "prompt.bin"
        file.write_bytes(text)
        expected = self.generate(self.model, "-p", "@" + str(file), "-n", 50)
        self.assertEqual(self.generate(self.model, "-p", text, "-n", 50), expected)
        self.assertEqual(self.generate(self.model, "-p", "-", "-n", 50, stdin=text), expected)
        state = self.scratch / "b.state"
        self.assertEqual(self.generate(self.model, "-p", "-", "-n", 0, "--state-out", state, stdin=text), b"")
        self.assertEqual(self.generate(self.model, "--state-in", state, "-n", 50), expected)

    def test_json_lines_hold_every_byte_and_the_models_own_probability(self):
        plain = self.generate(self.model, "-p", "abc", "-n", 200, *SAMPLING)
        tokens, end = self.lines(self.model, "-p", "abc", "-n", 200, *SAMPLING)
        self.assertEqual(b"".join(bytes.fromhex(token["bytes"]) for token in tokens), plain)
        self.assertEqual(end["reason"], "tokens")
        self.assertTrue(all(token["logprob"] < 0 for token in tokens))
        seconds = [token["seconds"] for token in tokens]
        self.assertEqual(seconds, sorted(seconds))
        # The sum over the text is what `score` finds, but for the prompt's own bytes.
        file = self.scratch / "scored.bin"
        file.write_bytes(b"c" + plain)
        bits = -sum(
            token["logprob"] for token in self.lines(self.model, "-p", "c", "-n", 200, *SAMPLING)[0]
        ) / math.log(2)
        file.write_bytes(b"c" + self.generate(self.model, "-p", "c", "-n", 200, *SAMPLING))
        score = json.loads(self.run_cli("score", self.model, file, "--json").stdout)
        self.assertEqual((score["tokens"], score["bytes"], score["complete"]), (200, 200, True))
        self.assertAlmostEqual(score["bits_per_byte"], bits / 200, places=4)
        self.assertAlmostEqual(score["perplexity"], 2 ** (bits / 200), delta=1e-3 * 2 ** (bits / 200))

    def test_score_reads_files_and_pipes_of_any_length_alike(self):
        text = b"".join(
            struct.pack("<I", i * 2654435761 % (1 << 32)) for i in range(40000)
        )  # several pieces, of no whole blocks
        file = self.scratch / "long.bin"
        file.write_bytes(text)
        a = json.loads(self.run_cli("score", self.models["lightnet", "1,64"], file, "--json").stdout)
        b = json.loads(self.run_cli("score", self.models["lightnet", "1,64"], "-", "--json", stdin=text).stdout)
        c = json.loads(self.run_cli("score", self.models["lightnet", "1"], "-", "--json", stdin=text[:5000]).stdout)
        d = json.loads(self.run_cli("score", self.models["lightnet", "1,64"], "-", "--json", stdin=text[:5000]).stdout)
        self.assertEqual(a["tokens"], len(text) - 1)
        self.assertEqual(a["bits_per_byte"], b["bits_per_byte"])
        self.assertAlmostEqual(c["bits_per_byte"], d["bits_per_byte"], delta=1e-4)
        plain = self.run_cli("score", self.models["lightnet", "1,64"], file).stdout
        self.assertIn(f"{a['bits_per_byte']:.4f} bits per byte", plain)

    def test_a_stop_text_ends_the_text_before_it_and_after_a_resume(self):
        whole = self.generate(self.model, "-p", "abc", "-n", 300, *SAMPLING)
        # The first place whose four bytes are text that a shell can hand over.
        at = next(i for i in range(20, 290) if 0 not in whole[i : i + 4] and whole.find(whole[i : i + 4]) == i)
        stop = whole[at : at + 4]
        result = self.generate("--stop", b"not there", "--stop", stop, self.model, "-p", "abc", "-n", 300, *SAMPLING)
        self.assertEqual(result, whole[:at])
        tokens, end = self.lines(self.model, "-p", "abc", "-n", 300, "--stop", stop, *SAMPLING)
        self.assertEqual((end["reason"], len(tokens)), ("stop", at + 4))
        # Cut within the stop text: what came of it was written, for nobody knew; the rest is still
        # found.
        state = self.scratch / "c.state"
        first = self.generate(self.model, "-p", "abc", "-n", at + 2, "--stop", stop, "--state-out", state, *SAMPLING)
        self.assertEqual(first, whole[: at + 2])
        self.assertEqual(self.generate(self.model, "--state-in", state, "-n", 300, "--stop", stop, *SAMPLING), b"")

    def test_a_bias_and_a_seed_change_the_text(self):
        only = self.generate(
            "--logit-bias", "120:1e6", self.model, "-p", "abc", "-n", 20
        )  # the model is no second bias
        self.assertEqual(only, b"x" * 20)
        text = self.generate(self.model, "-p", "abc", "-n", 100, *SAMPLING)
        self.assertEqual(self.generate(self.model, "-p", "abc", "-n", 100, *SAMPLING), text)
        self.assertNotEqual(self.generate(self.model, "-p", "abc", "-n", 100, *SAMPLING[:-1], "6"), text)

    def test_control_c_ends_the_text_and_saves_the_state(self):
        state = self.scratch / "d.state"
        for number, waits in ((signal.SIGINT, False), (signal.SIGTERM, True)):
            command = self.command("generate", self.model, "-p", "abc", "-n", 10**12, "--state-out", state, *SAMPLING)
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=self.environment({})
            )
            head = process.stdout.read(1000)  # the first bytes: it writes
            while waits and struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0] < 60000:
                time.sleep(0.01)  # until the pipe is as good as full, and a write waits for its reader
            process.send_signal(number)
            rest, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (-number, b""))
            text = head + rest
            resumed = self.generate(self.model, "--state-in", state, "-n", 100, *SAMPLING)
            whole = self.generate(self.model, "-p", "abc", "-n", len(text) + 100, *SAMPLING)
            self.assertEqual(text + resumed, whole)
            state.unlink()

    def test_a_reader_that_goes_away_ends_it_quietly_with_the_state_saved(self):
        state = self.scratch / "e.state"
        command = self.command("generate", self.model, "-p", "abc", "-n", 10**12, "--state-out", state)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=self.environment({})
        )
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), OK)
        self.assertEqual(len(self.generate(self.model, "--state-in", state, "-n", 5)), 5)
        state.unlink()

    def test_a_terminal_gets_whole_characters_and_is_given_nothing_to_obey(self):
        master, slave = pty.openpty()
        command = self.command("generate", self.model, "-p", "abc", "-n", 6, "--logit-bias", "27:1e6")
        process = subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE, env=self.environment({}))
        os.close(slave)
        self.assertEqual(process.communicate(timeout=60)[1], b"")
        shown = b""
        try:
            while piece := os.read(master, 1000):
                shown += piece
        except OSError:  # the end of a terminal
            pass
        os.close(master)
        self.assertEqual(shown, b"\\x1b" * 6 + b"\r\n")  # a line end, for the prompt of the shell
        self.assertEqual(self.generate(self.model, "-p", "abc", "-n", 6, "--logit-bias", "27:1e6"), b"\x1b" * 6)

    def test_a_model_of_other_tokens_reads_and_writes_through_its_tokenizer(self):
        tokenizer = TOKENIZERS / "split.json"
        model = self.compiled(
            self.write_package("words", *language_model("lightnet", vocabulary=600)), "words.lw", "--blocks", "1,64"
        )
        flags = ["--tokenizer", tokenizer, *SAMPLING]
        prompt = ["-p", "the miller carries <|end|> 粉屋 \U0001f642"]
        whole = self.generate(model, *prompt, "-n", 200, *flags)
        tokens, end = self.lines(model, *prompt, "-n", 200, *flags)
        self.assertEqual(b"".join(bytes.fromhex(token["bytes"]) for token in tokens), whole)
        vocabulary = json.loads(tokenizer.read_text())["model"]["vocab"]
        self.assertTrue(any(token["id"] >= 256 for token in tokens))
        self.assertTrue(
            all(
                token["text"] == name
                for name, id in vocabulary.items()
                if name.isascii()
                for token in tokens
                if token["id"] == id
            )
        )
        state = self.scratch / "w.state"
        parts = self.generate(model, *prompt, "-n", 77, "--state-out", state, *flags)
        self.assertEqual(parts + self.generate(model, "--state-in", state, "-n", 123, *flags), whole)
        # A stop text need not begin or end with a token.
        shown = b"".join(bytes.fromhex(token["bytes"]) for token in tokens)
        at = next(
            i for i in range(100, len(shown) - 8) if 0 not in shown[i : i + 8] and shown.find(shown[i : i + 8]) == i
        )
        self.assertEqual(self.generate(model, *prompt, "-n", 200, "--stop", shown[at : at + 8], *flags), shown[:at])
        # Beside the artifact it needs no flag.
        beside = self.scratch / "words.tokenizer.json"
        beside.write_bytes(tokenizer.read_bytes())
        self.assertEqual(self.generate(model, *prompt, "-n", 200, *SAMPLING), whole)
        text = self.scratch / "text.txt"
        text.write_text("the miller carries flour through snow " * 50)
        score = json.loads(self.run_cli("score", model, text, "--json").stdout)
        self.assertLess(score["tokens"], score["bytes"])
        self.assertGreater(score["bytes"], 1850)
        self.assertAlmostEqual(
            score["bits_per_byte"] * score["bytes"], math.log2(score["perplexity"]) * score["tokens"], places=3
        )
        # Special tokens of the file are put before a text that begins, and the report tells it.
        with_special = json.loads(tokenizer.read_text())
        with_special["post_processor"] = {
            "type": "RobertaProcessing",
            "cls": ["a", vocabulary["a"]],
            "sep": ["b", vocabulary["b"]],
        }
        special = self.scratch / "special.json"
        special.write_text(json.dumps(with_special))
        flags = ["--tokenizer", special, *SAMPLING]
        for choice, before, after, same in [
            ("none", [], [], "x"),
            ("begin", ["a"], [], "ax"),
            ("all", ["a"], ["b"], "axb"),
        ]:
            tokens, end = self.lines(model, "-p", "x", "-n", 20, "--special", choice, *flags)
            self.assertEqual(
                end["special_tokens"],
                {"before": [vocabulary[c] for c in before], "after": [vocabulary[c] for c in after]},
            )
            self.assertEqual(end["prompt_tokens"], len(same))
        report = self.run_cli("generate", model, "-p", "x", "-n", 1, *flags, text=False).stderr
        self.assertEqual(
            report, f"note: special tokens: a ({vocabulary['a']}) before the prompt, none after it (--special)\n"
        )
        self.generate(model, "-p", "x", "-n", 1, "--state-out", state, *flags)
        self.assertEqual(
            self.lines(model, "--state-in", state, "-p", "x", "-n", 1, *flags)[1]["special_tokens"]["before"], []
        )
        scores = {
            choice: json.loads(
                self.run_cli("score", model, text, "--json", "--tokenizer", special, "--special", choice).stdout
            )
            for choice in ("none", "begin", "all")
        }
        self.assertEqual([scores[choice]["tokens"] - scores["none"]["tokens"] for choice in scores], [0, 1, 2])
        self.assertEqual(scores["begin"]["bytes"], len(text.read_text()))
        self.assertEqual(scores["all"]["bytes"], len(text.read_text()))
        self.refused(
            BAD_INPUT,
            [str(tokenizer), "another model", "256 ids"],
            "generate",
            self.model,
            "-p",
            "a",
            "--tokenizer",
            tokenizer,
        )
        self.refused(
            BAD_INPUT, ["no-such.json", "cannot be read"], "generate", model, "-p", "a", "--tokenizer", "no-such.json"
        )

    def test_bench_tells_what_reading_and_writing_cost(self):
        text = json.loads(self.run_cli("bench", self.model, "--seconds", "0.5", "--repeats", "1", "--json").stdout)[
            "text"
        ]
        self.assertEqual(text["prompt_tokens"], 4096)
        self.assertGreater(text["prompt_ms"] * text["prompt_in_steps_ms"], 0)
        self.assertEqual([token["behind"] for token in text["tokens"]][:2], [100, 10000])
        self.assertTrue(all(token["per_second"] > 0 for token in text["tokens"]))
        printed = self.run_cli("bench", self.model, "--seconds", "0.5", "--repeats", "1").stdout
        self.assertIn("prompt    4096 tokens", printed)
        self.assertNotIn(
            "text",
            json.loads(self.run_cli("bench", self.artifact, "--seconds", "0.5", "--repeats", "1", "--json").stdout),
        )

    def test_what_cannot_be_is_refused_in_one_line(self):
        state = self.scratch / "f.state"
        self.generate(self.model, "-p", "abc", "-n", 5, "--state-out", state)
        other = self.scratch / "g.state"
        self.generate(self.models["sgconv", "1"], "-p", "abc", "-n", 5, "--state-out", other)
        damaged, empty = self.scratch / "h.state", self.scratch / "empty"
        damaged.write_bytes(state.read_bytes()[:-1])
        empty.write_bytes(b"")
        model, prompt = self.model, ["-p", "abc"]
        many = self.compiled(
            self.write_package("many", *language_model("sgconv", vocabulary=300)), "many.lw", "--blocks", "1,64"
        )
        wide = self.compiled(self.scratch / "chela", "wide.lw", "--blocks", "8,64")
        for code, words, arguments in (
            (USAGE, ["nothing to continue", "--prompt", "--state-in"], [model]),
            (BAD_INPUT, ["--prompt", "empty"], [model, "-p", ""]),
            (BAD_INPUT, [str(empty), "empty"], [model, "-p", f"@{empty}"]),
            (BAD_INPUT, ["standard input", "empty"], [model, "-p", "-"]),
            (BAD_INPUT, ["no-such-file", "cannot be read"], [model, "-p", "@no-such-file"]),
            (BAD_INPUT, ["no-such-state", "cannot be read"], [model, "--state-in", "no-such-state"]),
            (BAD_INPUT, ["g.state", "another model"], [model, "--state-in", other]),
            (BAD_INPUT, ["h.state", "too short"], [model, "--state-in", damaged]),
            (
                BAD_INPUT,
                ["model.json", "not the saved state of a generator"],
                [model, "--state-in", self.package / "model.json"],
            ),
            (BAD_INPUT, ["empty", "too short"], [model, "--state-in", empty]),
            (USAGE, ["--stop", "empty"], [model, *prompt, "--stop", ""]),
            (USAGE, ["--logit-bias 256:1", "0 to 255"], [model, *prompt, "--logit-bias", "256:1"]),
            (USAGE, ["--logit-bias x:1", "ID:VALUE"], [model, *prompt, "--logit-bias", "x:1"]),
            (USAGE, ["--logit-bias 3:nan", "ID:VALUE"], [model, *prompt, "--logit-bias", "3:nan"]),
            (USAGE, ["--temperature"], [model, *prompt, "--temperature", "-1"]),
            (USAGE, ["--top-p"], [model, *prompt, "--top-p", "1.5"]),
            (USAGE, ["--state-out", "which the command reads"], [model, *prompt, "--state-out", model]),
            (USAGE, ["300 token ids", "--tokenizer"], [many, *prompt]),
            (USAGE, ["8 ids at a time", "--blocks 1,64"], [wide, *prompt]),
            (USAGE, ["not a language model", "token ids"], [self.artifact, *prompt]),
        ):
            self.refused(code, words, "generate", *arguments)
        self.refused(BAD_INPUT, [str(empty), "too short", "two tokens"], "score", model, empty)
        self.refused(USAGE, ["not a language model"], "score", self.artifact, empty)
        self.refused(BAD_INPUT, ["no-such-file"], "score", model, "no-such-file")
        help_text = self.run_cli("generate", "--help").stdout
        self.assertIn("no limit of context", help_text)


if __name__ == "__main__":
    main()
