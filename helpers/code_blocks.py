"""Find the code in what a model wrote: fenced in many ways, or not fenced at all.

The text is only scanned line by line; the model's source is never parsed on the host. Left out: languages other
than Python, and Markdown in general (quotes, HTML blocks).
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+][ \t]+|\d+[.)][ \t]+)?(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
CODE_START = re.compile(r"^(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:]"
                        r"|from[ \t]+[\w.]+[ \t]+import\b|@[\w.]+(?:\(.*)?$"
                        r"|import[ \t]+[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,.*|[ \t]*[;#].*)?$)")
CODE_LINE = re.compile(r"^(?:(?:async|def|class|from|import|if|elif|else|for|while|try|except|finally|with|return"
                       r"|raise|pass|assert|global|match)\b|[@#)\]}]|[\w.\[\]]+(?:[ \t]*,[ \t]*\w+)*"
                       r"(?:[ \t]*:[ \t]*[\w.\[\]|]+)?[ \t]*(?:[-+*/%&|^]|//|\*\*)?=|[\w.]+\()")
GIVES_NAME = re.compile(r"^(?:([^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)"
                        r"|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(?:.*[ \t.])?(\w+)$)")
PYTHON_TAG = re.compile(r"^\{?\.?(?:code-cell[ \t]+)?(?:python3?|py3?|ipython3?|pycon)\b", re.IGNORECASE)
TRIPLE_QUOTE = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True)
class Block:
    """One fenced block: its code, and whether its tag says Python (no tag counts as Python)."""

    code: str
    is_python: bool


def extract_code(reply: str | None, entry_point: str | None = None) -> str:
    """The Python code in `reply`; an empty string when there is none.

    Of several fenced blocks the last one that defines `entry_point` wins, else the last one tagged Python or not
    tagged, else the last; a block of constants or imports before it comes along where it uses one of them. Without a
    fence, the code begins at the first line that starts with `def`, `class`, `from … import`, `import` or a
    decorator, or with the constants right before it, and ends before prose. An unclosed fence runs to the end.

    >>> extract_code("Sure:\\n```py\\ndef one():\\n    return 1\\n```\\nDone.")
    'def one():\\n    return 1'
    >>> extract_code("I cannot do that.")
    ''
    """
    text = (reply or "").replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    blocks = [block for block in fenced_blocks(text) if block.code.strip()]
    if not blocks:
        return "" if FENCE.search(text) else unfenced_code(text)
    defining = [block for block in blocks if entry_point and defines(block.code, entry_point)]
    candidates = defining or [block for block in blocks if block.is_python] or blocks
    chosen = candidates[-1]
    before = blocks[:next(place for place, block in enumerate(blocks) if block is chosen)]
    return "\n\n".join([*(block.code for block in before if block.is_python and _serves(block.code, chosen.code)),
                        chosen.code])


def _serves(code: str, chosen: str) -> bool:
    """Whether `code` does nothing but give names, one of which `chosen` uses and does not define."""
    lines = [line for line in code.split("\n") if line.strip() and line[0] not in "# \t)]}"]
    names = [found and (found[1] or found[2]) for found in map(GIVES_NAME.match, lines)]
    return all(names) and any(re.search(rf"\b{name}\b", chosen) and not defines(chosen, name) for name in names)


def defines(code: str, name: str) -> bool:
    """Whether a line of `code` at column 0 defines the function, class or variable `name`.

    >>> defines("def largest(xs):\\n    return max(xs)", "largest"), defines("def large(xs): ...", "largest")
    (True, False)
    """
    name = re.escape(name)
    return re.search(rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=(?!=)",
                     code, re.MULTILINE) is not None


def fenced_blocks(text: str) -> list[Block]:
    """Every fenced block of `text` in order; a fence inside a triple-quoted string does not end its block."""
    lines, blocks, start = text.split("\n"), [], 0
    while start < len(lines):
        opening = FENCE.match(lines[start])
        if opening is None:
            start += 1
            continue
        first_line, is_python = _read_info(opening["info"])
        inline = re.match(rf"^(.*?)[ \t]*{opening['mark'][0]}{{3,}}[ \t]*$", first_line)
        if inline:  # the whole block on one line
            blocks.append(Block(inline[1].strip(), is_python))
            start += 1
            continue
        end = _end_of_block(lines, start, opening["mark"])
        body = ([first_line] if first_line else []) + lines[start + 1:end.line] + ([end.code] if end.code else [])
        blocks.append(Block(_unindent(body, opening["indent"]).strip("\n").rstrip(), is_python))
        start = end.line + (not end.opens)
    return blocks


def _read_info(info: str) -> tuple[str, bool]:
    """Split what follows the opening fence into code that slipped onto that line, and whether the tag is Python."""
    info = info.strip()
    tag = PYTHON_TAG.match(info)
    rest = info[tag.end():].strip() if tag else info
    if CODE_START.match(rest):
        return rest, True
    return "", tag is not None or not info


@dataclass(frozen=True)
class _End:
    """The line that ends a block, what code stands on it before the fence, and whether it opens the next block."""

    line: int
    code: str = ""
    opens: bool = False


def _end_of_block(lines: list[str], start: int, mark: str) -> _End:
    """Where the block opened at `start` ends; after the last line when nothing ends it.

    A fence ends it alone on its line, behind code (`return x` and then the fence), or with a tag, since the one
    before was forgotten. A fence inside a triple-quoted string is passed over, unless no other follows: then the
    quote itself was left open, and the first fence passed over ends the block.
    """
    fence = re.compile(rf"^(?P<code>.*?){mark[0]}{{{len(mark)},}}(?P<rest>[^{mark[0]}]*)$")
    inside, passed_over = None, None
    for index in range(start + 1, len(lines)):
        found = fence.match(lines[index])
        if found and "#" not in found["code"] and (not found["code"].strip() or not found["rest"].strip()):
            code = found["code"] if found["code"].strip() else ""
            end = _End(index, code, opens=bool(found["rest"].strip()))
            if inside is None:
                return end
            passed_over = passed_over or (end if not code and not end.opens else None)
        for quote in TRIPLE_QUOTE.findall(lines[index]):
            inside = quote if inside is None else (None if inside == quote else inside)
    return passed_over or _End(len(lines))


def _unindent(lines: list[str], indent: str) -> str:
    """Take off the indentation of the fence (a fence in a list is indented), and any that all lines still share."""
    cut = [line[len(indent):] if line.startswith(indent) else line for line in lines]
    return textwrap.dedent("\n".join(cut))


def unfenced_code(text: str) -> str:
    """The code of a reply without fences, from its first line of code to the last before prose; empty without any."""
    lines = textwrap.dedent(text).split("\n")
    begin = next((i for i, line in enumerate(lines) if CODE_START.match(line)), None)
    if begin is None:
        return ""
    while begin and (not lines[begin - 1].strip() or GIVES_NAME.match(lines[begin - 1])):
        begin -= 1
    end, inside = begin, None
    for line in lines[begin:]:
        belongs = inside or not line.strip() or line[0] in " \t" or CODE_LINE.match(line)
        if not belongs:
            break
        for quote in TRIPLE_QUOTE.findall(line):
            inside = quote if inside is None else (None if inside == quote else inside)
        end += 1
    return "\n".join(lines[begin:end]).strip("\n").rstrip()
