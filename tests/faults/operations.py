"""Commands of the command line as operations that may be disturbed: what they read, what they write, and what they print where nothing fails."""

import json
import pathlib
import re
import threading

from cli_support import LONGWAVE, OK, RATE, Cli, noise, npy, wav
from text_package import language_model

VARIES = re.compile(r"[0-9.]+ (s|ms|µs)\b|\"real_time_factor\":[-+0-9.e]+|[0-9]+ of [0-9]+ kernels from the cache")


# A kernel compiler that keeps what the real one made: what follows it can be disturbed thousands of
# times. $2 and $4: kernel and target, $8: the object. One of the kernels is the one whose compiler is
# disturbed, where an operation does so.
KEEPING_KGEN = """#!/bin/sh
[ "$1" = --stay ] && exit
[ "$1" = --versions ] && exec "{kgen}" --versions
case "$LONGWAVE_FAULT_IN_CHILD $2" in env*softmax*'"rows":1}}'*) exec $LONGWAVE_FAULT_IN_CHILD "{kgen}" "$@" ;; esac
kept="{kept}/$(printf '%s %s' "$2" "$4" | sha256sum | cut -c1-32)"
[ -e "$kept.json" ] || { "{kgen}" "$@" && cp "$8" "$kept.o" && cp "${8%.o}.json" "$kept.json"; } || exit 1
cp "$kept.o" "$8" && cp "$kept.json" "${8%.o}.json"
"""


def byte_tokenizer():
    """A tokenizer.json with a token for each byte, in the letters that stand for bytes (GPT-2)."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = [
        chr(byte) if byte in shown else chr(0x100 + byte - sum(other < byte for other in shown)) for byte in range(256)
    ]
    return json.dumps(
        {
            "model": {"type": "BPE", "vocab": {letter: byte for byte, letter in enumerate(letters)}, "merges": []},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        }
    )


class Operation:
    """`arguments`: of the program; {out} stands for the folder that it writes to. `old`: files that are there before, with their bytes."""

    def __init__(self, name, arguments, old=None, stdin=b"", catches_signals=False, accepts=None, in_child=False):
        self.name, self.arguments, self.old, self.stdin = name, [str(a) for a in arguments], old or {}, stdin
        self.catches_signals = catches_signals  # only then can a call be interrupted
        self.in_child = in_child  # the kernel compiler that it starts is disturbed, not the program itself
        self.accepts = (
            accepts  # accepts(old bytes, other bytes): is a file sound that differs from the old one and the new one?
        )
        self.repeatable = accepts is not tuning_goes_on
        self.new, self.printed = {}, ""  # after a run without faults

    def command(self, folder):
        return Cli.command(
            *[argument.replace("{out}", str(folder)) for argument in self.arguments],
            cache="--cache" not in self.arguments,
        )

    def disturbed(self, folder, prefix, environment):
        """The command behind a prefix, and variables of its environment."""
        if not self.in_child or not (prefix or environment):
            return [*prefix, *self.command(folder)], environment
        before = ["env", *(f"{name}={value}" for name, value in environment.items()), *prefix]
        return self.command(folder), {"LONGWAVE_FAULT_IN_CHILD": " ".join(before)}

    def said(self, output, folder):
        return VARIES.sub("VARIES", output.decode(errors="replace").replace(str(folder), "OUT"))

    def sound(self, name, data, old=True):
        """Is this a file that the operation may leave: the new one, or the old one?"""
        if data == self.new.get(name) or (old and data == self.old.get(name)):
            return True
        return data is not None and self.accepts is not None and self.accepts(self.old.get(name), data)


def tuning_goes_on(old, data):
    """Measurements differ from run to run, but every one that the old file had is there. Costs that failed are measured again."""
    try:
        before, after = json.loads(old)["measured"], json.loads(data)["measured"]
    except (ValueError, KeyError):
        return False
    return all(after.get(name) == value for name, value in before.items() if not name.startswith("cost "))


class Operations(Cli):
    """Makes the files that the operations read."""

    @classmethod
    def prepare(cls):
        cls.setUpClass()
        cls.text = cls.scratch / "text.lw"
        package = cls.write_package("text", *language_model("chela"))
        result = cls.run_cli(
            "compile", package, "-o", cls.text, "--target", "host", "--blocks", "1,64", "--length", "64", "--no-check"
        )
        assert result.returncode == OK, result.stderr
        cls.state = cls.scratch / "begun.state"
        result = cls.run_cli("generate", cls.text, "-p", "once", "-n", 3, "--state-out", cls.state, text=False)
        assert result.returncode == OK, result.stderr
        cls.rows = cls.scratch / "rows.npy"
        cls.rows.write_bytes(npy([RATE // 4, 1], [value / 32768 for value in noise(0.25)]))
        cls.key = cls.scratch / "key"
        cls.key.write_text("0123456789abcdef" * 4 + "\n")
        cls.tokenizer = cls.scratch / "bytes.json"
        cls.tokenizer.write_text(byte_tokenizer())
        kept = cls.scratch / "kept"
        kept.mkdir()
        cls.kgen = cls.scratch / "keeping.sh"
        cls.kgen.write_text(
            KEEPING_KGEN.replace("{kgen}", str(pathlib.Path(LONGWAVE).parent / "longwave-kgen")).replace(
                "{kept}", str(kept)
            )
        )
        cls.kgen.chmod(0o755)
        cls.no_kgen = cls.scratch / "kgen.sh"
        cls.no_kgen.write_text("#!/bin/sh\necho no such kernel >&2\nexit 1\n")
        cls.no_kgen.chmod(0o755)
        return cls.list()

    @classmethod
    def list(cls):
        old = b"the old file\n"
        tuning = cls.scratch / "tuning.json"
        tune = ["--kgen", cls.no_kgen, "--cache", cls.scratch / "none", "--seconds", "0.001"]
        result = cls.run_cli("tune", "-o", tuning, "--minutes", "0.001", *tune)
        assert result.returncode == OK, result.stderr
        compiled = ["compile", cls.package, "-o", "{out}/new.lw", "--target", "host"]
        return [
            Operation("version", ["--version"]),
            Operation("inspect", ["inspect", cls.artifact, "--json"]),
            Operation("verify", ["verify", cls.artifact, "--stream"]),
            Operation(
                "run",
                [
                    "run",
                    cls.artifact,
                    "--input",
                    f"audio=@{cls.rows}",
                    "-o",
                    "probabilities={out}/rows.npy",
                    "--threads",
                    "3",
                ],
                {"rows.npy": old},
            ),
            Operation("listen", ["listen", cls.artifact, cls.speech], catches_signals=True),
            Operation("listen to a pipe", ["listen", cls.artifact], stdin=wav(noise(1)), catches_signals=True),
            Operation(
                "generate",
                [
                    "generate",
                    cls.text,
                    "-p",
                    "and then",
                    "-n",
                    "20",
                    "--temperature",
                    "1",
                    "--state-in",
                    cls.state,
                    "--state-out",
                    "{out}/new.state",
                ],
                {"new.state": cls.state.read_bytes()},
                catches_signals=True,
                accepts=cls.state_goes_on,
            ),
            Operation(
                "tokenizer",
                ["generate", cls.text, "-p", "and then", "-n", "5", "--tokenizer", cls.tokenizer],
                catches_signals=True,
            ),
            Operation(
                "empty cache",
                [*compiled, "--no-check", "--kgen", cls.kgen, "--cache", "{out}/../cache"],
                {"new.lw": old},
            ),
            Operation(
                "kernel compiler",
                [*compiled, "--no-check", "--kgen", cls.kgen, "--cache", "{out}/../cache"],
                {"new.lw": old},
                in_child=True,
            ),
            Operation("compile", [*compiled, "--stream"], {"new.lw": old}),
            Operation("sign", [*compiled, "--no-check", "--sign", cls.key], {"new.lw": old}),
            Operation("sign a file", ["sign", cls.artifact, "--key", cls.key, "-o", "{out}/new.lw"], {"new.lw": old}),
            Operation(
                "tune",
                ["tune", "-o", "{out}/tuning.json", "--minutes", "0.003", *tune],
                {"tuning.json": tuning.read_bytes()},
                accepts=tuning_goes_on,
            ),
        ]

    @classmethod
    def state_goes_on(cls, _, data):
        """Text that cannot be written ends the text, and the state is that of its end."""
        state = cls.scratch / f"state-{threading.get_ident()}"
        state.write_bytes(data)
        return cls.run_cli("generate", cls.text, "--state-in", state, "-n", 1, text=False).returncode == OK
