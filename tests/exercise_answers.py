"""The answers that tests give to the exercise checks: solutions and stubs as they stand in the notebooks."""

import ast
import contextlib
import doctest
import functools
import io
import json
from collections.abc import Callable, Collection
from pathlib import Path

import nbformat

from helpers.exercise_source import EXERCISES, SOLUTIONS
from helpers.exercises import Verdict

NUMBERS = [int(cell["id"].removeprefix("answer-")) for cell in json.loads(EXERCISES.read_text("utf-8"))["cells"]
           if "exercise" in cell["metadata"].get("tags", [])]


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


def loses(check: Callable[..., None], given: object, *words: str) -> Verdict:
    """The answer is wrong, has some points missing, and the message holds the words."""
    verdict = outcome(check, given)
    said = " ".join(verdict.message.split())
    assert verdict.outcome == "wrong" and verdict.points < verdict.of
    for word in words:
        assert word in said, verdict.message
    return verdict


def source(path: Path, number: int) -> str:
    """The answer cell of exercise `number` in the notebook at `path`."""
    return _cells(path)[f"answer-{number:02d}"]


def with_solutions(numbers: Collection[int], answers: dict[int, str] | None = None) -> dict:
    """The notebook of exercises with the solutions of `numbers` and with `answers`, which come before a solution."""
    notebook = json.loads(EXERCISES.read_text(encoding="utf-8"))
    given = {number: source(SOLUTIONS, number) for number in numbers} | (answers or {})
    for cell in notebook["cells"]:
        if "exercise" in cell["metadata"].get("tags", []) and (number := int(cell["id"][-2:])) in given:
            cell["source"] = given[number].splitlines(keepends=True)
    return notebook


def examples(path: Path, number: int) -> list[doctest.Example]:
    """The examples in the docstrings of the answer cell, in order."""
    tree = ast.walk(ast.parse(source(path, number)))
    texts = [ast.get_docstring(node) or "" for node in tree if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [example for text in texts for example in doctest.DocTestParser().get_examples(text)]


def failed(path: Path, number: int) -> list[str]:
    """The examples of the answer cell that do not hold, in the names that a reader has there."""
    names = _names(path, number, all_above=True)
    test = doctest.DocTest(examples(path, number), names, f"answer-{number:02d}", None, 0, None)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return said


@functools.cache
def _cells(path: Path) -> dict[str, str]:
    notebook = nbformat.read(path, as_version=4)
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


def _names(path: Path, number: int, *, all_above: bool = False) -> dict[str, object]:
    names, own = {"__name__": "__main__"}, f"answer-{number:02d}"
    above = list(_cells(path))[:list(_cells(path)).index(own)]
    shown = [cell for cell in above if all_above and cell.startswith(f"data-{number:02d}")]
    with contextlib.redirect_stdout(io.StringIO()) if all_above else contextlib.nullcontext():
        for cell in ("setup", *shown, own):
            exec(compile(_cells(path)[cell], f"<{cell}>", "exec"), names)
    return names
