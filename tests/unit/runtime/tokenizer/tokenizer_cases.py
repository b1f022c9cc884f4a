"""Tokenizers of each layout that is read, trained here on text written for it, and texts that are hard to cut: for tokenizer_test.py and for the committed fixture.

tokenizer_cases.py FOLDER      writes FOLDER/<name>.json and FOLDER/cases.json: [{"tokenizer", "text", "ids"}], as the package `tokenizers` has it
"""

import json
import pathlib
import random
import sys

WORDS = """the a miller carries flour through snow and rain; nobody knows where he slept, but we'll ask: "isn't it late?" They've 12 mules and 1999 sacks, I'd say.
Der Müller trägt Mehl über den Fluß, naïve façades, señor, żółw, Ελληνικά γράμματα, русский текст, עברית, العربية, हिन्दी, ไทย
水車小屋の粉屋は雪の中を歩く。風車。漢字と仮名、한국어 문장도 있다. 中文没有空格，所以词很长。
    def mill(flour):\n\treturn {'sacks': flour // 25, "rest": flour % 25}  # comment\r\n\r\n
🙂 👩‍👩‍👧 🇩🇪 ½ ² ⅷ ٣ ۴ x² 3.14159 1,000,000 100000 v2.0-rc1 https://example.org/?q=1&r=2 e\u0301 ﬁ ſ I'S WE'LL it'ſ"""

HARD = [
    "",
    " ",
    "  ",
    "\n",
    "a",
    " a",
    "a ",
    "  a",
    "a  b",
    "a \n b",
    "\n\n\na",
    "\t \t",
    "don't",
    "DON'T",
    "we'll've",
    "'s",
    "''s",
    "x'",
    "12345678",
    "1 2 3",
    "a1b2",
    "...",
    " ...!?",
    "a\u00a0b",
    "\u3000全角",
    "a\u2003 b",
    "a\u0085b",
    "a\u180eb \u180e",
    "a\u200bb",
    "\ufeffbom",
    "\x00\x01\x7f",
    "e\u0301e\u0301",
    "İI",
    "ſ'ſ",
    "it'ſ",
    "🙂🙂",
    "👩‍👩‍👧",
    "\U0001f1e9\U0001f1ea",
    "\U0010ffff",
    "<|end|>",
    "a<|end|>b",
    "<|end|><|end|>",
    "<|end",
    "<|endless|>",
    " <|end|> ",
    "plain word plain",
    "aplainb",
    "word\r\nword\r\n",
    "   \r\n  x",
    "a" * 500,
    "ab" * 300,
    " " * 200,
    "漢" * 100,
]


def texts(count, seed=1):
    rng = random.Random(seed)
    planes = [
        (0x20, 0x7F),
        (0xA0, 0x250),
        (0x370, 0x600),
        (0x900, 0xA00),
        (0x2000, 0x2070),
        (0x3000, 0x3100),
        (0x4E00, 0x5000),
        (0xAC00, 0xAD00),
        (0x1F600, 0x1F650),
        (9, 14),
    ]
    words = WORDS.split(" ")
    made = list(HARD) + WORDS.splitlines() + [WORDS]
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(1, 30)):
            if rng.random() < 0.5:
                parts.append(rng.choice(words))
            else:
                low, high = rng.choice(planes)
                parts.append("".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 6))))
            parts.append(rng.choice(["", " ", " ", "  ", "\n", "\t"]))
        made.append("".join(parts))
    return made


def tokenizers():
    """{name: Tokenizer}: GPT-2's layout, Llama 3's, and one with a space in front and merges written the old way."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    def trained(pre_tokenizer, size, **model):
        tokenizer = Tokenizer(models.BPE(**model))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
        tokenizer.train_from_iterator(texts(200, seed=7), trainer)
        return tokenizer

    gpt2 = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), 600)
    gpt2.add_special_tokens(["<|end|>", "<|endless|>"])
    gpt2.add_tokens([AddedToken("plain", normalized=True)])
    llama3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    split = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(llama3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    split = trained(split, 500, ignore_merges=True)
    split.add_special_tokens(["<|end|>"])
    return {
        "byte_level": gpt2,
        "split": split,
        "prefix_space": trained(pre_tokenizers.ByteLevel(add_prefix_space=True), 400),
    }


def written(name, tokenizer):
    """tokenizer.json; that of "prefix_space" with its merges as older versions wrote them."""
    description = json.loads(tokenizer.to_str())
    if name == "prefix_space":
        description["model"]["merges"] = [
            " ".join(pair) if isinstance(pair, list) else pair for pair in description["model"]["merges"]
        ]
    return json.dumps(description, ensure_ascii=False)


def ids(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def main():
    folder = pathlib.Path(sys.argv[1])
    cases = []
    for name, tokenizer in tokenizers().items():
        (folder / f"{name}.json").write_text(written(name, tokenizer))
        cases += [{"tokenizer": name, "text": text, "ids": ids(tokenizer, text)} for text in texts(12, seed=3)]
    (folder / "cases.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
