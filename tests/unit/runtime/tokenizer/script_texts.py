"""Texts of all scripts for tests of tokenizers: texts(count, seed)."""
import random
import unicodedata

# One run per block that has letters, marks, digits or signs worth a test, up to Unicode 16.
BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x250, 0x300), (0x300, 0x370), (0x370, 0x400), (0x400, 0x530), (0x530, 0x590), (0x590, 0x600), (0x600, 0x700), (0x700, 0x750), (0x750, 0x780),
          (0x780, 0x7C0), (0x7C0, 0x800), (0x800, 0x900), (0x900, 0x980), (0x980, 0xA00), (0xA00, 0xA80), (0xA80, 0xB00), (0xB00, 0xB80), (0xB80, 0xC00), (0xC00, 0xC80), (0xC80, 0xD00),
          (0xD00, 0xD80), (0xD80, 0xE00), (0xE00, 0xE80), (0xE80, 0xF00), (0xF00, 0x1000), (0x1000, 0x10A0), (0x10A0, 0x1100), (0x1100, 0x1200), (0x1200, 0x13A0), (0x13A0, 0x1400),
          (0x1400, 0x1680), (0x1680, 0x1700), (0x1700, 0x1780), (0x1780, 0x1800), (0x1800, 0x18B0), (0x1900, 0x1A20), (0x1A20, 0x1B00), (0x1B00, 0x1C50), (0x1C50, 0x1D00), (0x1D00, 0x1E00),
          (0x1E00, 0x2000), (0x2000, 0x2070), (0x2070, 0x20D0), (0x20D0, 0x2190), (0x2190, 0x2460), (0x2460, 0x2500), (0x2500, 0x2700), (0x2700, 0x2C00), (0x2C00, 0x2E00), (0x2E00, 0x2FF0),
          (0x2FF0, 0x3040), (0x3040, 0x3100), (0x3100, 0x31F0), (0x31F0, 0x3400), (0x3400, 0x3440), (0x4E00, 0x4F00), (0x9F00, 0xA000), (0xA000, 0xA4D0), (0xA4D0, 0xA6A0), (0xA6A0, 0xA830),
          (0xA830, 0xAB00), (0xAB00, 0xAC00), (0xAC00, 0xAC80), (0xD780, 0xD800), (0xE000, 0xE010), (0xF900, 0xFB00), (0xFB00, 0xFE00), (0xFE00, 0xFE70), (0xFE70, 0xFF00), (0xFF00, 0x10000),
          (0x10000, 0x10380), (0x10380, 0x10500), (0x10500, 0x10800), (0x10800, 0x10C00), (0x10C00, 0x11000), (0x11000, 0x11280), (0x11280, 0x11500), (0x11500, 0x11800), (0x11800, 0x11C00),
          (0x11C00, 0x12000), (0x12000, 0x12010), (0x13430, 0x13470), (0x16100, 0x16140), (0x16A00, 0x16FFF), (0x17000, 0x17010), (0x1B000, 0x1B170), (0x1BC00, 0x1BD00), (0x1CC00, 0x1CF00),
          (0x1D100, 0x1D400), (0x1D400, 0x1D800), (0x1DA00, 0x1E100), (0x1E100, 0x1E900), (0x1E900, 0x1EE00), (0x1EE00, 0x1F000), (0x1F000, 0x1F300), (0x1F300, 0x1F700), (0x1F700, 0x1FC00),
          (0x20000, 0x20010), (0x2EBF0, 0x2EC00), (0x2F800, 0x2FA20), (0x31350, 0x31360), (0xE0000, 0xE0080), (0xE0100, 0xE01F0), (0x10FFF0, 0x110000), (9, 14), (0, 0x20), (0x80, 0xA0)]
DIGITS = [c for c in range(0x20000) if unicodedata.category(chr(c)) in ("Nd", "Nl", "No")]
MARKS = [c for c in range(0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")]
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "\r", "\v", "\f", "\x85", "\xa0", "\u2028", "\u2029", "\u3000", "\u180e", "\u200b", "\u200d", "\ufeff", "\x1c", " \n ", "\n \n", "      "]
PIECES = ["'s", "'S", "'ſ", "'t", "'re", "'VE", "'m", "'ll", "'LL", "'d", "’s", "don't", "I'LL", "we've", "N'T", "http://", "www.", "...", "!?", "--", "==", "();", "{}", "[]", "&&", "\\n", "#", "$", "^", "~", "|",
          "<|end|>", "<|end", "<s>", "</s>", "\x00", "🙂", "👩‍👩‍👧", "🇩🇪", "👍🏽", "❤️", "1️⃣", "½", "x²", "ⅷ", "٣٤٥", "१२३", "௧௨", "Ⅻ", "①②", "1,000,000", "3.14", "12345678", "0x1F", "1e-5", "2024-01-02", "١٢٣٤",
          "e\u0301", "ﬁ", "ß", "ẞ", "İ", "ı", "Å", "Å", "K", "ſs", "한국어", "각", "漢字", "仮名", "カタカナ", "ｶﾞ", "。", "、", "हिन्दी", "भाषा", "العربية", "لا", "ไทย", "ภาษาไทย", "বাংলা", "தமிழ்", "မြန်မာ", "ខ្មែរ", "བོད", "עִבְרִית", "Việt", "ελληνικά",
          "русский", "Ёлка", "ქართული", "አማርኛ", "ᏣᎳᎩ", "ᠮᠣᠩᠭᠣᠯ", "def f(x):\n    return x", "\t\tif (a) {\r\n", "CamelCaseWord", "snake_case", "ALLCAPS", "iPhone", "McDonald's", "Ｆｕｌｌ", "ǅ", "ŉ", "Σας"]
WORDS = "the a of and miller carries flour through snow rain nobody knows where he slept Der Müller trägt Mehl über den Fluß naïve façades señor żółw it's they've 12 mules 1999 sacks".split()


def part(rng):
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(WORDS)
    if kind < 0.5:
        return rng.choice(PIECES)
    if kind < 0.58:
        return "".join(chr(rng.choice(DIGITS)) for _ in range(rng.randrange(1, 6)))
    if kind < 0.66:
        return chr(rng.randrange(*rng.choice(BLOCKS))) + "".join(chr(rng.choice(MARKS)) for _ in range(rng.randrange(1, 5)))
    if kind < 0.7:
        return str(rng.randrange(10 ** rng.randrange(1, 12)))
    if kind < 0.75:  # anything, assigned or not
        return "".join(chr(c) for c in (rng.randrange(0x110000) for _ in range(3)) if not 0xD800 <= c < 0xE000)
    low, high = rng.choice(BLOCKS)
    return "".join(chr(c) for c in (rng.randrange(low, high) for _ in range(rng.randrange(1, 8))) if not 0xD800 <= c < 0xE000)


def texts(count, seed=1):
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        parts = []
        for _ in range(rng.choice([1, 2, 3, 5, 8, 13])):
            parts.append(part(rng))
            if rng.random() < 0.6:
                parts.append(rng.choice(SPACES))
        made.append("".join(parts))
    return made
