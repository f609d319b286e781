"""Is an answer's value the expected one, and how are both written for a reader: what the exercise checks compare with.

Left out: dates, decimals, sparse arrays and tables; no exercise returns them.
"""

from __future__ import annotations

import math

import numpy as np

from helpers.plain_data import as_text, one_line, tagged, why_not_plain, without_paths

CLOSE = {"rel_tol": 1e-6, "abs_tol": 1e-9}  # of two floats; another order of adding gives other last digits
WIDTH = 200  # characters of a value that are shown
FAR = 20_000  # characters in which a difference is looked for


def agrees(got: object, expected: object) -> bool:
    """Whether `got` is what was expected: Python's equality, but floats need only be close, and True is not 1.

    An array agrees with a list or an array of the same shape and close numbers. The types of containers count. No
    `==` of a type that is not built in is asked, unless `expected` is of that very type.

    >>> agrees(0.1 + 0.2, 0.3), agrees(True, 1), agrees((1, 2), [1, 2]), agrees([1.0, 2.0], np.array([1, 2]))
    (True, False, False, True)
    """
    got, expected = _unboxed(got), _unboxed(expected)
    if isinstance(expected, np.ndarray):
        return _same_array(got, expected)
    if isinstance(got, np.ndarray) and isinstance(expected, list | tuple):
        return _same_array(got, np.asarray(expected))
    if type(expected) in (int, float) and type(got) in (int, float):
        return _close(got, expected)
    if type(got) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(map(agrees, got, expected))
    if isinstance(expected, dict):
        given = {tagged(key): value for key, value in got.items()}
        return (len(given) == len(expected)
                and all(tagged(key) in given and agrees(given[tagged(key)], value) for key, value in expected.items()))
    if isinstance(expected, set | frozenset):
        return set(map(tagged, got)) == set(map(tagged, expected))
    return bool(got == expected)


def _close(got: float, expected: float) -> bool:
    if type(got) is type(expected) is int:
        return got == expected
    if math.isnan(got) or math.isnan(expected):
        return math.isnan(got) and math.isnan(expected)
    return math.isclose(got, expected, **CLOSE)


def _unboxed(value: object) -> object:
    """A numpy scalar or an array without axes as Python's own number."""
    boxed = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if boxed else value


def _unboxed_deeply(value: object, depth: int = 3) -> object:
    if depth and type(value) in (list, tuple):
        return type(value)(_unboxed_deeply(member, depth - 1) for member in value)
    if depth and type(value) is dict:
        return {key: _unboxed_deeply(member, depth - 1) for key, member in value.items()}
    return _unboxed(value)


def _same_array(got: object, expected: np.ndarray) -> bool:
    if not isinstance(got, np.ndarray | list | tuple):
        return False
    try:
        found = np.asarray(got)
    except ValueError:  # rows of different lengths
        return False
    if found.shape != expected.shape or (found.dtype == bool) != (expected.dtype == bool):
        return False
    if not all(np.issubdtype(array.dtype, np.number) for array in (found, expected)):
        return bool(np.array_equal(found, expected))
    return bool(np.allclose(found, expected, rtol=CLOSE["rel_tol"], atol=CLOSE["abs_tol"], equal_nan=True))


def shown(value: object, limit: int = WIDTH) -> str:
    """`value` on one line of at most `limit` characters, the same in every run: no addresses and no paths.

    >>> shown([1, "two"]), shown(np.array([[0.5, 1.0]]))
    ("[1, 'two']", 'array([[0.5, 1. ]])')
    """
    value = _unboxed_deeply(value)
    if not why_not_plain(value):
        return as_text(value, limit)
    try:
        return one_line(without_paths(" ".join(repr(value).split())), limit)
    except Exception as error:  # the value's own `__repr__` failed
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"


def shown_beside(got: object, expected: object, limit: int = WIDTH) -> str:
    """`got` as `shown`; where what is shown looks like `expected`, also what stands where the two part.

    >>> shown_beside("abc" * 9 + "x!", "abc" * 9 + "y!", 9)
    "'abcabca…, and later …abcabcx!' in place of …abcabcy!'"
    """
    text = shown(got, limit)
    if text != shown(expected, limit):
        return text
    ours, theirs = shown(got, FAR), shown(expected, FAR)
    same = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    parts = [whole[max(same - 6, 0):same + 34] for whole in (ours, theirs)]
    return f"{text}, and later …{parts[0]} in place of …{parts[1]}" if ours != theirs else text
