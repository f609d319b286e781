"""Split a text of any language into the words, numbers and operators that a bag of words counts.

Left out: dictionaries, stemming and word segmentation; scripts written without spaces give pairs of characters.
"""

import re
import unicodedata
from functools import cache

TOKENISER_VERSION = 1  # part of every fingerprint: raise it when `tokens` answers differently for any text

# Words that turn a sentence round. They may not be stop words: without them a rule and its contrary are equal.
NEGATIONS = frozenset([
    "no", "not", "never", "none", "nor", "neither", "nothing", "nobody", "nowhere", "without", "unless",
    "except", "cannot", "ne", "non", "pas", "jamais", "rien", "sans", "aucun", "aucune", "ni", "nicht",
    "kein", "keine", "keinen", "nie", "niemals", "ohne", "weder"])
ENGLISH_STOP_WORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "for", "from", "had", "has", "have",
    "he", "her", "his", "i", "in", "is", "it", "its", "my", "of", "on", "or", "our", "she", "so", "that",
    "the", "their", "them", "there", "they", "this", "those", "to", "was", "we", "were", "which", "who",
    "will", "with", "you", "your"])

# Scripts written without spaces between words: Thai, Lao, Myanmar, Hangul, Khmer, kana, bopomofo, Han.
_UNSPACED = ("\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007"
             "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf"
             "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff"
             "\uff66-\uff9f\U00020000-\U0003ffff")
# Soft hyphen, joiners, direction marks, variation selectors: no reader sees them, so no word may differ by them.
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
                        "\ufeff\U000e0000-\U000e01ef]")
_SAME_SIGN = str.maketrans({"’": "'", "ʼ": "'", "＇": "'", "−": "-", "≤": "<=", "≥": ">=", "≠": "!=", "×": "*",
                            "÷": "/"})
_NOT = re.compile(r"(?:\b(ca|wo|sha))?n't\b")  # isn't, can't, but not the n'th
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}
_HYPHEN = re.compile(r"-(?<=[^\W\d_]{2}-)(?=[^\W\d_]{2})")  # near-duplicate, but not n-1, a-b or -1
_OPERATORS = r"\*\*|//|<<|>>|[=!<>]=|->|:=|[-+*/%<>=&|^~@$]"


@cache
def _token_pattern() -> re.Pattern[str]:
    # `\w` leaves out the marks that Hindi, Arabic or Vietnamese put on a letter; without them a word breaks there.
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M")
    letter = rf"[^\W_{_UNSPACED}]"
    return re.compile(r"[a-z]++(?![0-9]|[^\x00-\x7f])"                     # most words, by the shortest way
                      r"|\d++(?:\.\d++)++"                                # 3.14
                      rf"|(?P<unspaced>[{_UNSPACED}]+)"                  # 最大値
                      rf"|{letter}(?:{letter}++|[{marks}]++)*+"          # largest, x2, élève
                      rf"|{_OPERATORS}|(?P<sign>[^\w\s\x00-\x7f])")      # <=, €


def tokens(text: str) -> list[str]:
    """The words, numbers and operators of a text, in order, case-folded, accents composed (Unicode NFC).

    Names split at underscores and hyphens, `n't` becomes "not", scripts without spaces give overlapping pairs
    of characters, other punctuation is dropped. TypeError when `text` is not a str.

    >>> tokens("Write `sum_between(a, b)`: it isn't 0 if a <= b.")
    ['write', 'sum', 'between', 'a', 'b', 'it', 'is', 'not', '0', 'if', 'a', '<=', 'b']
    >>> tokens("最大値")
    ['最大', '大値']
    """
    if not isinstance(text, str):
        raise TypeError(f"tokens: expected a str, got {type(text).__name__}; call it once a text")
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).casefold()
    text = unicodedata.normalize("NFC", text).translate(_SAME_SIGN)  # folding case can take a letter apart again
    text = _NOT.sub(lambda found: _WHOLE.get(found[1], "") + " not", text.replace("cannot", "can not"))
    words: list[str] = []
    for found in _token_pattern().finditer(_HYPHEN.sub(" ", text)):
        piece = found[0]
        if found.lastgroup == "unspaced":
            words += [piece[i:i + 2] for i in range(max(1, len(piece) - 1))]
        elif found.lastgroup != "sign" or unicodedata.category(piece) in ("Sm", "Sc", "So"):
            words.append(piece)
    return words
