"""Where Monty is not Python: generator expressions made lazy, what cannot be mended refused, errors explained.

`mended` rewrites generator expressions, which Monty computes at once and gives as lists, and refuses what would
silently mean something else; `missing_feature` recognises an error that comes from Monty, not from the program;
`self_check` notices a release that behaves in another way than 1.4.0, with which all this was measured.
Left out: the order of a set and the wording of error messages.
"""

import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from helpers.monty_prelude import ALWAYS, PARTS
from helpers.python_names import in_module, is_builtin, of_type

# Special methods that Monty calls; a class that defines another one would run, and mean something else.
HONOURED = re.compile(
    r"__(init|post_init|eq|hash|repr|str|iter|next|call|getitem|setitem|contains|enter|exit|int|float|index"
    r"|round|neg|pos|abs|invert|r?(add|sub|mul|matmul|truediv|floordiv|mod|divmod|pow|and|or)|[lr]shift|xor)__")

# Callers that take everything a generator gives, so that a list (which is what Monty hands them) does as well.
_TAKES_ALL = {"sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "max", "min", "join", "Counter",
              "deque", "extend", "update", "prod", "fsum"}

# A string that nobody ends is taken to the end of its line or of the text, so that every pattern matches at once
# and the time stays linear, whatever the text.
_TOKEN = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<string>[rRbBuUfF]{0,2}(?:\"\"\"(?:\\.|[^\\]|\\\Z)*?(?:\"\"\"|\Z)|'''(?:\\.|[^\\]|\\\Z)*?(?:'''|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?))"
    r"|(?P<name>[^\W\d]\w*)|(?P<space>\s+)|(?P<other>\d+|.)", re.DOTALL)
_OWN_SET = re.compile(r"\b(?:def|class|as|for|lambda|import)\s+set\b|\bset\s*=(?!=)|\bdef\s+\w+\([^)]{0,200}\bset\b")
_TARGET = re.compile(r"\(?\s*[^\W\d]\w*(\s*,\s*[^\W\d]\w*)*\s*(,?)\s*\)?")


@dataclass(frozen=True)
class Mended:
    """A program as Monty should get it: `refused` names a feature that would silently mean something else."""

    source: str
    refused: str = ""
    eager: bool = False  # a generator expression is computed at once, where CPython might stop early


@dataclass
class _Bracket:
    """An open bracket: where it stands, what stands before it, and the keywords directly inside it."""

    start: int
    caller: str
    keywords: list[tuple[str, int]] = field(default_factory=list)


def mended(code: str, *, lazy: bool = True) -> Mended:
    """`code` with lazy generator expressions, which Monty computes at once and gives as lists.

    One pass over the tokens, linear in the length, without recursion: this reads brackets and keywords, it
    does not parse. `(E for x in xs if C)` becomes a `generator` object; where its target is more than names, or
    without `lazy`, an iterator over a list. What is handed to sum(), sorted() and their like stays as it is.
    Lines keep their numbers.

    >>> mended("f(x for x in y)").source
    'f(_sandbox_generator(0, lambda x: (x ), y))'
    >>> mended("class A:\\n    def __bool__(self): return False").refused
    'the special method __bool__'
    """
    tokens = [(match.lastgroup, match.group()) for match in _TOKEN.finditer(code)]
    texts = [text for _, text in tokens]
    stack: list[_Bracket] = []
    refused, eager, last, before = "", False, (0, ""), ""
    own_set = _OWN_SET.search(code)
    for index, (kind, text) in enumerate(tokens):
        if kind in ("space", "comment"):
            continue
        if text in ("(", "[", "{"):
            stack.append(_Bracket(index, "" if keyword.iskeyword(last[1]) else last[1]))
            if text == "(" and last[1] == "set" and before != "." and not own_set:
                texts[last[0]] = "_sandbox_set"
        elif text in (")", "]", "}") and stack:
            bracket = stack.pop()
            if text == ")" and texts[bracket.start] == "(" and bracket.caller not in _TAKES_ALL:
                eager |= _rewrite(bracket, index, texts, tokens, lazy)
        elif kind == "name":
            if stack and text in ("for", "in", "if", "async"):
                stack[-1].keywords.append((text, index))
            if last[1] == "def" and re.fullmatch(r"__\w+__", text) and not HONOURED.fullmatch(text):
                refused = refused or f"the special method {text}"
        last, before = (index, text), last[1]
    return Mended("".join(texts), refused, eager)


def _rewrite(bracket: _Bracket, end: int, texts: list[str], tokens: list[tuple[str, str]], lazy: bool) -> bool:
    """Rewrite what stands between a bracket and its end if it is a generator expression; True if not lazy."""
    words = [word for word, _ in bracket.keywords]
    if "for" not in words:
        return False
    clauses = bracket.keywords[words.index("for"):]  # for, in and perhaps if, each with its place
    first, last = clauses[0][1], clauses[min(1, len(clauses) - 1)][1]
    target = "".join(texts[first + 1:last]).strip()
    others = "".join(text if kind == "other" else f" {text} " for kind, text in tokens[bracket.start:end]
                     if kind in ("name", "other"))
    if (not lazy or [word for word, _ in clauses] not in (["for", "in"], ["for", "in", "if"])
            or len(target) > 200 or not _TARGET.fullmatch(target) or re.search(r"\b(lambda|await|async)\b|:=", others)):
        texts[bracket.start] += "_sandbox_iter(["
        texts[end] = "])" + texts[end]
        return True
    names = target.strip("() \n\t")
    newlines = "".join(texts[first:last]).count("\n")
    texts[bracket.start] += f"_sandbox_generator({int(',' in target)}, lambda {names}: ("
    texts[first:last + 1] = ["),", *[""] * (last - first - 1), "\n" * newlines]
    if len(clauses) == 3:
        texts[clauses[2][1]] = f", lambda {names}: ("
        texts[end] = ")" + texts[end]
    texts[end] = ")" + texts[end]
    return False


# What CPython has and a test run has no use for: naming it is an error of the program.
_USELESS = {"exit", "_exit", "quit", "abort", "kill", "input", "breakpoint", "help", "copyright", "credits", "license"}


def _of_builtins(match: re.Match[str]) -> str:
    name = match[1]
    return f"the built-in {name}" if is_builtin(name) and name not in _USELESS else ""


def _of_module(match: re.Match[str]) -> str:
    module, name = match["module"], match["name"]
    return f"{module}.{name}" if in_module(module, name) and name not in _USELESS else ""


def _of_type(match: re.Match[str]) -> str:
    kind, name = match[1].rpartition(".")[2], match[2]
    return f"the attribute {name} of {kind}" if of_type(kind, name) else ""


_ERRORS: tuple[tuple[str, str, Callable[[re.Match[str]], str]], ...] = (
    ("NotImplementedError", r".*cannot suspend", lambda found: "a call of the code from inside map() or sorted()"),
    ("NotImplementedError", r".*does not yet support (.+)", lambda found: found[1]),
    ("NotImplementedError", r"(.+) (?:is|are) not (?:yet )?supported", lambda found: found[1]),
    ("RuntimeError", r"Internal error in monty: exceptions can only",
     lambda found: "an exception with anything but one text"),
    ("RuntimeError", r"Internal error in monty", lambda found: "a construct at which Monty stops"),
    ("ModuleNotFoundError", r"No module named '([\w.]+)'", lambda found: f"the module {found[1]}"),
    ("ImportError", r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'", _of_module),
    ("NameError", r"name '(\w+)' is not defined", _of_builtins),
    ("AttributeError", r"'function' object has no attribute '\w+' and no __dict__",
     lambda found: "attributes of functions"),
    ("AttributeError", r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'", _of_module),
    ("AttributeError", r"(?:type object )?'([\w.]+)'(?: object)? has no attribute '(\w+)'", _of_type),
    ("TypeError", r"cannot create 'object' instances", lambda found: "object()"),
    ("TypeError", r"cannot convert '(\w+)' object to bytes", lambda found: f"bytes() of a {found[1]}"),
    ("TypeError", r"can only concatenate list \(not \"(map|zip|filter|enumerate|generator)\"\)",
     lambda found: f"+= of a list and a {found[1]} object"),
    ("ValueError", r"pow\(\) 2nd argument cannot be negative", lambda found: "pow() with a negative exponent"),
    ("SyntaxError", r".*(?:too deeply nested|too many inline finally copies)", lambda found: "such deep nesting"),
    ("re.PatternError", r".*backtracking", lambda found: "a regular expression with so much backtracking"),
)


def missing_feature(kind: str, message: str) -> str:
    """The feature that Monty lacks when it raised the error `kind: message`, or "" for an error of the program.

    A program can raise such an error itself and so choose to be called unsupported; it gains nothing by it.

    >>> missing_feature("NameError", "name 'issubclass' is not defined")
    'the built-in issubclass'
    >>> missing_feature("NameError", "name 'largst' is not defined")
    ''
    """
    for error, pattern, feature in _ERRORS:
        if error == kind and (found := re.match(pattern, message)):
            return feature(found)
    return ""


# What Monty 1.4.0 answers by itself, and what it answers once mended (as CPython does).
_BY_ITSELF = {
    "round(2.675, 2)": 2.68, "zip([1], [2]) == [(1, 2)]": True, "map(abs, [-1]) == [1]": True,
    "filter(None, [1]) == [1]": True, "enumerate('a') == [(0, 'a')]": True, "reversed([1]) == [1]": True,
    "(x for x in [1]) == [1]": True, "hasattr([], '__iter__')": False, "locals()": {}, "range(2)": "range(0, 2)",
    "isinstance(iter([]), list)": False, "f'{2.675:.2f}'": "2.67", "type([]) is list": True,
    "list(set([3, 1, 2, 1]))": [3, 1, 2],
}
_ONCE_MENDED = {
    "round(2.675, 2)": 2.67, "zip([1], [2]) == [(1, 2)]": False, "map(abs, [-1]) == [1]": False,
    "filter(None, [1]) == [1]": False, "enumerate('a') == [(0, 'a')]": False, "reversed([1]) == [1]": False,
    "list((x for x in [1])) == [1] and (x for x in [1]) != [1]": True, "hasattr([], '__iter__')": True,
    "any(1 / x > 0 for x in [1, 0])": True, "all(1 / x < 0 for x in [1, 0])": False,
    "_sandbox_plain(range(2))": ("type range", None), "_sandbox_plain((1, [2.5]))": ("", (1, [2.5])),
    "list(set([3, 1, 2, 1]))": [1, 2, 3], "list(set('ab')) + list(set('ba'))": ["b", "a", "b", "a"],
    "list(zip('ab', enumerate('c')))": [("a", (0, "c"))], "sum(map(int, filter(None, reversed('12'))))": 3,
}


def self_check(run: Callable[[str], object]) -> list[str]:
    """The expressions that `run` (source in, value of its last line out) answers otherwise than Monty 1.4.0."""
    wrong = []
    for start, answers in (("", _BY_ITSELF), (ALWAYS + "".join(PARTS.values()), _ONCE_MENDED)):
        expressions = [mended(expression).source if start else expression for expression in answers]
        got = run(f"{start}\n[{', '.join(expressions)}]")
        wrong += [f"{text} gave {value!r}, not {wanted!r}"
                  for (text, wanted), value in zip(answers.items(), got, strict=True) if value != wanted]
    return wrong
