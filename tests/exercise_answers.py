"""The answers that tests give to the exercise checks: solutions and stubs as they stand in the notebooks."""

import doctest
import functools
from collections.abc import Callable
from pathlib import Path

import nbformat

from helpers.exercise_source import EXERCISES, SOLUTIONS
from helpers.exercises import Verdict


def solution(number: int) -> dict[str, object]:
    """The names that exist after the set-up cell and the answer cell of exercise `number`, with its solution."""
    return _names(SOLUTIONS, number)


def stub(number: int) -> dict[str, object]:
    """The same with the answer cell as a reader finds it."""
    return _names(EXERCISES, number)


def outcome(check: Callable[..., None], *answers: object) -> Verdict:
    """What the check says of the answers."""
    return check.verdict(*answers)


def answer(names: dict[str, object], wanted: str | tuple[str, ...]) -> object:
    """What a check is given: the value of one name, or of several in a tuple."""
    return names[wanted] if isinstance(wanted, str) else tuple(names[name] for name in wanted)


def right_and_not_attempted(number: int, check: Callable[..., None], wanted: str | tuple[str, ...]) -> None:
    """The solution has all the points that the notebook promises, and the stub counts as not attempted."""
    right, blank = outcome(check, answer(solution(number), wanted)), outcome(check, answer(stub(number), wanted))
    assert (right.outcome, right.points) == ("right", right.of), right.message
    assert (blank.outcome, blank.points, blank.of) == ("not attempted", 0, right.of)
    assert f"**{right.of} points**" in SOLUTIONS.read_text(encoding="utf-8")


def doctest_holds(number: int, name: str) -> None:
    """The example in the docstring of `name`, which a reader sees, is true of the solution."""
    names = solution(number)
    found = doctest.DocTestFinder().find(names[name], name, globs=names, module=False)
    assert [doctest.DocTestRunner(verbose=False).run(test) for test in found] == [doctest.TestResults(0, 1)]


def loses(check: Callable[..., None], given: object, *words: str) -> Verdict:
    """The answer is wrong, has some points missing, and the message holds the words."""
    verdict = outcome(check, given)
    said = " ".join(verdict.message.split())
    assert verdict.outcome == "wrong" and verdict.points < verdict.of
    for word in words:
        assert word in said, verdict.message
    return verdict


@functools.cache
def _cells(path: Path) -> dict[str, str]:
    notebook = nbformat.read(path, as_version=4)
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


def _names(path: Path, number: int) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in ("setup", f"answer-{number:02d}"):
        exec(compile(_cells(path)[cell], f"<{cell}>", "exec"), names)
    return names
