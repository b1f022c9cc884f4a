#!/usr/bin/env python3
"""tables.inc, what the Python package `tokenizers` applies of Unicode: make_tables.py [FOLDER]

Each table comes from the answers of the package to every code point (checked with 0.23.3: Unicode 16 in expressions, Unicode 10 in normalizers). What Unicode 14 says comes from
Python 3.11. tokenizer_test.py --against-tokenizers compares the tables again.
"""

import pathlib
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

ALL = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cs Cn".split()
SCRIPTS = """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian
Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan
Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana
Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi
Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki
Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau
Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac
Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Unknown Vai Vithkuqi Wancho
Warang_Citi Yezidi Yi Zanabazar_Square""".split()


def matched(expression, points=ALL):
    """The code points that an expression of one character matches."""
    left = bytearray(len(points))
    for _, (start, end) in pre_tokenizers.Split(Regex(expression), "removed").pre_tokenize_str(
        "".join(map(chr, points))
    ):
        left[start:end] = b"\1" * (end - start)
    return {c for c, kept in zip(points, left) if not kept}


def pieces(pre_tokenizer):
    """The code points that a pre-tokenizer cuts off a letter before them."""
    found = set()
    for _, (start, end) in pre_tokenizer.pre_tokenize_str("".join("a" + chr(c) for c in ALL)):
        if end - start == 1 and start % 2 == 1:
            found.add(ALL[start // 2])
    return found


def ranges(points):
    result = []
    for c in sorted(points):
        if result and result[-1][1] == c - 1:
            result[-1][1] = c
        else:
            result.append([c, c])
    return result


def opaque():
    """Code points that Unicode 14 normalizes and the package does not know."""
    found = set()
    for name in ("NFC", "NFD", "NFKC", "NFKD"):
        theirs = getattr(normalizers, name)()
        around = [
            ("", ""),
            ("a\u0334", ""),
            ("a", "\u0334"),
            ("a\u0345", ""),
            ("a", "\u0345"),
            ("a", "\u0301"),
            ("a\u0301", ""),
            ("a\u05b0", ""),
        ]
        for c in ALL:
            if not unicodedata.combining(chr(c)) and not unicodedata.decomposition(chr(c)):
                continue
            texts = [before + chr(c) + after for before, after in around]
            if any(theirs.normalize_str(text) != unicodedata.normalize(name, text) for text in texts):
                found.add(c)
    return found


def tables():
    """{name: entries of the table}"""
    category = {}
    for i, name in enumerate(CATEGORIES):
        if name != "Cs":
            category.update((c, i) for c in matched(rf"\p{{{name}}}+"))
    category.update((c, CATEGORIES.index("Cs")) for c in range(0xD800, 0xE000))
    runs, last = [], None
    for c in range(0x110000):
        if category[c] != last:
            runs.append(f"0x{c << 8 | category[c]:X}")
            last = category[c]
    script, assigned = {}, [c for c in ALL if CATEGORIES[category[c]] not in ("Cn", "Co")]
    for i, name in enumerate(SCRIPTS):
        script.update((c, i) for c in matched(rf"\p{{{name}}}+", assigned))
    unknown = SCRIPTS.index("Unknown")
    script_runs, last = [], None
    for c in range(0x110000):
        if script.get(c, unknown) != last:
            last = script.get(c, unknown)
            script_runs.append(f"0x{c << 8 | last:X}")

    def of(points):
        return [f"{{0x{a:X}, 0x{b:X}}}" for a, b in ranges(points)]

    def beyond(name, categories):
        points, names = matched(rf"\p{{{name}}}+"), [CATEGORIES.index(one) for one in categories.split()]
        assert all(c in points for c in ALL if category[c] in names)
        return of(c for c in points if category[c] not in names)

    numbers = {c for c in ALL if CATEGORIES[category[c]][0] == "N"}
    assert not numbers - pieces(pre_tokenizers.Digits(True))
    return {
        "category_runs": runs,
        "script_runs": script_runs,
        "script_names": [f'"{name}"' for name in SCRIPTS],
        "changed": of(c for c in ALL if CATEGORIES[category[c]] != unicodedata.category(chr(c))),
        "other_alphabetic": beyond("Alphabetic", "Lu Ll Lt Lm Lo Nl"),
        "other_uppercase": beyond("Uppercase", "Lu"),
        "other_lowercase": beyond("Lowercase", "Ll"),
        "more_digits": of(pieces(pre_tokenizers.Digits(True)) - numbers),
        "punctuation_ranges": of(pieces(pre_tokenizers.Punctuation("isolated"))),
        "opaque": of(opaque()),
    }


# What is not a list of ranges.
TYPES = {"category_runs": "uint32_t", "script_runs": "uint32_t", "script_names": "char *"}
COMMENTS = {
    "category_runs": "// first << 8 | category, up to the next entry.\n",
    "script_runs": "// first << 8 | index in script_names\n",
}


def main():
    text = ""
    for name, entries in tables().items():
        lines, line = [], ""
        for entry in entries:
            if len(line) + len(entry) + 2 > 110:
                lines.append(line)
                line = ""
            line += (" " if line else "") + entry + ","
        kind = TYPES.get(name, "Range")
        head = (
            f"constexpr {'const ' if kind.endswith('*') else ''}{kind}{'' if kind.endswith('*') else ' '}{name}[] = {{"
        )
        text += COMMENTS.get(name, "") + "\n".join([head, *lines, line]) + "\n};\n"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    (folder / "tables.inc").write_text(text)


if __name__ == "__main__":
    main()
