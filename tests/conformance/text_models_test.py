#!/usr/bin/env python3
"""The trained language models in the engine against PyTorch.

    text_models_test.py LONGWAVE FOLDER MODELS [--python tools/python --text DATA] [--write]

Each model of MODELS (examples/text) is compiled for blocks of 1 and 64. Without PyTorch the expected values are those of text_models.json, which PyTorch made from
the same weights: natural logarithms of the probability of every byte of a sentence, read in either block, and 500 bytes written greedily from a prompt. With
--python and --text PyTorch itself is asked: its layers over the first 2,000 held-out bytes of DATA, and the text it writes now. --write makes text_models.json anew.

The limit of a logit, and of a logarithm of a probability, is 1e-4: both sides sum some thousand float32 products on the way to a logit of about 10, in another
order, so each may be a few times 10 * 2^-24 * sqrt(1000) = 2e-5 from the exact value. A byte that is written may differ only where PyTorch's best two logits are
within 1e-4; the reference's byte is then followed, and the place is printed.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys

REFERENCE = pathlib.Path(__file__).with_suffix(".json").with_name("text_models.json")
SENTENCE = (
    "Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty, and dedicated to the proposition that all "
    "men are created equal."
)
PROMPT = "It was a dark and stormy night; the rain fell in torrents, except at occasional intervals, when "
WRITTEN, HELD_OUT, LIMIT = 500, 2000, 1e-4


def digest(model):
    return hashlib.sha256(
        (model / "weights.safetensors").read_bytes() + (model / "model.json").read_bytes()
    ).hexdigest()


def names(models):
    return sorted(path.parent.parent.name for path in models.glob("*/model/model.json"))


def log_probabilities(rows, ids):
    """Of ids[1:], each from the row of logits behind the byte before it."""
    found = []
    for row, following in zip(rows, ids[1:]):
        peak = max(row)
        found.append(row[following] - peak - math.log(sum(math.exp(value - peak) for value in row)))
    return found


def greedy(ask):
    """WRITTEN bytes behind PROMPT, and how far the best logit stood before the second each time; `ask(ids)` gives the logits behind all ids."""
    ids, margins = list(PROMPT.encode()), []
    for _ in range(WRITTEN):
        row = ask(ids)
        best, second = sorted(range(256), key=lambda n: -row[n])[:2]
        ids.append(best)
        margins.append(row[best] - row[second])
    return ids[len(PROMPT.encode()) :], margins


class Engine:
    def __init__(self, longwave, folder, models, name):
        artifact = folder / f"text_{name}.lw"
        done = subprocess.run(
            [
                longwave,
                "compile",
                models / name / "model",
                "-o",
                artifact,
                "--blocks",
                "1,64",
                "--target",
                "host",
                "--json",
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr}"
        import longwave_ctypes

        self.api, self.model = longwave_ctypes, longwave_ctypes.Model(artifact)
        assert self.model.blocks() == [1, 64], self.model.blocks()

    def logits(self, ids, entry):
        """A row of 256 behind each of `ids`."""
        stream = self.api.Stream(self.model, self.model.blocks()[entry])
        rows = [list(row) for _, _, row in stream.push(ids)] + [list(row) for _, _, row in stream.finish()]
        stream.close()
        return rows[: len(ids)]

    def close(self):
        self.model.close()


def check_sentence(name, engine, expected):
    ids = list(SENTENCE.encode())
    for entry, block in enumerate((1, 64)):
        found = log_probabilities(engine.logits(ids, entry), ids)
        assert len(found) == len(expected) == len(ids) - 1, (len(found), len(expected))
        worst = max(abs(a - b) for a, b in zip(found, expected))
        assert worst <= LIMIT, (
            f"{name}, block {block}: a logarithm of a probability is {worst:.1e} from PyTorch's, limit {LIMIT:.0e}"
        )
        print(
            f"{name}, block {block}: {len(found)} logarithms of probabilities within {worst:.1e} of PyTorch's; {-sum(found) / len(found) / math.log(2):.3f} "
            "bits a byte",
            flush=True,
        )


def check_written(name, engine, written, margins):
    """One byte at a time from a fresh stream, as a program writes text."""
    stream, row = engine.api.Stream(engine.model, 0), None
    for byte in PROMPT.encode():
        for _, _, row in stream.push([byte]):
            row = list(row)
    splits = []
    for n, (byte, margin) in enumerate(zip(written, margins)):
        best = max(range(256), key=row.__getitem__)
        if best != byte:
            assert margin <= LIMIT, (
                f"{name}: byte {n} is {best}, PyTorch writes {byte}, whose logit is {margin:.2e} before the next"
            )
            splits.append(f"byte {n}: {best} for {byte}, logits {margin:.1e} apart")
        for _, _, row in stream.push([byte]):
            row = list(row)
    stream.close()
    assert len(written) == len(margins) == WRITTEN
    print(
        f"{name}: {WRITTEN} bytes written as PyTorch writes them; closest logits {min(margins):.1e} apart; splits: {'; '.join(splits) or 'none'}",
        flush=True,
    )


class Torch:
    """The layers in PyTorch, of a package."""

    def __init__(self, models, name):
        import torch
        from longwave.text import export, model

        self.torch, self.text_model = torch, model
        torch.set_num_threads(1)
        self.net = export.from_package(models / name / "model")
        self.windowed = model.windowed(self.net)

    def logits(self, ids):
        """By the layers over all ids at once."""
        with self.torch.no_grad():
            found = self.net(self.torch.tensor([ids]))
        return (found if self.torch.is_tensor(found) else found[1])[0].tolist()

    def behind(self, ids):
        """The last row alone, by the form that is cheap; what it writes is held to the layers below."""
        with self.torch.no_grad():
            padded = self.torch.tensor([ids + [0] * (-len(ids) % self.text_model.BLOCK)])
            return self.windowed(padded, self.text_model.fresh_state(self.net, 1))[0][0, len(ids) - 1].tolist()

    def reference(self):
        ids = list(SENTENCE.encode())
        written, _ = greedy(self.behind)
        rows = self.logits(list(PROMPT.encode()) + written)[len(PROMPT.encode()) - 1 : -1]
        margins = []
        for row, byte in zip(rows, written):
            margins.append(row[byte] - max(value for n, value in enumerate(row) if n != byte))
        assert min(margins) > -LIMIT, "the cheap form writes what the layers would not"
        return {
            "log_probabilities": [round(p, 6) for p in log_probabilities(self.logits(ids), ids)],
            "written": bytes(written).hex(),
            "close": {str(n): margin for n, margin in enumerate(margins) if margin < 100 * LIMIT},
        }


def check_held_out(name, engine, torch, ids):
    expected = torch.logits(ids)
    for entry, block in enumerate((1, 64)):
        found = engine.logits(ids, entry)
        worst = max(abs(a - b) for one, other in zip(found, expected) for a, b in zip(one, other))
        peak = max(abs(value) for row in expected for value in row)
        assert worst <= LIMIT, f"{name}, block {block}: a logit is {worst:.1e} from PyTorch's, limit {LIMIT:.0e}"
        print(
            f"{name}, block {block}: logits over {len(ids)} held-out bytes within {worst:.1e} of PyTorch's, the largest being {peak:.1f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="for artifacts and kernels")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--python", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    os.environ.setdefault("LONGWAVE_LIBRARY", str(options.longwave.resolve().parent / "liblongwave.so"))
    sys.path[:0] = [str(root / "tests/support"), str(options.python or "")]

    if options.write:
        made = {
            name: {"digest": digest(options.models / name / "model")} | Torch(options.models, name).reference()
            for name in names(options.models)
        }
        REFERENCE.write_text(json.dumps(made, indent=1) + "\n")
        return 0
    reference = json.loads(REFERENCE.read_text())
    assert sorted(reference) == names(options.models), (sorted(reference), names(options.models))
    for name, expected in reference.items():
        assert expected["digest"] == digest(options.models / name / "model"), (
            f"{name}: {REFERENCE.name} was made from another model: see --write"
        )
        engine = Engine(options.longwave, options.folder, options.models, name)
        if options.python and options.text:
            from longwave.text import data

            torch = Torch(options.models, name)
            check_held_out(name, engine, torch, list(data.read(options.text, "held_out")[:HELD_OUT]))
            again = torch.reference()
            same = again["written"] == expected["written"]
            assert same or again["close"], f"{name}: PyTorch writes another text than the one of {REFERENCE.name}"
            expected = again
        check_sentence(name, engine, expected["log_probabilities"])
        margins = [expected["close"].get(str(n), 100 * LIMIT) for n in range(WRITTEN)]
        check_written(name, engine, bytes.fromhex(expected["written"]), margins)
        engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
