"""Values that came out of a sandbox: is it plain data, are two equal, and how is one written down.

A program nobody trusts may return a list that contains itself, a tower `x = [x, x]` of 2**30 leaves, an
integer with a million digits or an object whose `==` always says True. So nothing here calls `==` or `repr`
before the value was walked within fixed budgets and found to hold exact built-in types only.

Left out: arrays, dates, decimals and other library types; they are not plain data.
"""

import re
from itertools import islice

MAX_SIZE = 1_000_000  # characters of all strings, and PART_SIZE for every member of a container
PART_SIZE = 10  # so 100,000 members; what is reachable on two ways counts twice
MAX_DEPTH = 100  # containers inside containers
MAX_INT_BITS = 100_000  # about 30,000 digits

_ATOMS = (bool, float, complex, type(None))
_TEXTS = (str, bytes)
_CONTAINERS = (list, tuple, set, frozenset, dict)
TOO_LARGE = "more data than can be compared"


def why_not_plain(value: object) -> str:
    """What keeps `value` from being plain data, or "" when it is plain.

    Plain are None, bool, int, float, complex, str, bytes, list, tuple, set, frozenset and dict, of exactly
    these types, within MAX_SIZE, MAX_DEPTH and MAX_INT_BITS. No method of `value` is called.

    >>> why_not_plain([1, {"a": (2.5, None)}])
    ''
    >>> why_not_plain([range(3)])
    'a range object'
    """
    room, stack = MAX_SIZE, [(value, 0)]
    while stack:
        item, depth = stack.pop()
        kind = type(item)
        if kind in _ATOMS:
            continue
        if kind is int:
            room -= (MAX_SIZE + 1) * (item.bit_length() > MAX_INT_BITS)
        elif kind in _TEXTS:
            room -= len(item)
        elif kind in _CONTAINERS:
            room -= PART_SIZE * len(item) + (MAX_SIZE + 1) * (depth > MAX_DEPTH)
        else:
            return described(kind.__name__)
        if room < 0:
            return TOO_LARGE
        if kind in _CONTAINERS:
            stack += [(member, depth + 1) for member in item]
        if kind is dict:
            stack += [(member, depth + 1) for member in item.values()]
    return ""


def described(type_name: str) -> str:
    """A value that cannot be shown, named by its type.

    >>> described("function"), described("enumerate"), described("type")
    ('a function object', 'an enumerate object', 'a class')
    """
    if type_name == "type":
        return "a class"
    return f"{'an' if type_name[:1].lower() in 'aeiou' else 'a'} {type_name} object"


def same(got: object, expected: object) -> bool:
    """Python's equality on plain data, except that True is not 1 and False is not 0.

    Both values must have passed `why_not_plain`. Where a test expects a count, an answer of True is wrong;
    an answer of 3.0 where 3 is expected is right.

    >>> same([1, 2.0], [1, 2]), same((1,), [1]), same({"a": True}, {"a": 1}), same({True}, {1})
    (True, False, False, False)
    """
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, (list, tuple)):
        return (type(got) is type(expected) and len(got) == len(expected)
                and all(same(a, b) for a, b in zip(got, expected, strict=True)))
    if isinstance(got, dict):
        if not isinstance(expected, dict) or len(got) != len(expected):
            return False
        wanted = {tagged(key): value for key, value in expected.items()}
        return all(tagged(key) in wanted and same(value, wanted[tagged(key)]) for key, value in got.items())
    if isinstance(got, (set, frozenset)) and isinstance(expected, (set, frozenset)):
        return set(map(tagged, got)) == set(map(tagged, expected))
    return got == expected


def tagged(key: object) -> object:
    """A key of a dict or a member of a set, with every bool in it marked, so that True does not equal 1.

    >>> tagged(1) == tagged(1.0), tagged((True, 2)) == tagged((1, 2))
    (True, False)
    """
    if isinstance(key, bool):
        return bool, key
    if isinstance(key, (tuple, frozenset)):
        return type(key), type(key)(map(tagged, key))
    return key


def as_text(value: object, limit: int = 80) -> str:
    """`repr(value)` of at most `limit` characters, the same in every process.

    Sets are written in sorted order (their own order changes from process to process); what does not fit
    ends in "…"; an integer too long to print is described. `value` must have passed `why_not_plain`.

    >>> as_text({"b", "a"}), as_text([1, 2, 3, 4], limit=8)
    ("{'a', 'b'}", '[1, 2, …')
    """
    text = _written(value, limit)
    return text if len(text) <= limit else text[:limit - 1] + "…"


def _written(value: object, limit: int) -> str:
    kind = type(value)
    if kind is int and value.bit_length() > 4000:  # CPython refuses to print more than 4,300 digits
        return f"an integer of about {int(value.bit_length() * 0.30103) + 1} digits"
    if kind in _TEXTS:
        return repr(value[:limit])
    if kind is dict:
        pairs = (f"{_written(k, limit)}: {_written(v, limit)}" for k, v in islice(value.items(), limit))
        return "{" + ", ".join(pairs) + "}"
    if kind in (set, frozenset):
        members = ", ".join(sorted(_written(member, limit) for member in value))
        body = f"{{{members}}}" if value else "set()"
        return body if kind is set else f"frozenset({body if value else ''})"
    if kind in (list, tuple):
        members = ", ".join(_written(member, limit) for member in islice(value, limit))
        comma = "," if kind is tuple and len(value) == 1 else ""
        return f"[{members}]" if kind is list else f"({members}{comma})"
    return repr(value)


def one_line(text: str, limit: int = 300) -> str:
    """`text` fit for a prompt: one line of at most `limit` characters that is the same in every run.

    Control and formatting characters become blanks, memory addresses are taken out, and what could end a
    code block or a chat turn (three backticks or tildes, "<|") is broken up.

    >>> one_line("bad\\n```<f at 0x7f>```")
    "bad '''<f>'''"
    """
    text = "".join(c if c.isprintable() else " " for c in text[:4 * limit])
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    text = re.sub(r"`{3,}|~{3,}", "'''", text).replace("<|", "< |")
    return text if len(text) <= limit else text[:limit - 1] + "…"


def without_paths(message: str) -> str:
    """An error message without absolute paths, which differ between machines and between runs.

    >>> without_paths("Permission denied: '/tmp/pytest-7/.env'")
    "Permission denied: '<path>'"
    """
    return re.sub(r"(?<![\w./])(?:[A-Za-z]:)?(?:[/\\][\w.+~-]+)+", "<path>", message[:2000])
