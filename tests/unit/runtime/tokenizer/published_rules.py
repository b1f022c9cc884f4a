"""Rules of published byte-level tokenizers: what their `tokenizer.json` says beside vocabulary and merges, from their public files and descriptions. The vocabulary is one that
is trained here, on texts that are not cut: its tokens cross the places where a tokenizer cuts, so another cut gives other ids.

    published_rules.py FOLDER      writes FOLDER/published.json: the vocabulary, and ids of some texts for each tokenizer
"""

import json
import pathlib
import sys

import script_texts

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CL100K = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K_POSSESSIVE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
QWEN2 = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
END = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


def cased(upper, lower, contractions, numbers, slash="/"):
    start = r"[^\r\n\p{L}\p{N}]?"
    return (
        f"{start}[{upper}]*[{lower}]+{contractions}|{start}[{upper}]+[{lower}]*{contractions}|{numbers}"
        + r"| ?[^\s\p{L}\p{N}]+[\r\n"
        + slash
        + "]*"
        + END
    )


O200K = cased(UPPER, LOWER, CONTRACTIONS + "?", r"\p{N}{1,3}")
TEKKEN = cased(UPPER, LOWER, "", r"\p{N}")
KIMI = r"[\p{Han}]+|" + cased(UPPER + r"&&[^\p{Han}]", LOWER + r"&&[^\p{Han}]", CONTRACTIONS + "?", r"\p{N}{1,3}", "")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    + END
)
QWEN35 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + END


def byte_level(use_regex=True, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def split(expression, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


def template(before, after=()):
    def piece(token):
        return {"SpecialToken": {"id": token, "type_id": 0}}

    ids = {"<s>": 0, "</s>": 1, "<pad>": 2}
    return {
        "type": "TemplateProcessing",
        "single": [*map(piece, before), {"Sequence": {"id": "A", "type_id": 0}}, *map(piece, after)],
        "pair": [],
        "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (*before, *after)},
    }


def token(content, normalized=False, special=True, **flags):
    return {
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        **flags,
        "normalized": normalized,
        "special": special,
    }


NFC, EMPTY = {"type": "NFC"}, {"type": "Sequence", "normalizers": []}
OFFSETS = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
ROBERTA = {
    "type": "RobertaProcessing",
    "sep": ["</s>", 1],
    "cls": ["<s>", 0],
    "trim_offsets": True,
    "add_prefix_space": False,
}
SPACES = [token(" " * n, normalized=True, special=False) for n in range(24, 1, -1)]
SPECIAL = [token("<|end|>"), token("<|endless|>")]

# name: (normalizer, pre_tokenizer, post_processor, added tokens, members of the model)
RULES = {
    "gpt2": (
        None,
        byte_level(),
        OFFSETS,
        [token("<|endoftext|>", normalized=True)],
        {"unk_token": "", "continuing_subword_prefix": "", "end_of_word_suffix": ""},
    ),
    "gpt_neox": (NFC, byte_level(), OFFSETS, [*SPACES, *SPECIAL], {}),
    "mpt": (NFC, byte_level(), OFFSETS, SPACES[::-1], {}),
    "llama3": (
        None,
        sequence(split(CL100K), byte_level(False)),
        {"type": "Sequence", "processors": [OFFSETS, template(["<s>"])]},
        SPECIAL,
        {"ignore_merges": True},
    ),
    "qwen2": (
        NFC,
        sequence(split(QWEN2), byte_level(False)),
        OFFSETS,
        SPECIAL,
        {"continuing_subword_prefix": "", "end_of_word_suffix": ""},
    ),
    "qwen3_5": (NFC, sequence(split(QWEN35), byte_level(False)), OFFSETS, SPECIAL, {}),
    "deepseek_v3": (
        EMPTY,
        sequence(split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level(False)),
        template(["<s>"]),
        SPECIAL,
        {},
    ),
    "deepseek_llm": (
        EMPTY,
        sequence(
            split("[\r\n]"),
            split(r"\s?\p{L}+"),
            split(r"\s?\p{P}+"),
            split("[一-龥ࠀ-一가-퟿]+"),
            digits(True),
            byte_level(False),
        ),
        template(["<s>"]),
        [],
        {},
    ),
    "kimi_k2": (None, sequence(split(KIMI), byte_level(False)), None, SPECIAL, {"ignore_merges": True}),
    "smollm": (None, sequence(digits(True), byte_level()), None, SPECIAL, {}),
    "falcon": (
        None,
        sequence(
            {"type": "Punctuation", "behavior": "Contiguous"}, byte_level(), digits(False), split("[0-9][0-9][0-9]")
        ),
        OFFSETS,
        SPECIAL,
        {},
    ),
    "bloom": (None, sequence(split(BLOOM), byte_level(False)), OFFSETS, SPECIAL, {"fuse_unk": False}),
    "starcoder": (None, sequence(digits(True), byte_level()), OFFSETS, [token("<fim_prefix>"), *SPECIAL], {}),
    "codegen": (
        None,
        byte_level(),
        OFFSETS,
        [token(" " * n, normalized=True, special=False) for n in range(31, 1, -1)]
        + [token("\t" * n, normalized=True, special=False) for n in range(9, 1, -1)],
        {},
    ),
    "roberta": (None, byte_level(), ROBERTA, [token("<mask>", lstrip=True)], {"unk_token": "<pad>"}),
    "whisper": (None, byte_level(), template(["<s>", "<pad>"], ["</s>"]), SPECIAL, {}),
    "opt": (None, byte_level(), template(["</s>"]), [], {}),
    "olmo": (NFC, byte_level(), template([], ["</s>"]), [token("|||IP_ADDRESS|||", special=False), *SPACES], {}),
    "phi_2": (None, byte_level(), OFFSETS, SPACES, {}),
    "cl100k": (None, sequence(split(CL100K), byte_level(False)), None, SPECIAL, {}),
    "cl100k_possessive": (None, sequence(split(CL100K_POSSESSIVE), byte_level(False)), None, SPECIAL, {}),
    "o200k": (None, sequence(split(O200K), byte_level(False)), None, SPECIAL, {}),
    "tekken": (None, sequence(split(TEKKEN), byte_level(False)), template(["<s>"]), SPECIAL, {"ignore_merges": True}),
    "command_r": (NFC, sequence(digits(True), byte_level()), template(["<s>"]), SPECIAL, {}),
    "granite": (
        None,
        sequence(digits(True), byte_level()),
        None,
        [token("<|user|>", single_word=True), token("<|tool|>", rstrip=True, lstrip=True)],
        {"unk_token": "<s>"},
    ),
    "bart_prefix": (
        None,
        byte_level(add_prefix_space=True),
        ROBERTA,
        [token("<mask>", lstrip=True, normalized=True)],
        {},
    ),
}


def vocabulary(texts, size):
    """A model that is trained on texts as they are."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "</s>", "<pad>"],
        max_token_length=24,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


def described(name, model):
    """The tokenizer.json of a tokenizer with that model."""
    normalizer, pre_tokenizer, post_processor, added, members = RULES[name]
    added = [dict(one, id=i) for i, one in enumerate([token("<s>"), token("</s>"), token("<pad>")])] + [
        dict(one, id=model["vocab"].get(one["content"], None)) for one in added
    ]
    next_id = len(model["vocab"])
    for one in added:
        if one["id"] is None:
            one["id"], next_id = next_id, next_id + 1
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {**model, **members},
    }


def loses(name):
    """Whether the ids may stand for another text."""
    return RULES[name][0] is not None or any(one["lstrip"] or one["rstrip"] for one in RULES[name][3])


def encoded(name, model, texts):
    """For each text: its ids, and those with special tokens, as the package `tokenizers` has them."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(described(name, model)))
    return [
        (tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.encode(text, add_special_tokens=True).ids)
        for text in texts
    ]


def main():
    texts = script_texts.texts(24, seed=5)
    model = vocabulary(texts, 900)
    cases = {name: [ids for ids, _ in encoded(name, model, texts)] for name in RULES}
    special = {name: encoded(name, model, ["a"])[0][1] for name in RULES}
    (pathlib.Path(sys.argv[1]) / "published.json").write_text(
        json.dumps({"model": model, "texts": texts, "special": special, "ids": cases}, separators=(",", ":")) + "\n"
    )


if __name__ == "__main__":
    main()
