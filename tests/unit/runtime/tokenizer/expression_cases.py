"""Regular expressions of tokenizers, in the syntax of Oniguruma: random ones, and ones that must be refused."""

import json
import random

# Expression: words of the message.
REFUSED = {
    "(": ["without"],
    ")": ["without"],
    "[": ["without"],
    "*a": ["without something before it"],
    "a|+": ["without something before it"],
    "\\": ["backslash"],
    r"a\Kb": [r"\K at byte 1"],
    r"\G": [r"\G"],
    r"\X": [r"\X"],
    r"a\y": [r"\y at byte 1"],
    r"(a)\1": ["back-reference"],
    r"(?<n>a)\k<n>": [r"\k"],
    r"(?<n>a)\g<n>": [r"\g"],
    "(?~a)": ["a group of this kind"],
    "(?(a)b|c)": ["a group of this kind"],
    "(?W:a)": ["a group of this kind"],
    "(?s:.)": ["a group of this kind"],
    "(?P<n>a)": ["a group of this kind"],
    "(?{x})": ["a group of this kind"],
    "(*FAIL)": ["callout"],
    "(*UTF)": ["callout"],
    "(?y{g}a)": ["a group of this kind"],
    "(?R)": ["a group of this kind"],
    r"\p{Emoji}": ["property Emoji"],
    r"\p{L": ["without }"],
    r"\p{Script=Han}": ["property Script=Han"],
    r"\x": [r"form of \x"],
    r"\xe4": ["byte of a character"],
    r"\x{110000}": ["not a code point"],
    r"\x{d800}": ["not a code point"],
    r"\x{41 42}": [r"form of \x"],
    r"\u12": [r"\u"],
    r"\cA": [r"\c"],
    r"\C-a": [r"\C"],
    r"\M-a": [r"\M"],
    r"\012": ["octal"],
    "[]a]": ["begins with ]"],
    "[^]a]": ["begins with ]"],
    "[z-a]": ["ends before it begins"],
    r"[\w-a]": ["begins with a class"],
    r"[a-\w]": ["ends with a class"],
    "[[:nothing:]]": ["known names"],
    "(?i)é": ["beyond ASCII"],
    r"(?i)[\p{L}]": ["beyond ASCII"],
    "(?i)ss": ["two letters"],
    "(?i)fi": ["two letters"],
    "(?i)s{2}": ["two letters"],
    r"(?i)\x41": ["by its number"],
    "(?<=a+)b": ["varying number"],
    "(?<!a|b*)c": ["varying number"],
    "^*": ["repeat of a position"],
    "(?=a)+": ["repeat of a position"],
    "(?:a*)+": ["may be empty"],
    "(?:|a){2}": ["may be empty"],
    "a{1001}": ["1000 repeats"],
    "a{2,5000}": ["1000 repeats"],
    "a" * 10001: ["10001 bytes"],
    "(" * 60 + ")" * 60: ["nested groups"],
    "[" * 60 + "a" + "]" * 60: ["classes in classes"],
    "(?:(?:a{900}){900}){900}": ["PCRE2"],
    "a??????????????": ["many repeats"],
    "(?#a": ["without )"],
}

CHARACTERS = [
    *"abcABCkKsSfilt019_-.,'!\t\n\r",
    *"éÉßſKあ中²½٣ǅªⓐⅧ🙂",
    "हि",
    "ก",
    "\u0e34",
    "\u0301",
    "\u2028",
    "\x85",
    "\xa0",
    "\u180e",
    "\U00011f04",
    "\U00016d40",
    "\u1c89",
    "\U0001171e",
    "\ua7ce",
    "\u0378",
]
PROPERTIES = """L Lu Ll Lt Lm Lo M Mn Mc N Nd Nl No P Po S So Z Zs C Cn Cc Han Hiragana Latin Devanagari Thai Greek Alphabetic Uppercase Lowercase White_Space Any Alpha Punct Word Digit Space
Common LC Letter Kawi Alnum Graph Print Blank XDigit ASCII Unknown Upper Lower Cntrl""".split()
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper xdigit word".split()
ESCAPED = [
    r"\t",
    r"\n",
    r"\r",
    r"\x41",
    r"\x{4e2d}",
    r"\u0915",
    r"\.",
    r"\-",
    r"\Q",
    r"\E",
    r"\_",
    r"\'",
    r"\f",
    r"\e",
    r"\x61",
    r"\i",
    r"\l",
    r"\&",
    r"\#",
]


def text(rng):
    return "".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(1, 25)))


def escape(rng):
    return rng.choice(
        [
            *r"\w \W \d \D \s \S \h \H".split(),
            *(form % rng.choice(PROPERTIES) for form in (r"\p{%s}", r"\P{%s}", r"\p{^%s}")),
        ]
    )


def literal(rng):
    c = rng.choice(CHARACTERS)[0]
    if rng.random() < 0.25:
        return rng.choice(ESCAPED)
    return "\\" + c if c in ".-" else c


def character_class(rng, depth=0):
    items = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.random()
        if kind < 0.3:
            items.append(literal(rng))
        elif kind < 0.45:
            items.append("-".join(sorted(rng.sample("abcdefgxyz0123456789ABCZ中", 2))))
        elif kind < 0.65:
            items.append(escape(rng))
        elif kind < 0.75:
            items.append(f"[:{rng.choice(['', '^'])}{rng.choice(POSIX)}:]")
        elif kind < 0.88 and depth < 2:
            items.append(character_class(rng, depth + 1))
        elif kind < 0.96:
            items.append("&&")
        else:
            items.append(rng.choice(["-", "&", "(", ")", "|", "$", "^a", "a-", "-a", r"\b", r"\R", "a-c-e"]))
    return "[" + rng.choice(["", "", "^"]) + "".join(items) + "]"


def atom(rng, depth):
    kind = rng.random()
    if kind < 0.35 or (kind >= 0.78 and depth > 2):
        return literal(rng)
    if kind < 0.45:
        return escape(rng)
    if kind < 0.65:
        return character_class(rng)
    if kind < 0.7:
        return "."
    if kind < 0.78:
        return rng.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\R", r"\N", r"\O"])
    if kind < 0.8:
        return rng.choice(["(?i)", "(?m)", "(?x)", "(?-i)", "(?#hi)"])
    return (
        rng.choice(
            ["(?:", "(?:", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?m:", "(?<nm>", "(?mi-x:", "(?x: "]
        )
        + alternatives(rng, depth + 1)
        + ")"
    )


def quantifier(rng):
    if rng.random() < 0.45:
        return ""
    return rng.choice(
        ["*", "+", "?", "{2}", "{1,3}", "{2,}", "{,2}", "{3,1}", "{0}", "{1}", "{", "{,}", "{a"]
    ) + rng.choice(["", "", "", "?", "+", "?", "+"])


def sequence(rng, depth):
    return "".join(atom(rng, depth) + quantifier(rng) for _ in range(rng.randrange(1, 4)))


def alternatives(rng, depth=0):
    return "|".join(sequence(rng, depth) if rng.random() < 0.95 else "" for _ in range(rng.choice([1, 1, 1, 2, 3])))


def characters():
    """What stands for each byte."""
    more = iter(range(0x100, 0x200))
    return [chr(byte if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD) else next(more)) for byte in range(256)]


def described(expression, behavior, invert):
    """A tokenizer.json of bytes that puts a space before every piece: its ids show where it cuts."""
    cuts = [
        {"type": "Split", "pattern": {"Regex": expression}, "behavior": behavior, "invert": invert},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False},
    ]
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": cuts},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(characters())}, "merges": []},
        }
    )


def random_tokenizers(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        behavior = rng.choice(["Isolated", "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
        yield described(alternatives(rng), behavior, rng.random() < 0.2), [text(rng) for _ in range(12)]


def ids(description, texts):
    """As the package `tokenizers` has them; None: it rejects the file."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(description)
    except Exception:
        return None
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
