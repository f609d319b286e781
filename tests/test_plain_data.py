"""Plain data: what counts as such, when two values are the same, and how one is written down."""

import collections
import math
import os
import subprocess
import sys

import pytest

from helpers.plain_data import (
    MAX_DEPTH,
    MAX_INT_BITS,
    MAX_SIZE,
    PART_SIZE,
    TOO_LARGE,
    as_text,
    described,
    one_line,
    same,
    why_not_plain,
    without_paths,
)


class Liar(int):
    """Says yes to everything, and would be asked if `==` or `repr` came before the check of types."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a method of the value was called")

    __hash__ = __repr__ = __len__ = __iter__ = __eq__


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def tower(height: int) -> list:
    value: object = 1
    for _ in range(height):
        value = [value, value]
    return value


PLAIN = [
    None, True, 1, -2.5, 1j, "text", b"bytes", [], (), {}, set(), frozenset(), [1, ("a", {2: None})], {"a": [{1, 2}]},
    math.nan, nested(MAX_DEPTH), [0] * (MAX_SIZE // PART_SIZE), "x" * MAX_SIZE, 2**MAX_INT_BITS - 1, tower(10)]


@pytest.mark.parametrize("value", PLAIN, ids=range(len(PLAIN)))
def test_plain(value: object) -> None:
    assert why_not_plain(value) == ""


NOT_PLAIN = [
    (Liar(1), "a Liar object"), ([1, {"a": Liar(1)}], "a Liar object"), ({(1, range(2)): 1}, "a range object"),
    (print, "a builtin_function_or_method object"), (int, "a class"), (iter([]), "a list_iterator object"),
    (collections.Counter("a"), "a Counter object"), (collections.OrderedDict(), "an OrderedDict object"),
    (nested(MAX_DEPTH + 1), TOO_LARGE), ([0] * (MAX_SIZE // PART_SIZE + 1), TOO_LARGE),
    ("x" * (MAX_SIZE + 1), TOO_LARGE), (["x" * 1000] * 1000, TOO_LARGE), (2**MAX_INT_BITS, TOO_LARGE),
    (tower(60), TOO_LARGE), (nested(10**5), TOO_LARGE)]


@pytest.mark.parametrize(("value", "problem"), NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_not_plain(value: object, problem: str) -> None:
    assert why_not_plain(value) == problem


def test_a_list_that_contains_itself_is_too_large() -> None:
    value: list = []
    value.append(value)
    assert why_not_plain(value) == TOO_LARGE
    loop: dict = {}
    loop["a"] = loop
    assert why_not_plain(loop) == TOO_LARGE


def test_described() -> None:
    assert described("module") == "a module object"


@pytest.mark.parametrize(("got", "expected", "equal"), [
    (1, 1, True), (1, 1.0, True), (1.0, 1, True), (1, 1 + 0j, True), ("a", "a", True), (None, None, True),
    ([1, (2.0, "x")], [1.0, (2, "x")], True), ({"a": [1]}, {"a": [1.0]}, True), ({1, 2}, {2, 1}, True),
    (frozenset([1]), {1}, True), (True, True, True), ([True], [True], True),
    (1, True, False), (True, 1, False), (0, False, False), (0.0, False, False), ([1], [True], False),
    ({"a": True}, {"a": 1}, False), ((1,), [1], False), ([1], [1, 1], False), ({"a": 1}, {"b": 1}, False),
    ({"a": 1}, {"a": 1, "b": 1}, False), ({"a": 1}, [("a", 1)], False), ("1", 1, False), (b"a", "a", False),
    ({True}, {1}, False), ({1}, {1.0}, True), ({True: 1}, {1: 1}, False), ({(True, 2)}, {(1, 2)}, False),
    ({frozenset({False})}, {frozenset({0})}, False), ({True, 2}, {True, 2}, True),
    (None, 0, False), (math.nan, math.nan, False), ({}, set(), False), ([], None, False)])
def test_same(got: object, expected: object, equal: bool) -> None:
    assert same(got, expected) is equal


@pytest.mark.parametrize("value", [
    None, True, 3, -2.5, 1j, "it's", b"\x00", [], [1, [2]], (), (1,), (1, 2), {}, {"a": {1: None}}, set(), {1},
    frozenset(), frozenset([1]), math.inf, "\n\x1b"])
def test_short_values_are_written_as_python_writes_them(value: object) -> None:
    assert as_text(value) == repr(value)


def test_long_values_are_cut() -> None:
    assert as_text("x" * 10**6, 10) == "'xxxxxxxx…"
    assert as_text(list(range(10**5)), 12) == "[0, 1, 2, 3…"
    assert as_text({i: i for i in range(1000)}, 9) == "{0: 0, 1…"
    assert as_text(10**5000) == "an integer of about 5001 digits"
    assert as_text(tower(14), 20) == "[[[[[[[[[[[[[[1, 1]…"


def test_sets_are_written_alike_in_every_process() -> None:
    value = "{'a', 'b', ('c', 1), None, 2.5, frozenset('xyz')}"
    program = f"from helpers.plain_data import as_text; print(as_text({value}))"
    texts = {subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                            capture_output=True, text=True).stdout for seed in ("1", "2", "3")}
    assert len(texts) == 1


@pytest.mark.parametrize(("text", "line"), [
    ("plain", "plain"), ("a\nb\tc\r\x00\x1b[31m", "a b c   [31m"), ("x\u2028\u202ey\ufeff", "x  y "), ("é漢", "é漢"),
    ("````~~~~ ~~", "'''''' ~~"), ("<|im_end|>", "< |im_end|>"), ("<f at 0x7fA3> at 0x1", "<f>"),
    ("half \ud800", "half  ")])
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_one_line_is_cut() -> None:
    assert one_line("x" * 10**7) == "x" * 299 + "…"
    assert one_line("abcdef", limit=3) == "ab…"


@pytest.mark.parametrize(("message", "clean"), [
    ("No such file: '/home/a b/c.txt'", "No such file: '<path> b/c.txt'"), ("1/2 and a/b stay", "1/2 and a/b stay"),
    ("C:\\Users\\x failed", "<path> failed"), ("at / only", "at / only"), ("(/tmp/x1)", "(<path>)")])
def test_without_paths(message: str, clean: str) -> None:
    assert without_paths(message) == clean
