"""Check an exercise and say one of three things: not attempted, wrong (with the call, got and expected), or right.

A check is a function that lists parts; each part makes one call of the reader's answer and knows what must come out.
A verdict reaches the page as text and, for `course check`, as data. Left out: limits of time and memory, which only
another process can set (`grading_kernel.py`), and safety from an answer that wants to forge its verdict: it runs in
this very process (what a grader's run does against that, and what it cannot do, stands in `grading.py`).
"""

from __future__ import annotations

import functools
import os
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from operator import attrgetter

import numpy as np
from IPython import get_ipython
from IPython.display import display

from helpers.exercise_seal import seal
from helpers.exercise_values import agrees, shown, shown_beside
from helpers.plain_data import one_line, without_paths

MIME = "application/vnd.course.verdict+json"
MARKS = {"right": "✔", "wrong": "✘", "not attempted": "–"}
WIDTH = 96  # characters of a printed line
_results: dict[int, Verdict] = {}


class NotAttempted(Exception):
    """The answer, or what it was given, is still TODO. A part may raise it: then nothing is right or wrong."""


class NotRight(AssertionError):
    """A wrong answer, with COURSE_STRICT=1."""


class _Todo:
    """What stands where an answer belongs. Whatever is done with it says that the exercise was not attempted."""

    def __repr__(self) -> str:
        return "TODO"

    def __reduce__(self) -> str:
        return "TODO"  # another process gets the same one

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # asked by Python, numpy and Jupyter about any object
            raise AttributeError(name)
        return self._touched()

    def _touched(self, *_: object) -> object:
        raise NotAttempted("TODO is still in place of an answer")

    __call__ = __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = __bool__ = __float__ = _touched
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _touched
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __neg__ = __abs__ = __enter__ = _touched


TODO = _Todo()


@dataclass(frozen=True)
class Part:
    """One call of the answer, and what must come out of it.

    `run` does what `call` says. What comes back is compared with `expected`, or given to `accept`; then `expected` is
    the text that says what is accepted. `why` is shown when it is wrong: what is tested, and the usual reason.
    """

    call: str
    run: Callable[[], object]
    expected: object
    accept: Callable[[object], bool] | None = None
    points: int = 1
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """What a check said; `outcome` is one of "not attempted", "wrong" and "right"; wrong may have some `points`."""

    number: int
    title: str
    outcome: str
    points: int
    of: int
    message: str


def check(*, number: int, title: str) -> Callable[[Callable[..., list[Part]]], Callable[..., None]]:
    """Make a check of exercise `number` from a function that lists the parts for an answer.

    Listing them must not call the answer. The check prints its verdict, keeps it for `results()`, and returns
    nothing; its `.verdict(answer)` returns the verdict and does nothing else.

    >>> @check(number=0, title="Doubling")
    ... def check_double(answer):
    ...     return [Part("double(4)", lambda: answer(4), 8)]
    >>> check_double(lambda x: x + 4)
    ✔ 0 · Doubling: right, 1 of 1 point
    >>> check_double.verdict(lambda x: TODO).outcome
    'not attempted'
    """
    def decorate(list_parts: Callable[..., list[Part]]) -> Callable[..., None]:
        def verdict(*answers: object) -> Verdict:
            return judge(number, title, list_parts(*answers), blank=any(answer is TODO for answer in answers))

        @functools.wraps(list_parts)
        def run_check(*answers: object) -> None:
            report(verdict(*answers))
        run_check.verdict = verdict
        return run_check
    return decorate


def judge(number: int, title: str, parts: list[Part], *, blank: bool = False) -> Verdict:
    """The verdict on `parts`; `blank` says that the answer itself is TODO, so that no part need be run."""
    if not parts or any(part.points < 1 for part in parts):
        raise ValueError(f"exercise {number}: expected parts of at least one point each, got {parts!r:.80}")
    looked = [("not attempted", "") if blank else _look(part) for part in parts]
    of = sum(part.points for part in parts)
    points = sum(part.points for part, (outcome, _) in zip(parts, looked, strict=True) if outcome == "right")
    kinds = {outcome for outcome, _ in looked}
    outcome = kinds.pop() if len(kinds) == 1 else "wrong"
    said = {"right": "right", "wrong": "not right yet", "not attempted": "not attempted yet"}[outcome]
    head = f"{MARKS[outcome]} {number} · {title}: {said}, {points} of {of} point{'s' * (of != 1)}"
    lines = [] if outcome != "wrong" else [line for part, (kind, text) in zip(parts, looked, strict=True)
                                           for line in _lines(part, kind, text)]
    return Verdict(number, title, outcome, points, of, "\n".join([head, *lines]))


def _look(part: Part) -> tuple[str, str]:
    """The outcome of one part, and what came instead of the expected value."""
    try:
        got = part.run()
        if _holds_todo(got):
            return "not attempted", ""
        right = bool(part.accept(got)) if part.accept else agrees(got, part.expected)
    except NotAttempted:
        return "not attempted", ""
    except (Exception, SystemExit) as error:  # whatever the answer raises is told as its result
        text = " ".join(without_paths(str(error)).split())
        return "wrong", one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)
    return ("right", "") if right else ("wrong", shown(got) if part.accept else shown_beside(got, part.expected))


def _holds_todo(value: object, depth: int = 3) -> bool:
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.ravel().tolist()
    members = list(value.values()) if type(value) is dict else value
    if depth and type(members) in (list, tuple):
        return any(_holds_todo(member, depth - 1) for member in members)
    return value is TODO


def _lines(part: Part, outcome: str, got: str) -> list[str]:
    lines = [f"  {MARKS[outcome]} {part.call}"]
    if outcome == "wrong":
        expected = str(part.expected) if part.accept else shown(part.expected)
        lines += [_indented(f"got       {got}", 16), _indented(f"expected  {expected}", 16)]
        lines += [_indented(part.why, 6)] * bool(part.why)
    return lines


def _indented(text: str, hanging: int) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * hanging,
                         break_on_hyphens=False)


def report(verdict: Verdict) -> None:
    """Print `verdict`, keep it for `results()`; a wrong one is a NotRight with COURSE_STRICT=1."""
    _results[verdict.number] = verdict
    if get_ipython() is None:
        print(verdict.message)
    else:
        data = asdict(verdict)
        del data["message"]
        display({"text/plain": verdict.message, MIME: seal(data)}, raw=True)
    if verdict.outcome == "wrong" and os.environ.get("COURSE_STRICT") == "1":
        raise NotRight(verdict.message)


def results() -> list[Verdict]:
    """The last verdict on each exercise checked in this process, by number."""
    return sorted(_results.values(), key=attrgetter("number"))


def points_table() -> str:
    """The points of this run as a table: one exercise a line, and the sum."""
    rows = [(f"{MARKS[v.outcome]} {v.number} · {v.title}", v.points, v.of) for v in results()]
    rows.append(("together", sum(v.points for v in results()), sum(v.of for v in results())))
    width = max(len(name) for name, _, _ in rows)
    return "\n".join(f"{name:<{width}}  {points:>3} of {of:>3}" for name, points, of in rows)
