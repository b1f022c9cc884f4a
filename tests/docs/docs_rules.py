"""The rules of the documentation lint: widths, sentence lengths and words that have a better word."""

import re

MAX_COLUMNS = 100
MAX_WORDS = 25
MAX_SEMICOLONS = 1

UNIT = r"(?:bits?|bytes?|µs|us|ns|ms|seconds?|cycles|[kKMG]i?B|tokens?|operations|samples?|values?|rows?|\d)"
PER = r"(?:byte|row|second|token|sample|tick|block|step|kernel|layer|line|word|cell|core|thread|channel|model|stream|millisecond|minute|hour|year)"

# (pattern, advice, kinds): kinds are "docs", "header", "help", "message"; None means all of them.
USER = ("docs", "help")
BANNED = [
    (
        r"(?<!\bthere )\b(?:is|are|was|were|takes) no (?!longer|more|less|fewer|larger|greater|smaller)",
        'say what is wrong or missing ("has no", "does not", "is not a")',
        None,
    ),
    (r"\bthe processors?\b|\bprocessor's\b|\ba processor\b", 'say "the CPU"', None),
    (rf"\b{UNIT} an? {PER}\b", 'say "per"', None),
    (r"\bput aside\b", 'say "disabled"', None),
    (r"\bgo(?:es|ne)? on with\b|\bgoing on with\b", 'say "continue" or "resume"', None),
    (r"\bin the midst of\b", 'say "during" or "inside"', None),
    (r"\bwhat there is\b|\bwhat is there\b", "name the things", None),
    (r"\bbehind each\b|\bstands? behind\b|\bbehind (?:it|them|the others)\b", 'say "after" or "next to"', None),
    (r"\bwhole runs?\b|\bwhole sequences\b|\bwhole-sequence\b", 'say "offline run" or "offline"', None),
    (
        r"\b(?:the|its) whole(?=[,.;:)]|$| (?:and|or|is|are|before|after|by|on|within|as|to)\b)",
        'say "the offline model" or "the offline run"',
        None,
    ),
    (
        r"\b(?:weights of products|products of weights|products with weights|product of panels|products of panels)\b",
        'say "matrix multiplication" or "linear layer"',
        None,
    ),
    (r"\bproofs?\b|\bprove[sdn]?\b|\bproving\b", 'say "check" or "test"', None),
    (r"\bverbs?\b", 'say "command"', None),
    (r"\bmend(?:s|ed|ing)?\b", 'say "fix"', None),
    (r"\b(?:is|are|be|and) told\b|\btells (?:how|what|which|of|the)\b", 'say "reports" or "prints"', None),
    (r"\bdearest\b", 'say "worst-case" or "most expensive"', None),
    (r"\bone that\b", "name the thing", None),
    (r"\bcrews?\b", 'say "thread pool"', None),
    (r"\bseams?\b", 'say "device interface"', None),
    (r"\brandom walks?\b", 'say "random entry-switching test"', None),
    (r"\bhalves\b(?= of (?:weights|tensors|buffers))|\bhalved\b", 'say "fp16" or "float16"', None),
    (r"\bhad (?:it|them) (?:written|made)\b", "use the active voice", None),
    (r"/home/\w|/root/", "remove the machine path", None),
    (r"\b(?:issue #?\d+|the redesign)\b", "remove: the project speaks of itself alone", None),
    (r"\bconvenient(?:ly)?\b|\bsimply\b|\bobviously\b|\bof course\b", "remove the word", USER),
    (r"\ban? (?:untrusted )?package\b(?= (?:in|into|to)\b)|\bmodel packages?\b", 'say "model folder"', USER),
]
BANNED = [(re.compile(pattern, re.I), advice, kinds) for pattern, advice, kinds in BANNED]
WHAT = re.compile(r"^What (?!is\b[^?]*\?$)[a-z]")


def words(text):
    return [w for w in text.split() if re.search(r"\w", w)]


def sentence_findings(sentence, kind):
    """(what is wrong, what to do) for one sentence."""
    text = sentence.text
    for pattern, advice, kinds in BANNED:
        match = None if kinds and kind not in kinds else pattern.search(text)
        if match:
            yield f'"{match.group(0).strip()}" in "{shorten(text)}"', advice
    if sentence.heading:
        return
    if len(words(text)) > MAX_WORDS:
        yield f'{len(words(text))} words: "{shorten(text)}"', f"split it: at most {MAX_WORDS} words"
    if text.count(";") > MAX_SEMICOLONS:
        yield f'{text.count(";")} semicolons: "{shorten(text)}"', "make sentences of the parts"
    if WHAT.match(text) and not text.endswith("?"):
        yield f'starts with "What": "{shorten(text)}"', "start with a noun or an imperative verb"


def width_findings(source, wide=lambda number, line: True):
    """(line, what, advice) for each line of more than 100 columns that `wide` does not exempt."""
    for number, line in enumerate(source.splitlines(), 1):
        if len(line) > MAX_COLUMNS and wide(number, line):
            yield number, f'{len(line)} columns: "{shorten(line)}"', f"at most {MAX_COLUMNS} columns"


def shorten(text, limit=90):
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
