"""The answers that tests give to the exercise checks: solutions and stubs as they stand in the notebooks."""

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


@functools.cache
def _cells(path: Path) -> dict[str, str]:
    notebook = nbformat.read(path, as_version=4)
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


def _names(path: Path, number: int) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in ("setup", f"answer-{number:02d}"):
        exec(compile(_cells(path)[cell], f"<{cell}>", "exec"), names)
    return names
