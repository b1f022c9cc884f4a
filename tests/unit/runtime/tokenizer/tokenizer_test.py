#!/usr/bin/env python3
"""Byte-level BPE: tokenizer_test.py ENCODE_TEXT [--against-tokenizers [TEXTS]]

The ids of committed tokenizers and texts (tokenizers/, made by tokenizer_cases.py and published_rules.py) must be those that the package `tokenizers` gave; bytes that are no UTF-8
must come back; what is not understood must be refused with the reason. With --against-tokenizers the package trains tokenizers here and encodes texts beside the program, by the
rules of published tokenizers and by random expressions; without it installed that exits with 77. TEXTS: how many texts of all scripts for each published tokenizer.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import expression_cases
import published_rules
import script_texts
import tokenizer_cases

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
ENCODE = sys.argv[1]
problems = []


def expect(what, condition):
    if not condition:
        problems.append(what)


def run(tokenizer, texts, vocabulary=1000, special=0, loses=False):
    data = b"".join(b"%d\n" % len(text) + text for text in texts)
    return subprocess.run(
        [ENCODE, str(tokenizer), str(vocabulary), str(special), *(["loses"] if loses else [])],
        input=data,
        capture_output=True,
    )


def encoded(tokenizer, texts, **options):
    """The ids of each text; the program itself fails when they do not give the text again, unless it loses it."""
    done = run(tokenizer, texts, **options)
    if done.returncode != 0:
        problems.append(f"{tokenizer}: {done.stderr.decode()}")
        return [[]] * len(texts)
    return [[int(id) for id in line.split()] for line in done.stdout.decode().split("\n")[:-1]]


def compare(name, tokenizer, texts, expected, **options):
    found = encoded(tokenizer, [text.encode() for text in texts], **options)
    expect(f"{name}: {len(found)} answers, expected {len(expected)}", len(found) == len(expected))
    found += [[]] * (len(expected) - len(found))
    for text, ours, theirs in zip(texts, found, expected, strict=True):
        expect(f"{name}: {text!r}: {ours}, expected {theirs}", ours == theirs)
    print(f"{name}: {len(texts)} texts, {sum(map(len, expected))} ids")


def check_fixture():
    cases = json.loads((FOLDER / "cases.json").read_text())
    for name in ("byte_level", "split", "prefix_space"):
        of_name = [case for case in cases if case["tokenizer"] == name]
        compare(name, FOLDER / f"{name}.json", [case["text"] for case in of_name], [case["ids"] for case in of_name])


def check_published(folder):
    """The rules of published tokenizers."""
    cases = json.loads((FOLDER / "published.json").read_text())
    for name, expected in cases["ids"].items():
        file = folder / f"{name}.json"
        file.write_text(json.dumps(published_rules.described(name, cases["model"])))
        compare(name, file, cases["texts"], expected, vocabulary=0, loses=published_rules.loses(name))
        compare(
            f"{name}, with special tokens", file, ["a"], [cases["special"][name]], vocabulary=0, special=3, loses=True
        )


def check_sides(folder):
    """BOS and EOS, each alone."""
    good = json.loads((FOLDER / "split.json").read_text())
    a = good["model"]["vocab"]["a"]
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "b"}},
            {"SpecialToken": {"id": "c"}},
            {"Sequence": {"id": "A"}},
            {"SpecialToken": {"id": "c"}},
        ],
        "special_tokens": {"b": {"ids": [7]}, "c": {"ids": [8, 9]}},
    }
    for processor, before, after in [
        (template, [7, 8, 9], [8, 9]),
        ({"type": "BertProcessing", "cls": ["x", 3], "sep": ["y", 4]}, [3], [4]),
        ({"type": "RobertaProcessing", "cls": ["x", 3], "sep": ["y", 4]}, [3], [4]),
        ({"type": "ByteLevel"}, [], []),
        (None, [], []),
        ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]}, [7, 8, 9], [8, 9]),
    ]:
        file = folder / "special.json"
        file.write_text(json.dumps(dict(good, post_processor=processor)))
        for special, ids in [(0, [a]), (1, [*before, a]), (2, [a, *after]), (3, [*before, a, *after])]:
            compare(
                f"{(processor or {}).get('type')}, special {special}", file, ["a"], [ids], special=special, loses=True
            )


def check_bytes():
    rng = random.Random(4)
    texts = [bytes(rng.randrange(256) for _ in range(rng.randrange(1, 100))) for _ in range(500)]
    texts += [bytes([i]) for i in range(256)] + [
        b"good \xe2\x82 bad \xf0\x9f end",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"a\xff<|end|>\xffb",
        bytes(range(256)) * 100,
    ]
    texts += [b" \xff" * 1000, b"a" * 1_000_000]  # a piece of any length takes time in proportion
    for name in ("byte_level", "split", "prefix_space"):
        expect(f"{name}: every text has ids", all(encoded(FOLDER / f"{name}.json", texts)))
    # What surrounds bytes that are no UTF-8 has the ids it has alone.
    alone, broken = encoded(FOLDER / "split.json", [b"the miller", b"the miller\xffthe miller"])
    expect(
        "a byte that is no UTF-8 parts two words",
        broken[: len(alone)] == alone and broken[-len(alone) :] == alone and len(broken) == 2 * len(alone) + 1,
    )


def check_refusals(folder):
    good = json.loads((FOLDER / "split.json").read_text())

    def refused(words, edit, vocabulary=1000):
        changed = json.loads(json.dumps(good))
        text = edit(changed)
        file = folder / "tokenizer.json"
        file.write_text(text if isinstance(text, str) else json.dumps(changed))
        done = run(file, [b"a"], vocabulary)
        line = done.stderr.decode()
        expect(
            f"refused with {words!r}, not {line!r}",
            done.returncode == 1
            and line.count("\n") == 1
            and str(file) in line
            and all(word in line for word in words),
        )

    largest = max([*good["model"]["vocab"].values(), *(token["id"] for token in good["added_tokens"])])
    refused([str(largest), f"has {largest} ids", "another model"], lambda t: None, vocabulary=largest)
    refused(["expected JSON"], lambda t: "{")
    refused(["JSON object"], lambda t: "[]")
    refused(["WordPiece", "BPE"], lambda t: t["model"].update(type="WordPiece"))
    refused(["normalizer", "Lowercase"], lambda t: t.update(normalizer={"type": "Lowercase"}))
    refused(
        ["normalizer", "Replace"],
        lambda t: t.update(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace"}]}),
    )
    refused(["model.type", "WordPiece"], lambda t: t["model"].update(type="WordPiece"))
    refused(["model.type"], lambda t: (t["model"].pop("type"), t["model"].pop("merges")))
    refused(
        ["truncation", "long texts"],
        lambda t: t.update(
            truncation={"max_length": 512, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
        ),
    )
    refused(["padding", "short texts"], lambda t: t.update(padding={"strategy": {"Fixed": 8}, "pad_id": 0}))
    refused(["version", "2.0"], lambda t: t.update(version="2.0"))
    refused(["dropout", "chance"], lambda t: t["model"].update(dropout=0.1))
    refused(["continuing_subword_prefix"], lambda t: t["model"].update(continuing_subword_prefix="##"))
    refused(["end_of_word_suffix"], lambda t: t["model"].update(end_of_word_suffix="</w>"))
    refused(["post_processor", "Unknown"], lambda t: t.update(post_processor={"type": "Unknown"}))
    refused(
        ["post_processor", "not the id of a token"],
        lambda t: t.update(post_processor={"type": "BertProcessing", "cls": ["a", 99999], "sep": ["b", 1]}),
    )
    refused(
        ["post_processor", "does not explain", "<x>"],
        lambda t: t.update(post_processor={"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<x>"}}]}),
    )
    refused(
        ["post_processor", "the text once"],
        lambda t: t.update(post_processor={"type": "TemplateProcessing", "single": []}),
    )
    refused(
        ["post_processor", "twice"],
        lambda t: t.update(
            post_processor={
                "type": "Sequence",
                "processors": [{"type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 1]}] * 2,
            }
        ),
    )
    refused(["added token", "package tokenizers gives it id"], lambda t: t["added_tokens"][0].update(id=900))
    refused(['the tokens "a" and "b"', "same id"], lambda t: t["model"]["vocab"].update(b=t["model"]["vocab"]["a"]))
    refused(["added token", "twice"], lambda t: t["added_tokens"].append(t["added_tokens"][0]))
    refused(
        ["Metaspace", "pre_tokenizer 1"], lambda t: t["pre_tokenizer"]["pretokenizers"].insert(0, {"type": "Metaspace"})
    )
    refused(["ByteLevel", "second time"], lambda t: t["pre_tokenizer"]["pretokenizers"].append({"type": "ByteLevel"}))
    refused(["[0m", "pre_tokenizer 1"], lambda t: t["pre_tokenizer"]["pretokenizers"].insert(0, {"type": "\x1b[0m\n"}))
    for expression, words in expression_cases.REFUSED.items():
        refused(
            [*words, "pre_tokenizer 1"],
            lambda t, expression=expression: t["pre_tokenizer"]["pretokenizers"][0].update(
                pattern={"Regex": expression}
            ),
        )
    refused(["model.vocab"], lambda t: t["model"].pop("vocab"))
    refused(["model.merges"], lambda t: t["model"].pop("merges"))
    refused(["no token for byte 97"], lambda t: t["model"]["vocab"].pop("a"))
    refused(["merge 0", "two tokens of the vocabulary"], lambda t: t["model"]["merges"].insert(0, ["nowhere", "a"]))
    refused(["merge 0", "not in the vocabulary"], lambda t: t["model"]["merges"].insert(0, ["!", "a"]))
    refused(["whole number of at least 0"], lambda t: t["model"]["vocab"].update(a=-1))
    refused(["whole number of at least 0"], lambda t: t["model"]["vocab"].update(a=1.5))
    refused(["no content"], lambda t: t["added_tokens"][0].update(content=""))
    refused(["pre_tokenizer 1", "Whitespace"], lambda t: t.update(pre_tokenizer={"type": "Whitespace"}))
    refused(["pre-tokenizer", "missing"], lambda t: t.update(pre_tokenizer=None))
    refused(["behavior of Split"], lambda t: t["pre_tokenizer"]["pretokenizers"][0].update(behavior="Other"))
    refused(["needs a pattern"], lambda t: t["pre_tokenizer"]["pretokenizers"][0].update(pattern={}))


def check_steps(folder):
    """An expression that takes too many steps on a text gives no ids, instead of others."""
    changed = json.loads((FOLDER / "split.json").read_text())
    changed["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": "(?:(?:a+)+)+b"})
    file = folder / "steps.json"
    file.write_text(json.dumps(changed))
    expect("few steps are taken", encoded(file, [b"aab"]) != [[]])
    done = run(file, [b"a" * 40 + b"!b"])
    expect(f"too many steps: {done.stderr}", done.returncode == 1 and b"too many steps" in done.stderr)


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
    count = next((int(argument) for argument in sys.argv[3:]), 500)
    texts = script_texts.texts(count, seed=12)
    model = published_rules.vocabulary(texts[:3000], 6000)
    for name in published_rules.RULES:
        file = folder / f"{name}.json"
        file.write_text(json.dumps(published_rules.described(name, model)))
        alone, special = zip(*published_rules.encoded(name, model, texts))
        compare(f"{name}, texts of all scripts", file, texts, alone, vocabulary=0, loses=published_rules.loses(name))
        compare(f"{name}, with special tokens", file, texts[:50], special[:50], vocabulary=0, special=3, loses=True)
    check_expressions(folder, 400)
    check_tables(folder)


def check_tables(folder):
    """The tables of Unicode, made again."""
    source = pathlib.Path(__file__).resolve().parents[4] / "runtime/tokenizer/unicode"
    subprocess.run([sys.executable, source / "make_tables.py", folder], check=True)
    for made in sorted(folder.glob("*.inc")):
        expect(f"{made.name} is what the package says", made.read_text() == (source / made.name).read_text())


def check_expressions(folder, count):
    """Random expressions: the same cuts, or a refusal."""
    compared = refusals = 0
    for number, (description, texts) in enumerate(expression_cases.random_tokenizers(count, seed=13)):
        expected = expression_cases.ids(description, texts)
        file = folder / "expression.json"
        file.write_text(description)
        done = run(file, [text.encode() for text in texts], vocabulary=0, loses=True)
        if done.returncode != 0:
            refusals += 1
            expect(f"a reason: {done.stderr}", done.stderr.count(b"\n") == 1)
        elif expected is not None:
            compared += 1
            found = [[int(id) for id in line.split()] for line in done.stdout.decode().split("\n")[:-1]]
            expect(f"expression {number}: {json.loads(description)['pre_tokenizer']}", found == expected)
    print(f"random expressions: {compared} compared, {refusals} refused")
    expect("most expressions are read", compared > refusals)


with tempfile.TemporaryDirectory() as temporary:
    if "--against-tokenizers" in sys.argv[2:]:
        check_package(pathlib.Path(temporary))
    else:
        check_fixture()
        check_published(pathlib.Path(temporary))
        check_sides(pathlib.Path(temporary))
        check_steps(pathlib.Path(temporary))
        check_bytes()
        check_refusals(pathlib.Path(temporary))
print("\n".join(problems[:20]))
sys.exit(1 if problems else 0)
