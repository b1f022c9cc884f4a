#!/usr/bin/env python3
"""Byte-level BPE: tokenizer_test.py ENCODE_TEXT [--against-tokenizers]

The ids of committed tokenizers and texts (tokenizers/, made by tokenizer_cases.py) must be those that the package `tokenizers` gave; bytes that are no UTF-8 must come back; what
is no byte-level BPE must be refused. With --against-tokenizers the package trains tokenizers here and encodes some thousand texts beside the program; without it installed
that exits with 77.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizer_cases

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
ENCODE = sys.argv[1]
problems = []


def expect(what, condition):
    if not condition:
        problems.append(what)


def run(tokenizer, texts, vocabulary=1000):
    data = b"".join(b"%d\n" % len(text) + text for text in texts)
    return subprocess.run([ENCODE, str(tokenizer), str(vocabulary)], input=data, capture_output=True)


def encoded(tokenizer, texts):
    """The ids of each text; the program itself fails when they do not give the text again."""
    done = run(tokenizer, texts)
    if done.returncode != 0:
        problems.append(f"{tokenizer}: {done.stderr.decode()}")
        return [[]] * len(texts)
    return [[int(id) for id in line.split()] for line in done.stdout.decode().split("\n")[:-1]]


def compare(name, tokenizer, texts, expected):
    found = encoded(tokenizer, [text.encode() for text in texts])
    for text, ours, theirs in zip(texts, found, expected, strict=True):
        expect(f"{name}: {text!r}: {ours}, expected {theirs}", ours == theirs)
    print(f"{name}: {len(texts)} texts, {sum(map(len, expected))} ids")


def check_fixture():
    cases = json.loads((FOLDER / "cases.json").read_text())
    for name in ("byte_level", "split", "prefix_space"):
        of_name = [case for case in cases if case["tokenizer"] == name]
        compare(name, FOLDER / f"{name}.json", [case["text"] for case in of_name], [case["ids"] for case in of_name])


def check_bytes():
    rng = random.Random(4)
    texts = [bytes(rng.randrange(256) for _ in range(rng.randrange(1, 100))) for _ in range(500)]
    texts += [bytes([i]) for i in range(256)] + [b"good \xe2\x82 bad \xf0\x9f end", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xff<|end|>\xffb", bytes(range(256)) * 100]
    texts += [b" \xff" * 1000, b"a" * 1_000_000]  # a piece of any length takes time in proportion
    for name in ("byte_level", "split", "prefix_space"):
        expect(f"{name}: every text has ids", all(encoded(FOLDER / f"{name}.json", texts)))
    # What surrounds bytes that are no UTF-8 has the ids it has alone.
    alone, broken = encoded(FOLDER / "split.json", [b"the miller", b"the miller\xffthe miller"])
    expect("a byte that is no UTF-8 parts two words", broken[:len(alone)] == alone and broken[-len(alone):] == alone and len(broken) == 2 * len(alone) + 1)


def check_refusals(folder):
    good = json.loads((FOLDER / "split.json").read_text())

    def refused(words, edit, vocabulary=1000):
        changed = json.loads(json.dumps(good))
        text = edit(changed)
        file = folder / "tokenizer.json"
        file.write_text(text if isinstance(text, str) else json.dumps(changed))
        done = run(file, [b"a"], vocabulary)
        line = done.stderr.decode()
        expect(f"refused with {words!r}, not {line!r}", done.returncode == 1 and line.count("\n") == 1 and str(file) in line and all(word in line for word in words))

    largest = max([*good["model"]["vocab"].values(), *(token["id"] for token in good["added_tokens"])])
    refused([str(largest), f"has {largest} ids", "another model"], lambda t: None, vocabulary=largest)
    refused(["expected JSON"], lambda t: "{")
    refused(["JSON object"], lambda t: "[]")
    refused(["WordPiece", "BPE"], lambda t: t["model"].update(type="WordPiece"))
    refused(["normalizer", "NFC"], lambda t: t.update(normalizer={"type": "NFC"}))
    refused(["byte_fallback"], lambda t: t["model"].update(byte_fallback=True))
    refused(["unk_token"], lambda t: t["model"].update(unk_token="<unk>"))
    refused(["model.vocab"], lambda t: t["model"].pop("vocab"))
    refused(["model.merges"], lambda t: t["model"].pop("merges"))
    refused(["no token for byte 97"], lambda t: t["model"]["vocab"].pop("a"))
    refused(["merge 0", "two tokens of the vocabulary"], lambda t: t["model"]["merges"].insert(0, ["nowhere", "a"]))
    refused(["merge 0", "not in the vocabulary"], lambda t: t["model"]["merges"].insert(0, ["!", "a"]))
    refused(["whole number of at least 0"], lambda t: t["model"]["vocab"].update(a=-1))
    refused(["whole number of at least 0"], lambda t: t["model"]["vocab"].update(a=1.5))
    refused(["lstrip"], lambda t: t["added_tokens"][0].update(lstrip=True))
    refused(["no content"], lambda t: t["added_tokens"][0].update(content=""))
    refused(["pre-tokenizer", "Whitespace"], lambda t: t.update(pre_tokenizer={"type": "Whitespace"}))
    refused(["pre-tokenizer", "missing"], lambda t: t.update(pre_tokenizer=None))
    refused(["Isolated"], lambda t: t["pre_tokenizer"]["pretokenizers"][0].update(behavior="Removed"))
    refused(["wrong regular expression"], lambda t: t["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": "("}))


def check_package(folder):
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        print("SKIPPED: the Python package tokenizers is not installed")
        sys.exit(77)
    texts = tokenizer_cases.texts(3000, seed=11)
    for name, tokenizer in tokenizer_cases.tokenizers().items():
        file = folder / f"{name}.json"
        file.write_text(tokenizer_cases.written(name, tokenizer))
        compare(f"{name}, trained here", file, texts, [tokenizer_cases.ids(tokenizer, text) for text in texts])


with tempfile.TemporaryDirectory() as temporary:
    if "--against-tokenizers" in sys.argv[2:]:
        check_package(pathlib.Path(temporary))
    else:
        check_fixture()
        check_bytes()
        check_refusals(pathlib.Path(temporary))
print("\n".join(problems[:20]))
sys.exit(1 if problems else 0)
